"""The topic "aggregate": its references are right, its data show a mistake, its plans count."""

from math import prod

import numpy as np
import pytest

from engine.catalogue import aggregate, data
from engine.records import Choice, Launch, Zero
from tests.cases import case
from tests.made import measure

KERNELS = {kernel.name: kernel for kernel in aggregate.KERNELS}


def plan_for(kernel: str, n: int, dtype: str = "int32", **changes):
    return aggregate.plan(KERNELS[kernel], Choice(kernel, n, 256, dtype=dtype, **changes))


def numbers_of(kernel: str, n: int, dtype: str = "int32", **changes):
    ((numbers, count),) = aggregate.input_recipe(Choice(kernel, n, 256, dtype=dtype, **changes)).values()
    return data.repeated(numbers, count)


@pytest.mark.parametrize("n", [1, 2, 1000, 1_048_573, 1_048_600])
def test_the_product_of_ints_is_the_exact_one_modulo_two_to_the_32(n: int):
    numbers = numbers_of("reduce_product", n)
    expected = 1
    for number in numbers.tolist():
        expected = expected * number & 0xFFFFFFFF
    found = aggregate._expected("product", "int32", n)
    assert found & 0xFFFFFFFF == expected and -(2**31) <= found < 2**31 and found % 2


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_product_of_floats_is_the_exact_one(dtype: str):
    for n in (1, 2, 3, 500):
        exact = prod(number.as_integer_ratio()[0] for number in numbers_of("reduce_product", n, dtype).tolist())
        below = prod(number.as_integer_ratio()[1] for number in numbers_of("reduce_product", n, dtype).tolist())
        assert aggregate._expected("product", dtype, n) == pytest.approx(exact / below, rel=3e-16)


def test_no_part_of_the_float_product_overflows():
    logs = np.cumsum(np.log(numbers_of("reduce_product", 2**21, "float64")))
    assert np.abs(logs).max() < 40  # float32 ends at exp(88)


def test_one_factor_less_is_found_out():
    for dtype in ("int32", "float32", "float64"):
        made = plan_for("reduce_product", 2**20, dtype)
        right = aggregate._expected("product", dtype, 2**20)
        kind = np.dtype({"int32": "i4", "float32": "f4", "float64": "f8"}[dtype])
        assert aggregate.check(made, np.array([right], kind)).ok
        factor = numbers_of("reduce_product", 1, dtype)[0].item()
        left_out = (right // factor if right % factor == 0 else right + 2) if dtype == "int32" else right / factor
        assert not aggregate.check(made, np.array([left_out]).astype(kind)).ok


@pytest.mark.parametrize(("dtype", "n"), [("float32", 2**20), ("float32", 2**22), ("float64", 2**20)])
def test_a_product_is_right_in_the_orders_of_vectors_strides_and_trees(dtype: str, n: int):
    numbers, made = numbers_of("reduce_product", n, dtype), plan_for("reduce_product", n, dtype)
    vectors = np.multiply.reduce(numbers.reshape(-1, 4, 256, 16 // numbers.itemsize).copy(order="F"), axis=3)
    for orders in (vectors.reshape(-1), np.multiply.reduce(numbers.reshape(-1, 2**14), axis=0), numbers):
        left = orders
        while len(left) > 1:
            left = left[: len(left) // 2] * left[len(left) // 2 :]
        assert aggregate.check(made, left).ok
        assert not aggregate.check(made, left * numbers[-1]).ok and not aggregate.check(made, left / numbers[-1]).ok


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_argmax_is_the_number_and_the_first_of_its_places(dtype: str):
    for n in (1, 31, 2_000_000):
        numbers = numbers_of("argmax_tree", n, dtype)
        made, right = plan_for("argmax_tree", n, dtype), (numbers.max(), numbers.argmax())
        assert aggregate.check(made, np.array(right, np.float64)).ok
        for wrong in ((right[0], right[1] + 1), (right[0] - 1, right[1]), (np.nan, np.nan)):
            assert not aggregate.check(made, np.array(wrong, np.float64)).ok
    again = np.flatnonzero(numbers == right[0])
    assert len(again) > 1 and not aggregate.check(made, np.array((right[0], again[1]), np.float64)).ok


@pytest.mark.parametrize("kernel", ["argmax_tree", "argmax_vectorized"])
@pytest.mark.parametrize("dtype", [case("int32", quick=True), case("float64", quick=False)])
def test_of_equal_numbers_the_first_wins_in_every_grid(kernel: str, dtype: str, monkeypatch):
    few = np.random.default_rng(1).integers(0, 7, data.PERIOD).astype(dtype)
    few[:600] = 0  # so that the largest is not among the numbers that every thread begins with
    monkeypatch.setattr(aggregate, "_few_numbers", lambda dtype, seed: few)
    for n, grid_size in ((3001, None), (2999, 3)):
        found = measure(Choice(kernel, n, 64, grid_size, dtype=dtype, device="emulator"))
        assert found.status == "ok" and found.check.result == few[:n].argmax() >= 600


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_minimum_and_maximum(dtype: str):
    for n in (1, 31, 2_000_000):
        smallest, largest = numbers_of("reduce_min", n, dtype).min(), numbers_of("reduce_max", n, dtype).max()
        assert largest < 0 < smallest, "a start from 0 is found"
        for kernel, right in (("reduce_min", smallest), ("reduce_max", largest)):
            made = plan_for(kernel, n, dtype)
            assert aggregate.check(made, np.array([right])).ok
            wrong = right - 1 if dtype == "int32" else np.nextafter(right, type(right)(0))
            assert not aggregate.check(made, np.array([wrong], right.dtype)).ok


def test_the_vectorized_kernels_differ_in_nothing_but_their_operator():
    lines = [code(f"reduce_{name}_vectorized") for name in ("max", "min", "product")]
    largest, smallest, product = (set(each) for each in lines)
    assert {line.replace("max", "min") for line in largest} == smallest
    assert len(largest - product) <= 6 and len(product - largest) <= 9


def code(kernel: str) -> list[str]:
    """The lines of a kernel without comments and its name."""
    lines = (line.partition("//")[0].strip() for line in KERNELS[kernel].text.splitlines())
    return [line.replace(kernel, "NAME") for line in lines if line]


@pytest.mark.parametrize("bins", [1, 2, 256])
def test_the_histogram_counts_every_value(bins: int):
    for n in (1, 1000, 1_048_600):
        made = plan_for("histogram_shared", n, parameter=bins)
        counts = np.bincount(numbers_of("histogram_shared", n, parameter=bins), minlength=bins).astype(np.int32)
        assert made.result_count == len(counts) == bins and aggregate.check(made, counts).ok
        counts[-1] += 1
        found = aggregate.check(made, counts)
        assert not found.ok and found.error == 1 and f"element {bins - 1}" in found.note


def test_the_counts_start_from_zero_and_the_parameter_is_compiled_in():
    made = plan_for("histogram_warps", 1000, parameter=16)
    zero, launch = made.steps
    assert zero == Zero("out") and isinstance(launch, Launch)
    assert launch.source.defines == (("BLOCK_SIZE", 256), ("BINS", 16))
    assert made.bytes_moved == 4000 and made.grid_size == 4
