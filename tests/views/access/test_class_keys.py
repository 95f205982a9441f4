"""Class keys: read, refused, made, kept; and who may try how many wrong ones."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.records import NotRunnable
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
from views.access.sign_in import MOST_GUESSES, WITHIN_S, Guesses

GIVEN = {"presenter": "p" * SHORTEST_KEY, "student": "s" * SHORTEST_KEY}
TEXT = ", ".join(f"{role}={key}" for role, key in GIVEN.items())


def test_keys_are_read_from_words_and_from_lines() -> None:
    lines = "# of this term\n" + "".join(f"{role} = {key}\n" for role, key in GIVEN.items())
    assert parse_keys(TEXT) == parse_keys(lines) == GIVEN


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "No class key is given"),
        ("presenter=short", "The key of presenter is too short: a key has at least 12 letters."),
        ("teacher=aaaaaaaaaaaa", "ROLE is one of presenter, assistant, student"),
        ("aaaaaaaaaaaaaaaaaaaa", "ROLE=KEY"),
        ("presenter=aaaaaaaaaaaa,student=aaaaaaaaaaaa", "Two roles have the same key"),
    ],
)
def test_keys_that_cannot_be_used_are_refused_and_not_repeated(text: str, sentence: str) -> None:
    with pytest.raises(BadKeys, match=sentence) as refused:
        parse_keys(text)
    assert "aaaa" not in str(refused.value)


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


def test_a_terminal_is_told_new_keys_once_and_a_log_never(monkeypatch: pytest.MonkeyPatch, own_home: Path) -> None:
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
    assert found.asks == "nothing" and found.said == "Open to this computer alone: no key is needed."


@pytest.mark.parametrize("address", [None, "", "0.0.0.0", "::", "10.0.0.7", "ladder.school.edu", "unix:///tmp/x"])
def test_anywhere_else_a_key_is_asked_for_whatever_is_set(address: str | None, own_home: Path) -> None:
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


def test_accounts_are_asked_for_wherever_secrets_toml_says_so() -> None:
    assert policy.decide_policy("127.0.0.1", {}, accounts=True).asks == "account"
    assert policy.decide_policy("0.0.0.0", {KEYS: TEXT}, accounts=True).asks == "account"


def test_accounts_without_what_they_need_are_refused_with_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "ACCOUNTS_NEED", ("no_such_package",))
    with pytest.raises(NotRunnable, match=r"not installed \(no_such_package\): pip install \"streamlit\[auth\]\""):
        policy.decide_policy("127.0.0.1", {}, accounts=True)


def test_a_token_is_its_roles_for_a_while_and_nobody_can_change_it() -> None:
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


def test_who_has_signed_out_comes_back_with_a_new_token_only() -> None:
    signer = Signer(b"secret", GIVEN)
    text = signer.issue("student", "tab", now=1000.0)
    token = signer.known(text)
    assert token is not None
    signer.revoke(token)
    assert signer.read(text, now=1001.0) is None
    assert signer.read(signer.issue("student", "tab", now=1002.0), now=1003.0) is not None


def test_a_hundred_wrong_keys_an_hour_and_no_more() -> None:
    now = [0.0]
    guesses = Guesses(lambda: now[0])
    for _ in range(MOST_GUESSES):
        assert not guesses.wait_s("10.0.0.7")
        guesses.failed("10.0.0.7")
        now[0] += 1.0
    assert guesses.wait_s("10.0.0.7") == WITHIN_S - MOST_GUESSES and not guesses.wait_s("10.0.0.8")
    now[0] = WITHIN_S + 0.5
    assert not guesses.wait_s("10.0.0.7")
    for number in range(MOST_GUESSES):
        guesses.failed(f"2001:db8::{number + 1:x}")  # one household
    assert guesses.wait_s("2001:db8::ffff") and not guesses.wait_s("2001:db8:0:1::1")
