"""A foreign text is compiled in a process of its own, which has bounds and is replaced when it ends."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.compile import limits
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, compile_source, compile_with_log
from engine.compile.process import call_apart
from engine.compile.server import confine
from engine.records import CompileError, NotRunnable, Source
from tests.compile.endings import end, fill, process_ids, read, spin

KERNEL = 'extern "C" __global__ void k(int *x) { x[0] = 1; }\n'


def test_every_call_has_a_process_of_its_own_and_the_same_server() -> None:
    first, second = call_apart("a.cu", "", process_ids), call_apart("a.cu", "", process_ids)
    assert first[0] != second[0] and first[1] == second[1] != os.getpid()
    with pytest.raises(ProcessLookupError):
        os.kill(first[0], 0)


@pytest.mark.parametrize(
    ("function", "arguments", "words"),
    [
        (end, (signal.SIGSEGV,), "the compiler crashed"),
        (end, (signal.SIGXCPU,), "more than the 5 s"),
        (end, (signal.SIGALRM,), "more than the 5 s"),
        (fill, (), "more than the 2 GB of memory"),
        pytest.param(spin, (), "more than the 5 s", marks=pytest.mark.thorough),
    ],
)
def test_how_a_compilation_can_end(function: Callable[..., object], arguments: tuple[int, ...], words: str) -> None:
    before = call_apart("a.cu", "", process_ids)[1]
    with pytest.raises(CompileError, match=f"^a.cu does not compile: .*{words}"):
        call_apart("a.cu", "", function, *arguments)
    assert call_apart("a.cu", "", process_ids)[1] == before, "the server is the same"


def test_a_server_that_dies_is_replaced() -> None:
    before = call_apart("a.cu", "", process_ids)[1]
    os.kill(before, signal.SIGKILL)
    assert call_apart("a.cu", "", process_ids)[1] != before


def test_what_the_function_raises_is_raised() -> None:
    with pytest.raises(FileNotFoundError):
        call_apart("a.cu", "", os.stat, "/no/such/file")


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
        pytest.skip("this computer has no Landlock")
    (tmp_path / "secret.h").write_text("a_secret")
    with pytest.raises(PermissionError):
        call_apart("a.cu", "", read, str(tmp_path / "secret.h"))
    asks = f'#define JOIN(a, b) a##b\n#if JOIN(__has_, include)("{tmp_path}/secret.h")\n#error there it is\n#endif\n'
    assert b".entry k" in compile_source(Source("a.cu", asks + KERNEL, "", foreign=True), "compute_90")


def test_a_foreign_source_is_compiled_as_any_other_and_once() -> None:
    text = KERNEL.replace("= 1", "= 731").replace("{", "{ __shared__ int s[32]; s[threadIdx.x] = x[0];")
    own, foreign = Source("a.cu", text, ""), Source("a.cu", text, "", foreign=True)
    made = compile_with_log(foreign, "compute_90")
    assert made == compile_with_log(own, "compute_90") and made.cubin
    assert compile_with_log(foreign, "compute_90") is made and compile_with_log(foreign, ASSEMBLED_ARCHITECTURE) is made
    broken = Source("a.cu", KERNEL + "\n__device__ int x = ;", "", foreign=True)
    with pytest.raises(CompileError, match="line 3: expected an expression") as caught:
        compile_with_log(broken, "compute_90")
    assert caught.value.line == 3


def test_a_foreign_source_may_not_become_too_much() -> None:
    name, parameters = "k" * 10_000, ", ".join(f"int *a{number}" for number in range(300))
    with pytest.raises(CompileError, match="does not compile: it becomes 3,135 kB of PTX, and 2,048 are possible"):
        compile_with_log(
            Source("a.cu", f"__global__ void {name}({parameters}) {{ }}\n", "", foreign=True), "compute_90"
        )


def test_a_log_and_a_sentence_have_an_end() -> None:
    text = "".join(f"int {'x' * 4000}{i} = {'y' * 4000};\n" for i in range(30)) + KERNEL
    with pytest.raises(CompileError) as caught:
        compile_with_log(Source("a.cu", text, "", foreign=True), "compute_90")
    assert len(str(caught.value)) < limits.SENTENCE + 100 and len(caught.value.log) < limits.LOG_BYTES + 100
    assert "The log goes on" in caught.value.log
