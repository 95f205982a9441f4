"""The lecturer's keys, the same on every page: their actions, their names in the browser, and the help."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape


@dataclass(frozen=True)
class Key:
    """A key. `action`: its name for the pages and the browser. `keys`: the browser's names for it, everywhere;
    `presenting`: names that count only while presenting; at other times some of them scroll the page. `shown`: the
    words on the keys; `words`: the help. `digits`: the keys are digits, and each sends its own with the action."""

    action: str
    keys: tuple[str, ...]
    shown: str
    words: str
    presenting: tuple[str, ...] = ()
    digits: bool = False

    def named(self, names: tuple[str, ...]) -> dict[str, str]:
        """Return the browser's name of a key -> the action that it sends."""
        return {name: f"{self.action} {name}" if self.digits else self.action for name in names}


KEYS = (
    Key("next", ("ArrowRight",), "→", "the next rung; on a slide its numbers come first", (" ",)),
    Key("previous", ("ArrowLeft",), "←", "the rung before", ("Shift+ ",)),
    Key(
        "walk on",
        (),
        "Page Down",
        "a remote's button: the code, the block in motion, the numbers, the next rung",
        ("PageDown",),
    ),
    Key("walk back", (), "Page Up", "the same way back", ("PageUp",)),
    Key("code down", (), "↓", "scroll the code", ("ArrowDown",)),
    Key("code up", (), "↑", "scroll it back", ("ArrowUp",)),
    Key("first", (), "Home", "the first rung", ("Home",)),
    Key("last", (), "End", "the last rung", ("End",)),
    Key("run", ("r",), "R", "run it"),
    Key("ladder", ("l",), "L", "run the whole ladder"),
    Key("reveal", (), "A", "show the numbers of all rungs", ("a",)),
    Key("plot", (), "1 to 9", "a plot, in the order of their menu", tuple("123456789"), digits=True),
    Key("next plot", ("v",), "V", "the next plot"),
    Key("counter", ("c",), "C", "the next counter in the plot"),
    Key("order", ("o",), "O", "the next order of execution: lockstep, independent 1 to 3"),
    Key("beside", ("x",), "X", "the block in motion beside that of the rung before"),
    Key("theme", ("d",), "D", "light, dark, or as the system"),
    Key("question", (), "Q", "ask the hall what the numbers will be; close the question, ask it again", ("q",)),
    Key("hands", (), "H", "type how many hands there are for each answer", ("h",)),
    Key("window", (), "W", "a second window: notes, the next rung, what the hall asks", ("w",)),
    Key("room", (), "G", "the card of the room: how to follow on a phone", ("g",)),
    Key("terms", (), "E", "explain the terms of the slide", ("e",)),
    Key("present", ("p",), "P", "present: the rung alone, in large type"),
    Key("leave", ("Escape",), "Esc", "stop presenting"),
    Key("picture play", ("k",), "K", "play or pause the block in motion"),
    Key("picture back", ("j",), "J", "one step back in it"),
    Key("picture on", ("n",), "N", "one step on"),
    Key("fill", ("f",), "F", "fill the screen"),
    Key("black", (), "B", "a black screen, until the next key", ("b", ".")),
    Key("help", ("?",), "?", "show the keys"),
)
_SHOWN = {" ": "Space", "Shift+ ": "Shift + Space"}  # beside the other keys of their actions


def everywhere() -> dict[str, str]:
    """Return the browser's name of a key -> the action."""
    return {name: action for key in KEYS for name, action in key.named(key.keys).items()}


def presenting() -> dict[str, str]:
    """Return the same for the keys that count only while presenting."""
    return {name: action for key in KEYS for name, action in key.named(key.presenting).items()}


def help_html() -> str:
    """Return the list that `?` shows."""
    rows = "".join(f"<dt>{_caps(key)}</dt><dd>{escape(key.words)}{_where(key)}</dd>" for key in KEYS)
    return f"<h2>Keys</h2><dl>{rows}</dl>"


def _caps(key: Key) -> str:
    names = [key.shown, *(_SHOWN[name] for name in key.presenting if name in _SHOWN)]
    return " ".join(f"<kbd>{escape(name)}</kbd>" for name in names)


def _where(key: Key) -> str:
    if not key.presenting:
        return ""
    only = "while presenting" if not key.keys else f"{_SHOWN[key.presenting[0]]} while presenting"
    return f" <small>{only}</small>"
