"""CUDA's math functions on the emulator against Python's: the bounds are those that the CUDA manual states, in units of
the last place. What NVRTC makes of them is PTX like any other, the slow paths for large angles included."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_source
from engine.records import Array, Source
from tests.backends.emulator import emulated
from tests.backends.emulator.exact import distance

Function = Callable[..., float]


def or_infinite(function: Function) -> Function:
    """Return the function, which is infinite where Python refuses the number as too large."""

    def compute(*numbers: float) -> float:
        try:
            return function(*numbers)
        except OverflowError:
            return math.inf

    return compute


# Function -> (Python's, ulp in float, ulp in double, what it is asked).
FUNCTIONS: dict[str, tuple[Function, int, int, str]] = {
    "sin": (math.sin, 2, 2, "angles"), "cos": (math.cos, 2, 2, "angles"), "tan": (math.tan, 4, 2, "angles"),
    "exp": (math.exp, 2, 1, "small"), "exp2": (lambda x: 2.0**x, 2, 1, "small"), "expm1": (math.expm1, 1, 1, "small"),
    "log": (math.log, 1, 1, "positive"), "log2": (math.log2, 1, 1, "positive"), "log1p": (math.log1p, 1, 1, "positive"),
    "sqrt": (math.sqrt, 0, 0, "positive"), "rsqrt": (lambda x: 1 / math.sqrt(x), 2, 1, "positive"),
    "cbrt": (math.cbrt, 1, 1, "small"), "sinh": (math.sinh, 3, 2, "small"), "tanh": (math.tanh, 2, 1, "small"),
    "asin": (math.asin, 2, 2, "unit"), "acos": (math.acos, 2, 2, "unit"), "atan": (math.atan, 2, 2, "small"),
    "erf": (math.erf, 2, 2, "small"), "floor": (lambda x: float(math.floor(x)), 0, 0, "small"),
    "trunc": (lambda x: float(math.trunc(x)), 0, 0, "small"), "rint": (lambda x: float(round(x)), 0, 0, "small"),
    "fabs": (abs, 0, 0, "angles"), "log10": (math.log10, 2, 1, "positive"),
    "exp10": (lambda x: 10.0**x, 2, 1, "small"), "cosh": (math.cosh, 2, 1, "small"),
    "asinh": (math.asinh, 3, 3, "small"), "acosh": (math.acosh, 4, 3, "above one"),
    "atanh": (lambda x: math.copysign(math.inf, x) if abs(x) == 1 else math.atanh(x), 3, 2, "unit"),
    "erfc": (math.erfc, 4, 5, "small"), "lgamma": (math.lgamma, 6, 4, "above three"),
    "tgamma": (or_infinite(math.gamma), 5, 10, "above one"),
    # Of two numbers: the second one stands as far from the end as the first one from the start.
    "pow": (or_infinite(math.pow), 4, 2, "positive"), "atan2": (math.atan2, 3, 2, "small"),
    "hypot": (math.hypot, 3, 2, "angles"), "fmod": (math.fmod, 0, 0, "positive"),
    "remainder": (math.remainder, 0, 0, "positive"), "copysign": (math.copysign, 0, 0, "angles"),
}  # fmt: skip
OF_TWO = {"pow", "atan2", "hypot", "fmod", "remainder", "copysign"}
COUNT = 160  # values per function, over five warps
LIBRARY = 1  # Python's own functions may be one unit off


def asked(kind: str) -> Array:
    """Values of a kind, the awkward ones first."""
    numbers = np.random.default_rng(3)
    awkward = {
        "angles": [0.0, 1e-10, math.pi, -math.pi / 2, 1e5, 105615.0, -3e7, 1e15, 2.0**60 * 3, 1e20],
        "small": [0.0, 1e-8, -1e-8, 0.5, -0.5, 2.5, -2.5, 1.0, 20.0, -20.0],
        "positive": [1.0, 1e-30, 1e30, 0.5, 2.0, 1 + 2**-20, 1 - 2**-20, 3.0, 7e-5, 1e10],
        "above one": [1.0, 1.5, 2.0, 1 + 2**-10, 2 + 2**-10, 1e10, 1e30, 34.5, 170.5, 30.0],
        "above three": [3.0, 3 + 2**-20, 4.0, 8.0, 15.5, 1e3, 1e10, 1e30, 34.5, 170.5],  # Python's is coarse below
        "unit": [0.0, 1.0, -1.0, 0.5, -0.5, 1e-9, 0.999, -0.999, 0.7071, 0.25],
    }[kind]
    low, high = {"angles": (-50, 50), "small": (-10, 10), "positive": (1e-3, 100), "above one": (1, 100),
                 "above three": (3, 100), "unit": (-1, 1)}[kind]  # fmt: skip
    return np.concatenate([awkward, numbers.uniform(low, high, COUNT - len(awkward))]).astype(np.float32)


def kernel(name: str) -> str:
    """float and double side by side, from the same float."""
    one, two = ("in[i]", f"in[{COUNT - 1} - i]") if name in OF_TWO else ("in[i]", "")
    floats, doubles = (", ".join(f"({kind}){each}" for each in (one, two) if each) for kind in ("float", "double"))
    return (
        f'extern "C" __global__ void {name}_of(const float *in, float *single, double *twice) {{\n'
        "  int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
        f"  single[i] = {name}({floats}); twice[i] = {name}({doubles});\n}}"
    )


@pytest.fixture(scope="module")
def ptx() -> str:
    text = "\n".join(map(kernel, FUNCTIONS))
    return compile_source(Source("functions.cu", text, "float32"), EMULATED_ARCHITECTURE).decode()


@pytest.mark.sampled(quick=0, thorough=4)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_are_as_exact_as_the_manual_says(ptx: str, name: str) -> None:
    function, single, double, kind = FUNCTIONS[name]
    values = asked(kind)
    arguments: list[bytearray | bytes] = [bytearray(values.tobytes()), bytearray(4 * COUNT), bytearray(8 * COUNT)]
    _, floats, doubles = emulated.run(ptx, f"{name}_of", (5, 1, 1), (32, 1, 1), arguments)
    assert len(values) == COUNT
    asked_for = zip(values.tolist(), *([values[::-1].tolist()] if name in OF_TWO else ()), strict=True)
    for x, f, d in zip(
        asked_for, np.frombuffer(floats, np.float32).tolist(), np.frombuffer(doubles).tolist(), strict=True
    ):
        wanted = function(*x)
        assert distance(d, wanted, "f64") <= double + LIBRARY * bool(double), (x, d, wanted)
        with np.errstate(over="ignore"):
            nearest = float(np.float32(wanted))
        assert distance(f, nearest, "f32") <= single, (x, f, wanted)
