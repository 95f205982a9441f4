"""The keys: each does one thing, and the README and the help name them all."""

from __future__ import annotations

from pathlib import Path

from views.server.keys import KEYS, everywhere, help_html, presenting

README = (Path(__file__).parents[3] / "README.md").read_text()


def test_a_key_does_one_thing() -> None:
    names = [name for key in KEYS for name in (*key.keys, *key.presenting)]
    assert len(names) == len(set(names)) == len(everywhere()) + len(presenting())
    assert [presenting()[digit] for digit in "17"] == ["plot 1", "plot 7"]


def test_a_presenters_remote_is_heard() -> None:
    assert {presenting()[name] for name in ("PageDown", "PageUp", "b", ".")} == {"walk on", "walk back", "black"}


def test_the_readme_and_the_help_name_every_key() -> None:
    lines = "".join(line for line in README.splitlines() if line.startswith("Keys"))
    assert [key.shown for key in KEYS if f"`{key.shown}`" not in lines] == []
    assert [key.shown for key in KEYS if f"<kbd>{key.shown}</kbd>" not in help_html()] == []
