"""A launch of LTI 1.3 lets in whom a known platform vouches for, once and in time; any other one is a sentence."""

from __future__ import annotations

import asyncio
import base64
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
from joserfc.jwk import RSAKey
from starlette.applications import Starlette

from engine.records import NotRunnable
from engine.sheets.folder import load
from engine.store import progress as store
from engine.store.keeping import owner_of_drafts
from tests.browser.learning_platform import AGS, CLAIM, CLIENT, LearningPlatform
from tests.sentences import refused, says
from views.access import lti, points, policy
from views.access.policy import Policy, Signer

PLATFORM = LearningPlatform("https://moodle.school.edu")
PLATFORM.tool, PLATFORM.sheet = "http://testserver", "access-sectors"


class Tool:
    """The routes, asked one request at a time by a browser without cookies."""

    def get(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("GET", path, **more))

    def post(self, path: str, **more: Any) -> httpx.Response:
        return asyncio.run(self._ask("POST", path, **more))

    async def _ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        ways = httpx.ASGITransport(Starlette(routes=list(lti.ROUTES)))
        async with httpx.AsyncClient(transport=ways, base_url="http://testserver") as client:
            return await client.request(method, path, **more)


STUDENTS = {"student": "a key of students"}


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tool:
    (tmp_path / "lti.toml").write_text(PLATFORM.settings)
    monkeypatch.setenv(lti.SETTINGS, str(tmp_path / "lti.toml"))
    keys = {**STUDENTS, "presenter": "a key of presenters", "assistant": "a key of assistants"}
    monkeypatch.setattr(policy, "_current", Policy("key", "", keys, Signer(b"secret" * 6, keys)))

    async def fetched(platform: lti.Platform, again: bool) -> Any:
        return PLATFORM.keys()

    monkeypatch.setattr(lti, "_keys_of", fetched)
    return Tool()


def begun(tool: Tool) -> tuple[str, str]:
    """The nonce and the state of a sign-in that has begun."""
    answer = tool.get("/lti/login", params={"iss": PLATFORM.address, "login_hint": "1", "client_id": CLIENT})
    assert answer.status_code == 302 and answer.headers["location"].startswith(f"{PLATFORM.address}/auth?")
    asked = parse_qs(urlsplit(answer.headers["location"]).query)
    assert asked["redirect_uri"] == ["http://testserver/lti/launch"]
    return asked["nonce"][0], asked["state"][0]


def launched(tool: Tool, **other: Any) -> Any:
    nonce, state = begun(tool)
    return tool.post("/lti/launch", data={"id_token": PLATFORM.launch(**{"nonce": nonce, **other}), "state": state})


def test_a_launch_signs_in_and_leads_to_its_sheet(tool: Tool) -> None:
    answer = launched(tool)
    assert answer.status_code == 303
    assert answer.headers["location"] == "../sheets?sheet=access-sectors&student=Ada+Lovelace"
    token = policy.current().signer.read(answer.cookies["kernel-ladder"])
    assert token is not None and token.role == "student"
    owner = owner_of_drafts(token.browser)
    assert store.name_of(owner) == "Ada Lovelace" and store.return_of(owner, "access-sectors")
    again = policy.current().signer.read(launched(tool).cookies["kernel-ladder"])
    assert again is not None and again.browser == token.browser  # in any browser
    assert says("lti.points-go", points.said(owner, load("access-sectors")))


@pytest.mark.parametrize(
    ("roles", "role"),
    [
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor"], "presenter"),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Instructor",
          "http://purl.imsglobal.org/vocab/lis/v2/membership/Instructor#TeachingAssistant"], "assistant"),
        (["http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"], "student"),
        (["Instructor"], "presenter"),
        (["http://purl.imsglobal.org/vocab/lis/v2/institution/person#Instructor",
          "http://purl.imsglobal.org/vocab/lis/v2/membership#Learner"], "student"),
        ([], "student"),
    ],
)  # fmt: skip
def test_the_platforms_role_is_the_role_here(tool: Tool, roles: list[str], role: str) -> None:
    answer = launched(tool, **{f"{CLAIM}roles": roles})
    token = policy.current().signer.read(answer.cookies["kernel-ladder"])
    assert token is not None and token.role == role


