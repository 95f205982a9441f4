"""Every `mma.sync` that is emulated, on the GPU itself: the same bits from the same registers.

What is known of the rounding is from papers on Hopper (see `meanings/matrix_products.py`); other GPUs keep other
places. A form that differs is told with the first register that does.
"""

from __future__ import annotations

import numpy as np
import pytest

from engine.records import Array
from tests.backends.emulator.small_kernels import execute
from tests.backends.emulator.tensor_kernels import FORMS, LANES, Form, registers_of, text_of

pytestmark = pytest.mark.gpu
WARPS = 256


def on_the_gpu(form: Form, given: list[Array], made: Array) -> Array:
    import cupy

    kernel = cupy.RawKernel(text_of(form), "f")
    out = cupy.asarray(made)
    kernel((WARPS,), (LANES,), (*(cupy.asarray(each) for each in given), out))
    result: Array = out.get()
    return result


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.opcode)
def test_the_gpu_multiplies_matrices_to_the_same_bits(form: Form) -> None:
    given = registers_of(form, WARPS, 11)
    made = np.zeros(WARPS * LANES * form.registers[3], np.float64 if "f64" in form.types else np.uint32)
    ours = execute(text_of(form), grid=WARPS, dtype="", **dict(zip("abc", given, strict=True)), d=made)["d"]
    np.testing.assert_array_equal(on_the_gpu(form, given, made), ours)


def test_numbers_far_apart_and_those_that_are_none_come_out_alike() -> None:
    """Any bits at all: denormals, infinities, NaN."""
    random = np.random.default_rng(3)
    forms = [form for form in FORMS if "f64" not in form.types and "s32" not in form.types]
    assert forms
    for form in forms:
        given = [random.integers(0, 1 << 32, WARPS * LANES * count, dtype=np.uint64).astype(np.uint32)
                 for count in form.registers[:3]]  # fmt: skip
        made = np.zeros(WARPS * LANES * form.registers[3], np.uint32)
        ours = execute(text_of(form), grid=WARPS, dtype="", **dict(zip("abc", given, strict=True)), d=made)["d"]
        real = on_the_gpu(form, given, made)
        differ = np.flatnonzero(real != ours)
        pairs = [(hex(real[at]), hex(ours[at])) for at in differ[:3]]
        assert not differ.size, f"{form.opcode}: {differ.size} of {ours.size} differ: {pairs}"
