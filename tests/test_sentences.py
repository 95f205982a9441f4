"""The sentences of the program stand in golden/sentences.json; this file tests how, and that few tests repeat them."""

from __future__ import annotations

import ast
import functools
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import sentences
from tests.sentences import refused, says, sentence

ROOT = Path(__file__).parents[1]
MOST_REPEATING = 40
WINDOW = 5  # words in a row that make a phrase
WORD = re.compile(r"[A-Za-z][A-Za-z'’-]*|\d[\w.,^]*")
FILLED_IN = re.compile(r"`[^`]*`|\{[^{}]*\}|\\[a-zA-Z]|\\|<[^<>]*>")  # names, fields, escapes of a pattern, tags
READERS = ("sentence", "says", "refused", "wording")
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


@functools.cache
def trees_of_the_tests() -> dict[str, ast.Module]:
    """Return the syntax trees of all files in tests/, by their path."""
    files = sorted((ROOT / "tests").rglob("*.py"))
    return {str(file.relative_to(ROOT)): ast.parse(file.read_text(encoding="utf-8")) for file in files}


@pytest.mark.release
def test_few_tests_repeat_a_sentence_of_the_program() -> None:
    program = phrases_of_the_program()
    repeating = [
        f"{name}: {test.name}"
        for name, tree in trees_of_the_tests().items()
        for test in tree.body
        if isinstance(test, ast.FunctionDef) and test.name.startswith("test_")
        if any(not program.isdisjoint(phrases(text)) and not CODE.search(text) for text in texts_of(test))
    ]
    assert len(program) > 10_000
    assert len(repeating) <= MOST_REPEATING, "\n".join(repeating)


def test_the_golden_file_has_the_sentences_that_tests_name_and_no_others() -> None:
    golden = json.loads(sentences.GOLDEN.read_text(encoding="utf-8"))
    assert golden and all(golden.values())
    assert set(golden) - sentences.named_keys(trees_of_the_tests().values()) == set()
    called = {
        call.args[0].value
        for tree in trees_of_the_tests().values()
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in READERS
        if isinstance(call.args[0], ast.Constant)
    }
    assert called - set(golden) - {"trial.key", "trial.unknown"} == set()


def test_another_text_an_empty_text_and_an_unknown_key_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {"_expected": {"trial.key": "The key is wrong."}, "_seen": {}, "_rewrites": False}.items():
        monkeypatch.setattr(sentences, name, value)
    assert sentence("trial.key", "The key is wrong.\n") and says("trial.key", "<p>No: <b>The key</b> is wrong.</p>")
    for seen in ("The key is wrong!", " "):
        with pytest.raises(AssertionError):
            sentence("trial.key", seen)
        with pytest.raises(AssertionError):
            says("trial.key", seen)
    with pytest.raises(AssertionError):
        sentence("trial.unknown", "The key is wrong.")
    with pytest.raises(AssertionError):
        says("trial.unknown", "The key is wrong.")
    with pytest.raises(AssertionError), refused("trial.key", ValueError):
        raise ValueError("This key is right.")
    with pytest.raises(pytest.fail.Exception), refused("trial.key", ValueError):
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


@pytest.mark.parametrize(
    "processes", [pytest.param((), id="one", marks=pytest.mark.thorough), pytest.param(("-n", "2"), id="two")]
)
def test_a_rewrite_takes_the_seen_sentences_and_drops_unused_ones(tmp_path: Path, processes: tuple[str, ...]) -> None:
    golden = tmp_path / "tests" / "golden" / "sentences.json"
    golden.parent.mkdir(parents=True)
    golden.write_text(json.dumps(BEFORE))
    tools = Path(sentences.__file__).read_text(encoding="utf-8")
    for name, text in {"sentences": tools, "conftest": HOOKS, "test_one": ONE, "test_other": OTHER}.items():
        (tmp_path / "tests" / f"{name}.py").write_text(text, encoding="utf-8")

    def tried(*options: str) -> int:
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *processes, *options]
        return subprocess.run(words, cwd=tmp_path, env={**os.environ, "PYTHONPATH": ""}, check=False).returncode

    assert tried("--rewrite-sentences") == 0
    rewritten = json.loads(golden.read_text())
    assert rewritten.pop("trial.within") == "The key of the class is wrong." and rewritten == AFTER
    if not processes:
        assert tried() == 0
        golden.write_text(json.dumps(BEFORE))
        assert tried() == 1
