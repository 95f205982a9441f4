"""Class keys: read, refused, made, kept; and who may try how many wrong ones."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from engine.compile import confinement
from engine.records import NotRunnable
from tests.sentences import refused, sentence
from views.access import policy
from views.access.policy import (
    KEYS,
    KEYS_FILE,
    LASTS_S,
    ROLES,
    SHORTEST_KEY,
    BadKeys,
    Signer,
    generate_keys,
    keys_in_file,
    parse_keys,
    role_of_key,
)
from views.access.sign_in import EVERY_S, LONGEST_WAIT_S, WrongKeys

GIVEN = {"presenter": "p" * SHORTEST_KEY, "student": "s" * SHORTEST_KEY}
TEXT = ", ".join(f"{role}={key}" for role, key in GIVEN.items())


def test_keys_are_read_from_words_and_from_lines() -> None:
    lines = "# of this term\n" + "".join(f"{role} = {key}\n" for role, key in GIVEN.items())
    assert parse_keys(TEXT) == parse_keys(lines) == GIVEN


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("", "class-keys.none"),
        ("presenter=short", "class-keys.short"),
        ("teacher=aaaaaaaaaaaa", "class-keys.role"),
        ("aaaaaaaaaaaaaaaaaaaa", "class-keys.form"),
        ("presenter=aaaaaaaaaaaa,student=aaaaaaaaaaaa", "class-keys.equal"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_and_not_repeated(text: str, key: str) -> None:
    with refused(key, BadKeys) as caught:
        parse_keys(text)
    assert "aaaa" not in str(caught.value)


def test_generated_keys_are_kept_for_their_owner_alone_and_read_again(tmp_path: Path) -> None:
    path = tmp_path / "new" / "keys"
    keys, made = keys_in_file(path)
    assert made and set(keys) == set(ROLES) and path.stat().st_mode & 0o777 == 0o600
    assert keys_in_file(path) == (keys, False)
    assert generate_keys() != generate_keys() and all(len(key) >= SHORTEST_KEY for key in generate_keys().values())


def test_a_key_opens_its_role() -> None:
    assert [role_of_key(GIVEN, key) for key in (GIVEN["presenter"], f" {GIVEN['student']}\n", "p", "", "ä")] == [
        "presenter", "student", None, None, None,
    ]  # fmt: skip


def test_new_keys_are_printed_once_to_a_terminal_and_never_to_a_log(
    monkeypatch: pytest.MonkeyPatch, own_home: Path
) -> None:
    def said(terminal: bool) -> bool:
        monkeypatch.setattr(policy, "sys", SimpleNamespace(stdout=SimpleNamespace(isatty=lambda: terminal)))
        found = policy.decide_policy("0.0.0.0", {}, accounts=False)
        assert "\n" not in found.said
        return all(f"{role} {key}" in found.said for role, key in found.keys.items())

    assert [said(True), said(True)] == [True, False]
    (own_home / "data" / "kernel-ladder" / "class-keys").unlink()
    assert not said(False)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.0.1", "localhost", "::1", "[::1]", "::ffff:127.0.0.1"])
def test_on_the_loopback_no_key_is_asked_for(address: str) -> None:
    found = policy.decide_policy(address, {}, accounts=False)
    assert found.asks == "nothing" and sentence("access.loopback", found.said)


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "::", "10.0.0.7", "ladder.school.edu", "unix:///tmp/x"])
def test_other_addresses_need_a_key(address: str | None, own_home: Path) -> None:
    found = policy.decide_policy(address, {}, accounts=False)
    file = own_home / "data" / "kernel-ladder" / "class-keys"
    assert found.asks == "key" and set(found.keys) == set(ROLES) and str(file) in found.said
    assert not any(key in found.said or key in repr(found) for key in found.keys.values())  # the test has no terminal
    assert policy.decide_policy(address, {}, accounts=False).keys == found.keys


def test_keys_that_are_given_are_asked_for_on_the_loopback_too(tmp_path: Path) -> None:
    assert policy.decide_policy("127.0.0.1", {KEYS: TEXT}, accounts=False).keys == GIVEN
    file = tmp_path / "keys"
    found = policy.decide_policy("127.0.0.1", {KEYS_FILE: str(file)}, accounts=False)
    assert found.asks == "key" and found.keys == keys_in_file(file)[0]
    with pytest.raises(BadKeys, match="cannot be kept"):
        policy.decide_policy("127.0.0.1", {KEYS_FILE: str(file / "below")}, accounts=False)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1252"])
def test_a_file_of_keys_is_read_as_any_editor_writes_it(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "keys").write_bytes(f"# für alle\r\n{TEXT}\r\n".encode(encoding))
    assert keys_in_file(tmp_path / "keys") == (GIVEN, False)


@pytest.mark.parametrize(
    "content", [b"\x81\x8d\xff", b"\xff\xfe\x00", b"x" * (2 << 20)], ids=["bytes", "mark", "large"]
)
def test_a_file_that_holds_no_keys_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "keys").write_bytes(content)
    with pytest.raises(BadKeys, match="keys"):
        policy.decide_policy("127.0.0.1", {KEYS_FILE: str(tmp_path / "keys")}, accounts=False)


def test_secrets_toml_turns_accounts_on() -> None:
    assert policy.decide_policy("127.0.0.1", {}, accounts=True).asks == "account"
    assert policy.decide_policy("0.0.0.0", {KEYS: TEXT}, accounts=True).asks == "account"


def test_accounts_without_their_package_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ACCOUNTS_NEED", ("no_such_package",))
    with pytest.raises(NotRunnable, match=r"not installed \(no_such_package\): pip install \"streamlit\[auth\]\""):
        policy.decide_policy("127.0.0.1", {}, accounts=True)


def test_a_token_expires_and_cannot_be_forged() -> None:
    signer = Signer(b"secret", GIVEN)
    text = signer.issue("student", now=1000.0)
    token = signer.read(text, now=1000.0 + LASTS_S - 1)
    assert token is not None and token.role == "student"
    assert signer.read(text, now=1000.0 + LASTS_S) is None and signer.known(text) == token
    for forged in (
        "",
        "x",
        text[:-1],
        text.replace("student", "presenter"),
        text.replace(".1000000.", ".1000001."),
        "ä" + text,
    ):
        assert signer.known(forged) is None, forged
    assert Signer(b"another", GIVEN).known(text) is None
    assert (
        Signer(b"secret", {**GIVEN, "student": "another key"}).known(text) is None
    )  # a new key signs out who has the old
    again = signer.read(signer.issue("student", token.browser))
    assert again is not None and again.browser == token.browser


def test_a_revoked_token_is_refused_and_a_new_one_is_not() -> None:
    signer = Signer(b"secret", GIVEN)
    text = signer.issue("student", "tab", now=1000.0)
    token = signer.known(text)
    assert token is not None
    signer.revoke(token)
    assert signer.read(text, now=1001.0) is None
    assert signer.read(signer.issue("student", "tab", now=1002.0), now=1003.0) is not None


def test_wrong_keys_of_a_network_are_answered_one_a_second() -> None:
    now = [0.0]
    wrong = WrongKeys(lambda: now[0])
    assert [wrong.wait_s("10.0.0.7") for _ in range(3)] == [EVERY_S, 2 * EVERY_S, 3 * EVERY_S]
    assert wrong.wait_s("10.0.0.8") == EVERY_S, "another address has a line of its own"
    waits = [wrong.wait_s("10.0.0.7") for _ in range(100)]
    assert waits[-1] is None and max(filter(None, waits)) <= LONGEST_WAIT_S, "no line grows without end"
    now[0] = LONGEST_WAIT_S + 1
    assert wrong.wait_s("10.0.0.7") == EVERY_S, "and none is kept for long"
    assert wrong.wait_s("2001:db8::1") == EVERY_S and wrong.wait_s("2001:db8::2") == 2 * EVERY_S  # one household
    assert wrong.wait_s("2001:db8:0:1::1") == EVERY_S


def test_a_class_needs_a_confined_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(confinement, "missing_confinement", lambda: "No Landlock.")
    assert policy.decide_policy("127.0.0.1", {}, accounts=False).asks == "nothing"
    for address, environment, accounts in (("0.0.0.0", {}, False), ("127.0.0.1", {KEYS: TEXT}, False)):
        for allows, found in (("", None), ("0", None), ("1", "key")):
            given = environment | {confinement.UNCONFINED: allows}
            with nullcontext() if found else pytest.raises(NotRunnable, match=confinement.UNCONFINED):
                assert policy.decide_policy(address, given, accounts=accounts).asks == found
    with pytest.raises(NotRunnable, match=confinement.UNCONFINED):
        confinement.check_confinement({})


def test_servers_that_start_together_find_a_whole_file_or_none(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, opened, seen = tmp_path / "secret", os.fdopen, []

    def watched(*how: Any, **more: Any) -> Any:
        seen.append(path.exists())
        return opened(*how, **more)

    monkeypatch.setattr(os, "fdopen", watched)
    assert policy.write_once(path, "one") and not policy.write_once(path, "another")
    assert seen == [False] and path.read_text() == "one"
    assert [each.name for each in tmp_path.iterdir()] == ["secret"] and path.stat().st_mode & 0o777 == 0o600


def test_of_two_that_make_the_file_at_once_both_use_the_first_ones(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path, link = tmp_path / "secret", os.link

    def late(made: Path, path: Path) -> None:
        path.write_text("the other server's")
        link(made, path)

    monkeypatch.setattr(os, "link", late)
    assert not policy.write_once(path, "mine") and path.read_text() == "the other server's"
    monkeypatch.setattr(os, "link", lambda *_: (_ for _ in ()).throw(PermissionError("no links on this disk")))
    assert policy.write_once(tmp_path / "other", "mine") and (tmp_path / "other").read_text() == "mine"
    assert len(list(tmp_path.iterdir())) == 2


def test_half_a_secret_signs_nothing(own_home: Path) -> None:
    folder = own_home / "data" / "kernel-ladder"
    folder.mkdir(parents=True)
    (folder / "cookie-secret").write_text("ab")
    assert len(policy._secret()) == 32
