"""The lecturer's keys, the same on every page: their actions, their names in the browser, and the help."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Key:
    """A key. `action`: its name for the pages and the browser. `keys`: the browser's names for it, everywhere;
    `presenting`: names that count only while presenting; a presenter's remote sends them, and at other times they
    scroll the page. `shown`: the words on the keys; `words`: the help."""

    action: str
    keys: tuple[str, ...]
    shown: str
    words: str
    presenting: tuple[str, ...] = ()


KEYS = (
    Key("next", ("ArrowRight",), "→", "the next rung", ("PageDown", " ")),
    Key("previous", ("ArrowLeft",), "←", "the rung before", ("PageUp", "Shift+ ")),
    Key("first", (), "Home", "the first rung", ("Home",)),
    Key("last", (), "End", "the last rung", ("End",)),
    Key("run", ("r",), "R", "run it"),
    Key("ladder", ("l",), "L", "run the whole ladder"),
    Key("present", ("p",), "P", "present: the rung alone, in large type"),
    Key("leave", ("Escape",), "Esc", "stop presenting"),
    Key("picture play", ("k",), "K", "play or pause the block in motion"),
    Key("picture back", ("j",), "J", "one step back in it"),
    Key("picture on", ("n",), "N", "one step on"),
    Key("fill", ("f",), "F", "fill the screen"),
    Key("black", (), "B", "a black screen, until the next key", ("b", ".")),
    Key("help", ("?",), "?", "show the keys"),
)
_SHOWN = {"PageDown": "Page Down", "PageUp": "Page Up", " ": "Space", "Shift+ ": "Shift + Space", "Home": "", "End": "",
          "b": "", ".": ""}  # fmt: skip


def everywhere() -> dict[str, str]:
    """Return the browser's name of a key -> the action."""
    return {name: key.action for key in KEYS for name in key.keys}


def presenting() -> dict[str, str]:
    """Return the same for the keys that count only while presenting."""
    return {name: key.action for key in KEYS for name in key.presenting}


def help_html() -> str:
    """Return the list that `?` shows."""
    rows = "".join(f"<dt>{_caps(key)}</dt><dd>{escape(key.words)}{_where(key)}</dd>" for key in KEYS)
    return f"<h2>Keys</h2><dl>{rows}</dl>"


def _caps(key: Key) -> str:
    names = [key.shown, *(shown for name in key.presenting if (shown := _SHOWN[name]))]
    return " ".join(f"<kbd>{escape(name)}</kbd>" for name in names)


def _where(key: Key) -> str:
    if not key.presenting:
        return ""
    only = "while presenting" if not key.keys else f"{_SHOWN[key.presenting[0]]} while presenting"
    return f" <small>{only}</small>"
