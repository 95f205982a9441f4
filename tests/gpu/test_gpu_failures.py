"""What goes wrong on a GPU ends in one sentence."""

import subprocess
import sys
from dataclasses import replace

import pytest

from engine.catalogue import KERNELS, recipe_of
from engine.plan import plan, settle
from engine.records import Buffer, Choice, CompileError, NotRunnable, RunFailed

pytestmark = pytest.mark.gpu

NAME = "reduce_sequential"
SIGNATURE = f'extern "C" __global__ void {NAME}(const T *in, T *out, unsigned int n)'


def run(choice, change=lambda plan: plan):
    from engine.backends.gpu import launches

    return launches.run(change(plan(settle(choice))), recipe_of(choice))


def own(body, name="mine.cu"):
    return Choice(NAME, 1000, 128, device="gpu", source=body, source_name=name)


def test_a_wild_pointer_is_a_sentence_and_the_next_process_works():
    """In a process of its own: an illegal address ends the CUDA context of the process it happens in."""
    script = f"""
from engine.backends.backend import quiet
from engine.backends.backend import backend_named
from engine.plan import settle
from engine.plan import plan
from engine.records import Choice, RunFailed
asked = Choice({NAME!r}, 1000, 128, device="gpu", source='''{SIGNATURE} {{ out[1ull << 40] = 1; }}''')
try:
    backend_named("gpu").run(plan(settle(asked)), quiet)
except RunFailed as failed:
    print(failed.status, failed, flush=True)
import os
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.startswith(f"out-of-bounds {NAME} ") and "outside every array" in done.stdout, done
    assert run(Choice(NAME, 1000, 128, device="gpu")).output.size == 1


def test_a_write_just_past_the_end_is_noticed():
    with pytest.raises(RunFailed, match="past the end of `out`") as failed:
        run(own(f"{SIGNATURE} {{ out[gridDim.x] = 1; }}"))
    assert failed.value.status == "out-of-bounds"


def test_a_compile_error_names_the_line():
    with pytest.raises(CompileError, match=r"mine\.cu does not compile: line 2"):
        run(own(f"{SIGNATURE} {{\n  oops;\n}}"))


def test_a_file_without_the_kernel_says_which_one_is_missing():
    with pytest.raises(CompileError, match=NAME):
        run(own('extern "C" __global__ void another() {}'))


def test_what_does_not_fit_the_memory_is_refused_with_both_figures():
    def huge(made):
        return replace(made, buffers=(*made.buffers, Buffer("more", "float64", 2**40, "poison")))

    with pytest.raises(NotRunnable, match=r"needs 8796\.\d GB more .*, and \d+\.\d GB of its"):
        run(Choice(NAME, 1000, 128, device="gpu"), huge)


def test_a_grid_that_cannot_wait_for_itself_is_refused():
    kernel = next(kernel for kernel in KERNELS.values() if kernel.cooperative)
    with pytest.raises(NotRunnable, match="at once"):
        run(Choice(kernel.name, 2**24, 1024, grid_size=100_000, device="gpu"))


def test_the_input_that_others_share_survives_a_source_that_writes_it():
    choice = Choice(NAME, 1000, 128, device="gpu")
    before = run(choice).output
    run(own(f"{SIGNATURE} {{ if (threadIdx.x < n) ((T *)in)[threadIdx.x] = 7; out[blockIdx.x] = 0; }}"))
    assert run(choice).output == before


def test_a_block_beyond_the_launch_bounds_is_not_blamed_on_registers():
    bounded = SIGNATURE.replace("void", "void __launch_bounds__(64)")
    with pytest.raises(NotRunnable, match=r"128 threads; .*__launch_bounds__ allow 64"):
        run(own(f"{bounded} {{ out[0] = 1; }}"))


def test_a_block_that_no_gpu_takes_is_not_blamed_on_registers():
    def with_large_blocks(made):
        return replace(made, steps=(replace(made.steps[0], block=(2048, 1, 1)), *made.steps[1:]))

    with pytest.raises(NotRunnable, match="blocks of 2,048 threads in x; 1 to 1,024 are possible"):
        run(Choice(NAME, 1000, 128, device="gpu"), with_large_blocks)
