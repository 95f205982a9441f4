"""Each kind of CUDA error, as the driver and the runtime spell it, is one sentence with the contract's status."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from engine.backends.cuda_failures import CUDA_FAILURES, cuda_failure
from engine.records import NotRunnable, RunFailed

ROOT = Path(__file__).parents[2]


class CUDADriverError(RuntimeError):
    """As CuPy calls it."""


class CUDARuntimeError(RuntimeError):
    """As CuPy calls it."""


class OutOfMemoryError(MemoryError):
    """As CuPy calls it."""


SPELLED = [  # the driver's name, the runtime's, status, what the sentence says
    ("ILLEGAL_ADDRESS", "IllegalAddress", "out-of-bounds", "outside every array"),
    ("MISALIGNED_ADDRESS", "MisalignedAddress", "crashed", "misaligned"),
    ("INVALID_ADDRESS_SPACE", "InvalidAddressSpace", "crashed", "wrong memory space"),
    ("ILLEGAL_INSTRUCTION", "IllegalInstruction", "crashed", "instruction that the GPU cannot execute"),
    ("HARDWARE_STACK_ERROR", "HardwareStackError", "crashed", "recursion"),
    ("INVALID_PC", "InvalidPc", "crashed", "holds no instruction"),
    ("ASSERT", "Assert", "crashed", r"assert\(\) that did not hold"),
    ("LAUNCH_TIMEOUT", "LaunchTimeout", "timeout", "longer than this GPU's driver allows"),
    ("LAUNCH_FAILED", "LaunchFailure", "crashed", "crashed on the GPU"),
    ("ECC_UNCORRECTABLE", "ECCUncorrectable", "crashed", "not to blame"),
]


@pytest.mark.parametrize(("driver", "runtime", "status", "words"), SPELLED)
def test_a_failed_run_has_a_status_a_sentence_and_cudas_own_name(
    driver: str, runtime: str, status: str, words: str
) -> None:
    for error in (CUDADriverError(f"CUDA_ERROR_{driver}: x"), CUDARuntimeError(f"cudaError{runtime}: x")):
        failure = cuda_failure(error, "reduce_scalar")
        assert isinstance(failure, RunFailed)
        assert failure.status == status
        with pytest.raises(RunFailed, match=words):
            raise failure
        assert str(failure).startswith("reduce_scalar ")
        assert str(failure).endswith(f". ({str(error).partition(':')[0]})")


@pytest.mark.parametrize(
    ("error", "told", "advice"),
    [
        (OutOfMemoryError("Out of memory allocating 10 bytes"), "N = 1,000 does not fit; ", "choose a smaller N."),
        (CUDADriverError("CUDA_ERROR_OUT_OF_MEMORY: x"), "N = 1,000 does not fit; ", "choose a smaller N."),
        (CUDARuntimeError("cudaErrorMemoryAllocation: x"), "N = 1,000 does not fit; ", "choose a smaller N."),
        (CUDADriverError("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: x"), "", "choose a smaller block."),
        (CUDARuntimeError("cudaErrorLaunchOutOfResources: x"), "", "choose a smaller block."),
    ],
)
def test_what_the_user_can_change_is_refused(error: Exception, told: str, advice: str) -> None:
    failure = cuda_failure(error, "reduce_scalar", "N = 1,000")
    assert isinstance(failure, NotRunnable)
    assert told in str(failure) and str(failure).endswith(advice)


def test_an_error_that_is_not_in_the_table_is_told_in_cudas_words() -> None:
    failure = cuda_failure(CUDADriverError("CUDA_ERROR_INVALID_VALUE: invalid {argument}"))
    assert isinstance(failure, RunFailed)
    assert (failure.status, str(failure)) == (
        "crashed",
        "The kernel failed on the GPU: invalid {argument} (CUDA_ERROR_INVALID_VALUE).",
    )


def test_any_other_exception_is_none_of_cudas() -> None:
    assert cuda_failure(ValueError("CUDA_ERROR_ILLEGAL_ADDRESS")) is None


def test_every_kind_is_tested() -> None:
    names = {name.replace("_", "").lower() for driver, runtime, *_ in SPELLED for name in (driver, runtime)}
    assert names | {"outofmemory", "memoryallocation", "launchoutofresources"} == set(CUDA_FAILURES)


def test_asking_needs_no_cupy() -> None:
    code = "import sys, engine.service.worker; print('cupy' in sys.modules)"
    assert subprocess.check_output([sys.executable, "-c", code], cwd=ROOT, text=True) == "False\n"
