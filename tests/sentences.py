"""The sentences that tests expect: golden/sentences.json has each under a key, and no test repeats it.

`python -m pytest --rewrite-sentences` runs the tests and writes what they saw into the file: read its diff.
"""

from __future__ import annotations

import ast
import difflib
import html
import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parent
GOLDEN = TESTS / "golden" / "sentences.json"
ALIKE = 0.4  # the share of the golden sentence's words that a reworded one has at least

_INLINE = r"</?(?:a|abbr|b|button|code|em|i|kbd|small|span|strong|sub|sup)\b[^>]*>"
_SENTENCE_ENDS = r"(?<=[.!?:])\s+"

_expected: dict[str, str] = json.loads(GOLDEN.read_text(encoding="utf-8"))
_seen: dict[str, str] = {}
_rewrites = False


def sentence(key: str, seen: str) -> bool:
    """Compare a text with the golden sentence `key`; AssertionError if they differ."""
    return _accept(key, seen.strip(), seen.strip() == _expected.get(key))


def says(key: str, *texts: str) -> bool:
    """Look for the golden sentence `key` in texts or HTML; AssertionError if none has it.

    A rewrite takes the sentence of the texts that is most like the golden one.
    """
    plain = [part for text in texts for part in plain_lines(text)]
    assert key in _expected, f"golden/sentences.json has no sentence {key!r}: give it a first wording"
    wanted = _expected[key]
    if any(wanted in part for part in (*texts, *plain)):
        return _accept(key, wanted, True)
    assert _rewrites, f"No text has the sentence {key!r}: {wanted!r}. Seen:\n" + "\n".join(plain)
    parts = [piece for part in plain for piece in (part, *re.split(_SENTENCE_ENDS, part)) if piece]
    nearest = max(parts, key=lambda piece: _likeness(wanted, piece), default="")
    assert _likeness(wanted, nearest)[0] >= ALIKE, f"No sentence is like {key!r}: {wanted!r}. Seen:\n" + "\n".join(
        plain
    )
    return _accept(key, nearest, False)


def wording(key: str) -> str:
    """Return the golden sentence `key`; another test holds it against what the program says."""
    return _expected[key]


@contextmanager
def refused(key: str, kind: type[BaseException]) -> Iterator[pytest.ExceptionInfo[BaseException]]:
    """Expect an exception of this kind whose text is, or has in it, the golden sentence `key`."""
    with pytest.raises(kind) as caught:
        yield caught
    text = str(caught.value)
    wanted = _expected.get(key, text)
    sentence(key, wanted if wanted in text else text)


def plain_lines(text: str) -> list[str]:
    """Return the lines that a reader of this text or HTML sees, without tags and with single spaces."""
    text = re.sub(_INLINE, "", text)
    lines = re.split(r"<[/a-zA-Z!][^>]*>|\n", text)
    return [line for line in (" ".join(html.unescape(line).split()) for line in lines) if line]


def named_keys(trees: Iterable[ast.AST]) -> set[str]:
    """Return the string literals of syntax trees: each key of the golden file stands among those of the tests."""
    nodes = (node for tree in trees for node in ast.walk(tree))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and type(node.value) is str}


def _accept(key: str, seen: str, equal: bool) -> bool:
    assert seen, f"The text for {key!r} is empty."
    before = _seen.setdefault(key, seen)
    assert before == seen, f"Two texts for the one sentence {key!r}:\n  {before}\n  {seen}"
    expected = _expected.get(key, "no such key in golden/sentences.json")
    assert equal or _rewrites, f"The sentence {key!r} differs.\n  golden: {expected}\n  seen:   {seen}"
    return True


def _likeness(wanted: str, piece: str) -> tuple[float, float]:
    """Return the share of the wanted words that the piece has in their order, and how alike both are."""
    words, others = wanted.lower().split(), piece.lower().split()
    matcher = difflib.SequenceMatcher(None, words, others, autojunk=False)
    return sum(block.size for block in matcher.get_matching_blocks()) / len(words), matcher.ratio()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that accepts what the tests see."""
    parser.addoption("--rewrite-sentences", action="store_true", help="write what was seen to golden/sentences.json")


def pytest_configure(config: pytest.Config) -> None:
    """Note whether this run rewrites the golden file."""
    global _rewrites
    _rewrites = config.getoption("rewrite_sentences")


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the sentences that were seen; a worker of xdist hands its own to the process that started it."""
    output: dict[str, Any] | None = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["sentences"] = _seen
    elif _rewrites:
        named = named_keys(ast.parse(file.read_text(encoding="utf-8")) for file in TESTS.rglob("*.py"))
        kept = {key: text for key, text in {**_expected, **_seen}.items() if key in named}
        GOLDEN.write_text(json.dumps(dict(sorted(kept.items())), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take over the sentences that a worker of xdist has seen."""
    _seen.update(getattr(node, "workeroutput", {}).get("sentences", {}))
