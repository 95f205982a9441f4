"""A foreign text is compiled in a process of its own, which has bounds and is replaced when it ends."""

from __future__ import annotations

import json
import os
import pickle
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compile import limits
from engine.compile.answers import BadAnswer, packed, unpacked
from engine.compile.confinement import confine
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, compile_with_log
from engine.compile.process import call_apart, start, stop
from engine.records import CompileError, NotRunnable, Source
from tests.compile.endings import end, fill, process_ids, read, spin
from tests.sentences import refused

KERNEL = 'extern "C" __global__ void k(int *x) { x[0] = 1; }\n'


def test_every_call_has_a_process_of_its_own_and_the_same_server() -> None:
    first, second = call_apart("a.cu", "", process_ids), call_apart("a.cu", "", process_ids)
    assert first[0] != second[0] and first[1] == second[1] != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(first[0], 0)


@pytest.mark.parametrize(
    ("function", "arguments", "key"),
    [
        (end, (signal.SIGSEGV,), "compile.crashed"),
        (end, (signal.SIGXCPU,), "compile.too-long"),
        (end, (signal.SIGALRM,), "compile.too-long"),
        (fill, (), "compile.too-much-memory"),
        pytest.param(spin, (), "compile.too-long", marks=pytest.mark.thorough),
    ],
)
def test_how_a_compilation_can_end(function: Callable[..., object], arguments: tuple[int, ...], key: str) -> None:
    before = call_apart("a.cu", "", process_ids)[1]
    with refused(key, CompileError):
        call_apart("a.cu", "", function, *arguments)
    assert call_apart("a.cu", "", process_ids)[1] == before, "the server is the same"


def test_a_server_that_does_not_start_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    stop()
    with monkeypatch.context() as patch:
        patch.setattr("sys.executable", "/no/such/python")
        start()
        with refused("compile.no-start", NotRunnable):
            call_apart("a.cu", "", process_ids)
    assert call_apart("a.cu", "", process_ids)


def test_a_server_that_dies_is_replaced() -> None:
    before = call_apart("a.cu", "", process_ids)[1]
    os.kill(before, signal.SIGKILL)
    assert call_apart("a.cu", "", process_ids)[1] != before


def test_an_exception_of_the_function_is_raised() -> None:
    with pytest.raises(FileNotFoundError):
        call_apart("a.cu", "", os.stat, "/no/such/file")


def test_an_answer_is_data_and_runs_no_code() -> None:
    source = Source("a.cu", KERNEL, "", defines=(("A", "1"),), foreign=True)
    value = (source, b"\0\xff", frozenset({"a"}), None, True, 1.5, CompileError("a", "b", 3))
    back = unpacked(packed(value))
    assert back[:-1] == value[:-1] and back[-1].args == value[-1].args and back[-1].line == 3
    for kind in ("subprocess:Popen", "builtins:eval", "engine.compile.answers:packed", "engine.store.database:close"):
        for form in ("record", "error"):
            with pytest.raises(BadAnswer):
                unpacked(json.dumps({form: kind, "holds": [] if form == "error" else {}}).encode())
    for raw in (b"", b"\xff", b"[1", b'{"x": 1}', pickle.dumps((True, 1)), b'{"bytes": "%"}', b"[" * 100_000):
        with pytest.raises(BadAnswer):
            unpacked(raw)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("x" * (limits.SOURCE_BYTES + 1), "a source may have 256"),
        ("a\nb\0c", "NUL character in line 2"),
        ("\ud800", "UTF-8"),
    ],
)
def test_a_text_that_no_compiler_should_see_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(NotRunnable, match=sentence):
        call_apart("a.cu", text, process_ids)


def test_no_file_can_be_opened_there(tmp_path: Path) -> None:
    if not call_apart("a.cu", "", confine, []):
        pytest.skip("no Landlock here")
    (tmp_path / "secret.h").write_text("a_secret")
    with pytest.raises(PermissionError):
        call_apart("a.cu", "", read, str(tmp_path / "secret.h"))


def test_a_foreign_source_is_compiled_as_any_other_and_once() -> None:
    text = KERNEL.replace("= 1", "= 731").replace("{", "{ __shared__ int s[32]; s[threadIdx.x] = x[0];")
    own, foreign = Source("a.cu", text, ""), Source("a.cu", text, "", foreign=True)
    made = compile_with_log(foreign, "compute_90")
    codes = [one.ptx.partition(b"\t.file")[0] for one in (made, compile_with_log(own, "compute_90"))]
    assert codes[0] == codes[1] and made.cubin, "all but the folder of the file"
    assert compile_with_log(foreign, "compute_90") is made and compile_with_log(foreign, ASSEMBLED_ARCHITECTURE) is made
    broken = Source("a.cu", KERNEL + "\n__device__ int x = ;", "", foreign=True)
    with pytest.raises(CompileError, match="line 3: expected an expression") as caught:
        compile_with_log(broken, "compute_90")
    assert caught.value.line == 3


def test_a_foreign_source_may_not_become_too_much() -> None:
    name, parameters = "k" * 10_000, ", ".join(f"int *a{number}" for number in range(300))
    with refused("compile.too-much-ptx", CompileError):
        compile_with_log(
            Source("a.cu", f"__global__ void {name}({parameters}) {{ }}\n", "", foreign=True), "compute_90"
        )


def test_a_log_and_a_sentence_have_an_end() -> None:
    text = "".join(f"int {'x' * 4000}{i} = {'y' * 4000};\n" for i in range(30)) + KERNEL
    with pytest.raises(CompileError) as caught:
        compile_with_log(Source("a.cu", text, "", foreign=True), "compute_90")
    assert len(str(caught.value)) < limits.SENTENCE + 100 and len(caught.value.log) < limits.LOG_BYTES + 100
    assert "The log goes on" in caught.value.log
