"""Whatever a reader typed is shown as typed: no Markdown, HTML, link, emoji, colour or formula."""

from __future__ import annotations

import ast
import random
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from views.shared.messages import box, code, label

OTHERS = ("messages", "LOG", "file")  # draw no Markdown
VIEWS = Path(__file__).parents[3] / "views"
PIECES = (
    "__global__", "[a](https://evil.example)", "![x](//evil.example/i.png)", "<script>alert(1)</script>", "<b>", "&lt;",
    ":smile:", ":+1:", ":red[x]", ":blue-background[x]", ":material/home:", "$x^2$", "$$y$$", "**b**", "_i_", "~~s~~",
    "`c`", "``", "https://evil.example/x", "www.evil.example", "me@evil.example", "# h", "1. l", "- l", "> q", "|a|b|",
    "a->b", "<-", "--", ">=", "\\", "\n", "\n\n", "\t", " ", "x", "é", "\u202e", "\"", "'", "\x1b[2J", "{", "}", "*",
)  # fmt: skip
# What Streamlit and its Markdown library replace in plain text, after the backslashes are gone.
REPLACED = re.compile(
    r"https?://|www\.|[-.\w+]@[-\w]|:[\w+-]+:|:material/|:\w[\w-]*\[|<-|->|--|>=|<=|~=|<->", re.IGNORECASE
)


def fuzzed(seed: int) -> str:
    make = random.Random(seed)
    return "".join(make.choice(PIECES) for _ in range(make.randint(1, 12)))


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.text = ""

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def test_a_message_is_its_text() -> None:
    for seed in range(2000):
        text = fuzzed(seed)
        found = Tags()
        found.feed(box("error", text))
        found.close()
        assert found.tags <= {"div", "code"} and found.text.replace("`", "") == text.replace("`", "")
    assert "__global__" in box("warning", "a function with __global__ in front")


def test_a_label_is_its_text() -> None:
    for seed in range(2000):
        text = " ".join(fuzzed(seed).split())
        drawn = label(text)
        assert not re.search(r"[!-/:-@\[-`{-~]", re.sub(r"\\[!-/:-@\[-`{-~]", "", drawn))
        plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", drawn)
        assert not REPLACED.search(plain), (text, plain)
        assert plain.replace("\u2060", "") == text


@pytest.mark.parametrize("text", ["a", "`", "a``b", "f<<<1, `2`>>>", "$x$ `"])
def test_code_in_a_label_ends_where_it_shall(text: str) -> None:
    fence = re.match("`+", code(text))[0]  # type: ignore[index]
    inside = code(text)[len(fence) : -len(fence)]
    assert inside == f" {text} " and fence not in re.findall("`+", inside)


def test_no_page_draws_a_changing_text_as_markdown() -> None:
    """A page's own sentence, or a lab sheet's own text, may be Markdown; a reader's words go through `messages`."""
    allowed = {("sheets/panel.py", "markdown"), ("sheets/panel.py", "caption")}
    panels = ("ladder/panels/trapezoids.py", "ladder/panels/floats.py", "inside/page.py")
    numbers = {(panel, "caption") for panel in panels}  # and names of GPUs
    drawing = ("error", "warning", "info", "success", "markdown", "write", "caption", "toast", "header", "subheader")
    found = set()
    for file in VIEWS.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            called = node.func if isinstance(node, ast.Call) else None
            if isinstance(called, ast.Attribute) and called.attr in drawing and ast.unparse(called.value) not in OTHERS:
                given = node.args[0] if isinstance(node, ast.Call) and node.args else ast.Constant("")
                safe = isinstance(given, ast.Constant) or ast.unparse(given).startswith("label(")
                plain = isinstance(given, ast.BinOp | ast.IfExp) and not any(
                    isinstance(part, ast.Name | ast.JoinedStr) for part in ast.walk(given)
                )
                if not safe and not plain:
                    found.add((file.relative_to(VIEWS).as_posix(), called.attr))
    assert found <= allowed | numbers, found - allowed - numbers
