"""Who gets in, who does not, and what a browser is told to do with what it gets."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.cookies import SimpleCookie
from urllib.parse import urlencode

import pytest

from tests.sentences import says
from tests.views.access.asked import Answer, asked, behind
from views.access import policy, sign_in
from views.access.gate import ALIVE, RETURN_COOKIE, SERVICE, Gate, ReturnAddress
from views.access.headers import Headers
from views.access.policy import KEYS
from views.access.sign_in import EVERY_S, LONGEST_WAIT_S, WrongKeys

GATE = Gate(behind)
GIVEN = {"presenter": "presenter-key", "assistant": "assistant-key", "student": "the-students-key"}
FORM = {"content_type": "application/x-www-form-urlencoded"}
ELSEWHERE = {"client": "10.0.0.7", "host": "ladder.school.edu"}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds for which wrong keys would wait; no test waits."""
    made: list[float] = []

    async def pause(seconds: float) -> None:
        made.append(seconds)

    monkeypatch.setattr(sign_in, "_wrong_keys", WrongKeys(lambda: 0.0))
    monkeypatch.setattr(sign_in, "_pause", pause)
    return made


@pytest.fixture
def key(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    keys = ",".join(f"{role}={key}" for role, key in GIVEN.items())
    monkeypatch.setattr(policy, "_current", policy.decide_policy("0.0.0.0", {KEYS: keys}, accounts=False))
    yield


@pytest.fixture
def account(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(policy, "_current", policy.decide_policy("0.0.0.0", {}, accounts=True))
    yield


def signed_in(key: str, path: str = "/", **more: str) -> Answer:
    return asked(GATE, path, method="POST", body=urlencode({"key": key}).encode(), **{**ELSEWHERE, **FORM, **more})


def cookie_of(answer: Answer) -> str:
    (name, morsel), = SimpleCookie(answer.cookies[0]).items()  # fmt: skip
    return f"{name}={morsel.value}"


@pytest.mark.parametrize(
    "how",
    [
        {"client": "10.0.0.7"},
        {"host": "ladder.school.edu"},  # another name for this computer: a page elsewhere may have made it
        {"x_forwarded_for": "10.0.0.7"},
        {"x_forwarded_proto": "https"},
        {"forwarded": "for=10.0.0.7"},
        {"via": "1.1 proxy"},
        {"version": "1.0"},  # a proxy that tells nothing about itself
    ],
)
def test_a_server_without_a_key_answers_its_own_computer_alone(how: dict[str, str]) -> None:
    assert asked(GATE).body == asked(GATE, host="localhost:8501", client="::1").body == "reached"
    answer = asked(GATE, **how)
    assert answer.status == 403 and "class key" in answer.body
    assert asked(GATE, "/_stcore/stream", kind="websocket", **how).status == 403
    for path in ALIVE:
        assert asked(GATE, path, **how).body == "reached"


def test_without_a_key_every_page_shows_the_form(key: None) -> None:
    for path in ("/", "/inside", "/static-is-no-folder"):
        answer = asked(GATE, path)
        assert answer.status == 401 and "<form" in answer.body and answer.header("cache-control") == "no-store"
    for path in ("/static/js/index.js", "/media/x.png", "/_stcore/host-config", "/_stcore/agent/interact"):
        assert asked(GATE, path).status == 401 and "<form" not in asked(GATE, path).body
    assert asked(GATE, "/_stcore/upload_file/x", method="PUT").status == 401
    assert asked(GATE, "/_stcore/stream", kind="websocket").status == 403
    for path in ALIVE:
        assert asked(GATE, path, **ELSEWHERE).body == "reached"


def test_a_key_opens_the_address_that_was_wanted(key: None) -> None:
    for path, query, there in (
        ("/", "ladder=harris&n=2%5E22", "./?ladder=harris&n=2%5E22"),
        ("/inside", "", "./inside"),
    ):
        answer = asked(GATE, path, query=query, method="POST", body=b"key=the-students-key", **ELSEWHERE, **FORM)
        assert answer.status == 303 and answer.header("location") == there
        assert asked(GATE, path, cookie=cookie_of(answer), **ELSEWHERE).body == "reached"
    assert "the-students-key" not in "".join(answer.cookies)


def test_the_cookie_is_kept_from_scripts_other_sites_and_plain_connections(key: None) -> None:
    plain, encrypted = signed_in(GIVEN["student"]), signed_in(GIVEN["student"], scheme="https")
    assert plain.cookies[0].startswith("kernel-ladder=student.") and "Secure" not in plain.cookies[0]
    assert encrypted.cookies[0].startswith("__Host-kernel-ladder=") and "Secure" in encrypted.cookies[0]
    for one in (plain, encrypted):
        assert "HttpOnly" in one.cookies[0] and "SameSite=lax" in one.cookies[0] and "Path=/" in one.cookies[0]


def test_wrong_keys_are_answered_slowly_and_a_right_one_at_once(key: None, pauses: list[float]) -> None:
    answers = [signed_in("a guess") for _ in range(200)]
    assert says("gate.wrong-key", answers[0].body) and {one.status for one in answers} == {401, 429}
    assert not any(one.cookies for one in answers) and pauses[0] == EVERY_S and max(pauses) <= LONGEST_WAIT_S
    asked_before = len(pauses)
    for role in ("student", "presenter"):
        assert signed_in(GIVEN[role]).status == 303, "a whole hall behind this address comes in"
    assert asked(GATE, "/metrics", authorization="Bearer presenter-key", **ELSEWHERE).status == 200
    assert len(pauses) == asked_before
    assert asked(GATE, "/metrics", authorization="Bearer no-such-key", **ELSEWHERE).status == 429


def test_a_sign_in_is_logged_without_its_key(key: None, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kernel_ladder.access")
    for attempt in ("a guess", GIVEN["student"]):
        signed_in(attempt)
    told = [json.loads(one.message) for one in caplog.records]
    assert [(one["outcome"], one["role"], one["address"]) for one in told] == [
        ("wrong key", None, "10.0.0.7"), ("ok", "student", "10.0.0.7"),
    ]  # fmt: skip
    assert not any(attempt in caplog.text for attempt in ("a guess", GIVEN["student"]))


def test_another_sites_page_can_do_nothing(key: None) -> None:
    cookie = cookie_of(signed_in(GIVEN["student"]))
    theirs = {"origin": "https://elsewhere.org", **ELSEWHERE}
    ours = {"origin": "https://ladder.school.edu", **ELSEWHERE}
    assert signed_in(GIVEN["student"], **theirs).status == 403 and signed_in(GIVEN["student"], **ours).status == 303
    assert asked(GATE, "/sign-out", method="POST", cookie=cookie, **theirs).status == 403
    stream = {"path": "/_stcore/stream", "kind": "websocket", "cookie": cookie}
    assert asked(GATE, **stream, **theirs).status == 403
    assert asked(GATE, **stream, **ours).body == "reached"


def test_signing_out_keeps_the_name_of_the_browser(key: None) -> None:
    cookie = cookie_of(signed_in(GIVEN["student"]))
    out = asked(GATE, "/sign-out", method="POST", cookie=cookie, **ELSEWHERE)
    assert out.status == 303 and out.header("location") == "./"
    assert asked(GATE, cookie=cookie, **ELSEWHERE).status == 401
    assert asked(GATE, cookie=cookie_of(out), **ELSEWHERE).status == 401  # also after a restart
    again = cookie_of(signed_in(GIVEN["student"], cookie=cookie_of(out)))
    assert again.split(".")[1] == cookie.split(".")[1] and asked(GATE, cookie=again, **ELSEWHERE).status == 200


@pytest.mark.parametrize("path", SERVICE)
def test_metrics_are_shown_on_this_computer_and_to_permitted_roles(path: str, key: None) -> None:
    assert asked(GATE, path).body == "reached"
    for far in (ELSEWHERE, {"x_forwarded_for": "10.0.0.7"}):
        assert asked(GATE, path, **far).status == 401
        assert asked(GATE, path, authorization="Bearer wrong", **far).status == 401
        assert asked(GATE, path, authorization="Bearer the-students-key", **far).status == 403
        assert asked(GATE, path, authorization="Bearer assistant-key", **far).body == "reached"
    assert asked(GATE, path, cookie=cookie_of(signed_in("presenter-key")), **ELSEWHERE).body == "reached"
    assert asked(GATE, path, cookie=cookie_of(signed_in("the-students-key")), **ELSEWHERE).status == 401


def test_a_form_that_is_no_form_is_refused(key: None) -> None:
    assert signed_in("x" * 5000).status == 413
    assert asked(GATE, method="POST", body=b"\xff\xfe=&&&", **ELSEWHERE, **FORM).status == 401


def test_below_another_address_the_same_holds(key: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("streamlit.get_option", lambda name: "ladder" if name == "server.baseUrlPath" else None)
    assert asked(GATE, "/ladder/_stcore/health", **ELSEWHERE).body == "reached"
    assert asked(GATE, "/ladder/metrics", **ELSEWHERE).status == 401
    assert "<form" in asked(GATE, "/ladder", **ELSEWHERE).body and "<form" in asked(GATE, "/ladders", **ELSEWHERE).body


def test_every_answer_carries_the_security_headers() -> None:
    for scheme in ("http", "https"):
        answer = asked(Headers(behind), scheme=scheme)
        assert answer.header("x-content-type-options") == "nosniff"
        assert answer.header("referrer-policy") == "same-origin"
        assert "frame-ancestors 'self'" in str(answer.header("content-security-policy"))
        assert (answer.header("strict-transport-security") is not None) == (scheme == "https")
        assert answer.cookies == ["own=1; Path=/" + ("; Secure" if scheme == "https" else "") + "; SameSite=Lax"]


def test_signing_in_with_an_account_returns_to_the_opened_address(account: None) -> None:
    app = ReturnAddress(behind)
    opened = asked(app, "/inside", query="rung=x&n=2%5E22", accept="text/html")
    kept = next(one for one in opened.cookies if one.startswith(RETURN_COOKIE))
    value = kept.partition(";")[0]
    assert "HttpOnly" in kept and asked(app, "/static/x.js").cookies == ["own=1; Path=/"]
    assert asked(app, "/favicon.png", accept="image/*").cookies == ["own=1; Path=/"]
    back = asked(app, "/", accept="text/html", cookie=f"{value}; _streamlit_user=x")
    assert back.status == 303 and back.header("location") == "/inside?rung=x&n=2%5E22"
    assert 'kernel-ladder-asked=""' in back.cookies[0]
    for evil in ("//elsewhere.org", "/%5Celsewhere.org", "https://elsewhere.org", "/%0d%0aset-cookie:x"):
        cookie = f"{RETURN_COOKIE}={evil}; _streamlit_user=x"
        assert asked(app, "/", accept="text/html", cookie=cookie).header("location") == "/"
    assert asked(app, "/", accept="text/html", cookie="_streamlit_user=x").body == "reached"