def test_without_a_name_a_sheet_or_a_place_for_points_it_still_opens(tool: Tool) -> None:
    answer = launched(tool, name=None, **{f"{CLAIM}custom": {"sheet": "homework"}, AGS: None})
    assert answer.status_code == 303 and answer.headers["location"] == "../sheets?"
    named = launched(tool, **{f"{CLAIM}custom": {"sheet": "heidelberg-2"}})
    assert "sheet=heidelberg-2" in named.headers["location"]


FALSE: dict[str, dict[str, Any]] = {
    "lti.too-old": {"exp": int(time.time()) - 3600},
    "lti.future": {"iat": int(time.time()) + 3600},
    "lti.nonce": {"nonce": "another"},
    "lti.version": {f"{CLAIM}version": "1.1"},
    "lti.message": {f"{CLAIM}message_type": "LtiDeepLinkingRequest"},
    "lti.deployment": {f"{CLAIM}deployment_id": "8"},
    "lti.nobody": {"sub": ""},
    "lti.client": {"aud": ["another"]},
    "lti.issuer": {"iss": "https://evil.example"},
}


@pytest.mark.parametrize("key", FALSE)
def test_a_launch_with_a_false_claim_is_refused(tool: Tool, key: str) -> None:
    answer = launched(tool, **FALSE[key])
    assert answer.status_code == 403 and not answer.cookies
    assert says(key, answer.text)


OTHER_FORMS: dict[str, tuple[Any, ...]] = {  # a claim and values that no platform should sign
    "exp": ("soon", [1], None, 10**400), "iat": ("now", {}), "sub": ({"a": 1}, 12), "nonce": (["x"],),
    "name": (["Ada", "Lovelace"],), "given_name": (5,), f"{CLAIM}roles": (7, "Instructor", {"Instructor": 1}),
    f"{CLAIM}custom": ("sheet=heidelberg-2", [1], {"sheet": ["heidelberg-2"]}),
    f"{CLAIM}target_link_uri": ("http://[bad", 5),
    AGS: ([1], "x", {"lineitem": "https://x/y", "scope": 5}, {"lineitem": 5, "scope": [lti.SCORE]},
          {"lineitem": "https://[x", "scope": [lti.SCORE]}),
}  # fmt: skip
ASKED_FOR = ("exp", "iat", "sub", "nonce")


@pytest.mark.parametrize(
    ("claim", "value"), [(claim, value) for claim, values in OTHER_FORMS.items() for value in values]
)
def test_a_claim_of_another_form_counts_as_none(tool: Tool, claim: str, value: Any) -> None:
    less = {"name": None} if claim == "given_name" else {f"{CLAIM}custom": None} if "target" in claim else {}
    answer = launched(tool, **less, **{claim: value})
    assert answer.status_code == (403 if claim in ASKED_FOR else 303)
    if claim not in ASKED_FOR:
        token = policy.current().signer.read(answer.cookies["kernel-ladder"])
        assert token is not None and token.role == "student" and "heidelberg-2" not in answer.headers["location"]
        assert claim != AGS or store.return_of(owner_of_drafts(token.browser), "access-sectors") is None


