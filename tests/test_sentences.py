"""The sentences of the program stand in golden/sentences.json; this file tests how, and that few tests repeat them."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sentences
from tests.sentences import refused, says, sentence, wording

ROOT = Path(__file__).parents[1]
MOST_REPEATING = 40
WINDOW = 5  # words in a row that make a phrase
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d[\w.,^]*")
FILLED_IN = re.compile(r"`[^`]*`|\{[^{}]*\}|\\[a-zA-Z]|\\|<[^<>]*>")  # names, fields, escapes of a pattern, tags
CODE = re.compile(r'[;{}]\s*\n|\{ ?\.reg|__global__|extern "C"|<<<|;.*;')


def phrases(text: str) -> set[str]:
    """Return each five words in a row, without numbers and names that are filled in."""
    if text.count(" ") < WINDOW - 1:
        return set()
    words = [word for word in WORD.findall(FILLED_IN.sub(" ", text)) if not word[0].isdigit()]
    return {" ".join(words[start : start + WINDOW]) for start in range(len(words) - WINDOW + 1)}


def texts_of(tree: ast.AST) -> Iterator[str]:
    """Yield the string literals below a node, an f-string as one, docstrings left out."""
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.JoinedStr):
            yield " ".join(str(part.value) for part in node.values if isinstance(part, ast.Constant))
            waiting += [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        elif isinstance(node, ast.Constant) and type(node.value) is str:
            yield node.value
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):
            waiting += ast.iter_child_nodes(node)


def phrases_of_the_program() -> set[str]:
    """Return the phrases of the strings of engine/ and views/, the comments of cuda/ and the text of sheets/."""
    found: set[str] = set()
    for file in (path for folder in ("engine", "views", "cuda", "sheets") for path in (ROOT / folder).rglob("*")):
        if file.suffix == ".py":
            for text in texts_of(ast.parse(file.read_text(encoding="utf-8"))):
                found |= phrases(text)
        elif file.suffix in (".cu", ".cuh"):
            found |= phrases(" ".join(re.findall(r"//(.*)", file.read_text(encoding="utf-8"))))
        elif file.suffix in (".toml", ".csv"):
            found |= phrases(file.read_text(encoding="utf-8"))
    return found


def test_few_tests_repeat_a_sentence_of_the_program() -> None:
    program = phrases_of_the_program()
    repeating = [
        f"{file.relative_to(ROOT)}: {test.name}"
        for file in sorted((ROOT / "tests").rglob("test_*.py"))
        for test in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        if any(phrases(text) & program for text in texts_of(test) if not CODE.search(text))
    ]
    assert len(program) > 10_000
    assert len(repeating) <= MOST_REPEATING, "\n".join(repeating)


def test_each_golden_sentence_is_one_that_a_test_names() -> None:
    golden = json.loads(sentences.GOLDEN.read_text(encoding="utf-8"))
    assert golden and all(golden.values())
    assert set(golden) - sentences.named_keys() == set()


def test_another_text_an_empty_text_and_an_unknown_key_fail() -> None:
    known = wording("gate.wrong-key")
    assert sentence("gate.wrong-key", known) and says("gate.wrong-key", f"<p>No: <b>{known}</b></p>")
    for key, seen in (("gate.wrong-key", known + "!"), ("gate.wrong-key", " "), ("no.such.key", known)):
        with pytest.raises(AssertionError):
            sentence(key, seen)
    for key, seen in (("gate.wrong-key", known[1:]), ("gate.wrong-key", ""), ("no.such.key", known)):
        with pytest.raises(AssertionError):
            says(key, seen)
    with pytest.raises(AssertionError), refused("gate.wrong-key", ValueError):
        raise ValueError("This key is right.")
    with pytest.raises(pytest.fail.Exception), refused("gate.wrong-key", ValueError):
        pass


HOOKS = """
from tests.sentences import pytest_addoption, pytest_configure, pytest_sessionfinish, pytest_testnodedown
"""
ONE = """
from tests.sentences import says, sentence

def test_equal():
    assert sentence("trial.equal", "Two blocks wait.")

def test_within():
    assert says("trial.within", "<p>Nothing yet.</p><p>The <b>key</b> of the class is wrong. Try again.</p>")
"""
OTHER = """
from tests.sentences import refused

def test_refused():
    with refused("trial.refused", ValueError):
        raise ValueError("N must be positive.")
"""
BEFORE = {
    "trial.equal": "Two blocks wait.",
    "trial.within": "the class key is wrong",
    "trial.nobody": "No test says so.",
}
AFTER = {"trial.equal": "Two blocks wait.", "trial.refused": "N must be positive."}


@pytest.mark.parametrize("processes", [(), ("-n", "2")], ids=["one process", "two processes"])
def test_a_rewrite_takes_what_was_seen_and_drops_what_no_test_names(tmp_path: Path, processes: tuple[str, ...]) -> None:
    golden = tmp_path / "tests" / "golden" / "sentences.json"
    golden.parent.mkdir(parents=True)
    golden.write_text(json.dumps(BEFORE))
    tools = Path(sentences.__file__).read_text(encoding="utf-8")
    for name, text in {"sentences": tools, "conftest": HOOKS, "test_one": ONE, "test_other": OTHER}.items():
        (tmp_path / "tests" / f"{name}.py").write_text(text, encoding="utf-8")

    def tried(*options: str) -> int:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *options]
        return subprocess.run(words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, check=False).returncode

    if not processes:
        assert tried() == 1
    assert tried("--rewrite-sentences", *processes) == 0
    rewritten = json.loads(golden.read_text())
    assert rewritten.pop("trial.within") == "The key of the class is wrong." and rewritten == AFTER
    if not processes:
        assert tried() == 0