@pytest.mark.parametrize("keys", [[], {}, {"keys": 5}, {"keys": [1]}, "x", None])
def test_keys_of_another_form_sign_nothing(tool: Tool, keys: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def fetched(platform: lti.Platform, again: bool) -> Any:
        return keys

    monkeypatch.setattr(lti, "_keys_of", fetched)
    assert says("lti.signature", launched(tool).text)


def test_a_sign_in_that_began_before_the_start_of_the_server_has_ended(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restart forgets which nonces were used."""
    nonce, state = begun(tool)
    monkeypatch.setattr(lti, "_STARTED", int(time.time()) + 1)
    answer = tool.post("/lti/launch", data={"id_token": PLATFORM.launch(nonce), "state": state})
    assert answer.status_code == 403 and says("lti.took-too-long", answer.text)


@pytest.mark.parametrize("jump", [-86_400, 86_400])
def test_a_clock_that_is_set_while_a_student_signs_in_refuses_nobody(
    tool: Tool, jump: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    nonce, state = begun(tool)
    assert lti._nonce_in(state) == nonce
    monkeypatch.setattr("time.time", lambda now=time.time: now() + jump)
    assert lti._nonce_in(state) == nonce
    assert lti._nonce_in(begun(tool)[1])


def test_a_launch_counts_once_and_only_with_a_state_of_this_server(tool: Tool) -> None:
    nonce, state = begun(tool)
    text = PLATFORM.launch(nonce)
    assert tool.post("/lti/launch", data={"id_token": text, "state": state}).status_code == 303
    assert says("lti.used", tool.post("/lti/launch", data={"id_token": text, "state": state}).text)
    forged = f"{int(time.time())}.{nonce}.{'a' * 43}"
    for other in (forged, "", "..", state[:-4], "1.é.é"):
        assert says("lti.elsewhere", tool.post("/lti/launch", data={"id_token": text, "state": other}).text)


def test_another_key_or_algorithm_signs_nothing(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    nonce, state = begun(tool)
    right = PLATFORM.launch(nonce)
    with monkeypatch.context() as patch:
        patch.setattr(PLATFORM, "key", RSAKey.generate_key(2048, {"kid": "one", "use": "sig", "alg": "RS256"}))
        forged = PLATFORM.launch(nonce)
    head, body, _ = right.split(".")
    deep = base64.urlsafe_b64encode(b"[" * 30_000).decode()
    none = "eyJhbGciOiJub25lIn0"  # {"alg":"none"}
    for text in (forged, f"{head}.{body}.", f"{none}.{body}.", f"{head}.{body}.AAAA", f"{deep}.{body}.x"):
        assert says("lti.signature", tool.post("/lti/launch", data={"id_token": text, "state": state}).text)
    for text in ("", "no token", "a.b.c", f"{head}.bm9uZQ.x", f"{head}.{deep}.x"):
        assert says("lti.no-launch", tool.post("/lti/launch", data={"id_token": text, "state": state}).text)


def test_the_start_says_where_students_come_from_or_what_is_missing(
    tool: Tool, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert says("lti.said", lti.said())
    monkeypatch.setattr(lti, "NEEDS", ("no_such_package",))
    with refused("lti.package", NotRunnable):
        lti.said()
    monkeypatch.delenv(lti.SETTINGS)
    assert lti.said() == "" and says("lti.not-set-up", tool.get("/lti/keys").text)


def test_a_platform_that_is_not_set_up_is_told(tool: Tool) -> None:
    answer = tool.get("/lti/login", params={"iss": "https://evil.example", "login_hint": "1"})
    assert answer.status_code == 403 and says("lti.issuer", answer.text)


def test_a_server_without_keys_signs_nobody_in(tool: Tool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "_current", Policy("nothing", ""))
    assert says("lti.no-keys", tool.post("/lti/launch", data={}).text)


def test_the_tools_own_key_is_public_in_part_and_stays(tool: Tool) -> None:
    (key,) = tool.get("/lti/keys").json()["keys"]
    assert {"kty", "n", "e", "kid"} <= {*key} and "d" not in key
    lti._key.cache_clear()
    assert tool.get("/lti/keys").json()["keys"] == [key]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        (lambda text: text.replace("https://moodle.school.edu/token", "http://moodle.school.edu/token"), "lti.https"),
        (lambda text: text.replace("https://moodle.school.edu/token", "https://[moodle/token"), "lti.https"),
        (lambda text: text.replace("https://moodle.school.edu/token", "https://"), "lti.https"),
        (lambda text: text.replace("client_id", "client"), "lti.client-missing"),
        (lambda text: text.replace("[[platform]]", "[[platform"), "lti.toml"),
    ],
)
def test_a_fault_of_the_settings_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[str], str], key: str
) -> None:
    (tmp_path / "lti.toml").write_text(change(PLATFORM.settings))
    monkeypatch.setenv(lti.SETTINGS, str(tmp_path / "lti.toml"))
    with refused(key, NotRunnable):
        lti.platforms()
