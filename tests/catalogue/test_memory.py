"""The laws of coalescing, banks and divergence, as the counters of the emulator show them."""

from dataclasses import replace
from math import gcd

import numpy as np
import pytest

from engine.catalogue import KERNELS, data, memory
from engine.catalogue.checks import rule, same_numbers, sums, within
from engine.plan import plan
from engine.records import Choice, Measurement, NotRunnable
from tests.made import measure


def measured(kernel: str, parameter: int | None = None, dtype: str = "int32", n: int = 4096) -> Measurement:
    block_size = 128 if 128 in KERNELS[kernel].block_sizes else KERNELS[kernel].block_sizes[0]
    found = measure(Choice(kernel, n, block_size, dtype=dtype, device="emulator", parameter=parameter))
    assert found.status == "ok", found.reason
    return found


def per_request(found: Measurement, space: str, unit: str) -> float:
    return found.counters[f"{space}_{unit}"] / found.counters[f"{space}_requests"]


@pytest.mark.thorough
@pytest.mark.parametrize("stride", [1, 2, 3, 4, 7, 8, 9, 16, 32])
def test_a_strided_read_touches_a_sector_more_for_every_stride_up_to_one_per_lane(stride: int):
    found = measured("copy_strided", stride)
    assert per_request(found, "global_load", "sectors") == min(4 * stride, 32)
    assert per_request(found, "global_store", "sectors") == 4


@pytest.mark.thorough
@pytest.mark.parametrize("offset", [0, 1, 4, 7, 8, 9, 16, 31, 32])
def test_an_offset_costs_one_sector_unless_it_is_a_whole_sector(offset: int):
    assert per_request(measured("copy_offset", offset), "global_load", "sectors") == 4 + (offset % 8 > 0)


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("stride", range(1, 33))
def test_a_stride_in_shared_memory_takes_as_many_passes_as_it_shares_factors_with_32(stride: int):
    assert per_request(measured("banks_strided", stride, n=256), "shared_load", "wavefronts") == gcd(stride, 32)


@pytest.mark.thorough
@pytest.mark.parametrize("words", [1, 2, 3, 5, 8, 16, 31, 32])
def test_every_different_word_of_a_bank_takes_a_pass_and_the_same_word_is_broadcast(words: int):
    assert per_request(measured("banks_broadcast", words, n=256), "shared_load", "wavefronts") == words


@pytest.mark.thorough
def test_neighbouring_pairs_conflict_in_two_ways_and_pairs_a_block_apart_do_not():
    neighbours, apart = measured("banks_pairs_neighbours"), measured("banks_pairs_apart")
    assert per_request(neighbours, "shared_store", "wavefronts") == 2
    assert per_request(apart, "shared_store", "wavefronts") == 1
    assert per_request(neighbours, "global_load", "sectors") == 2 * per_request(apart, "global_load", "sectors")


def passes(found: Measurement) -> float:
    """How often a warp runs the body of the branches: 32 lanes per warp over the lanes that were active."""
    (counts,) = [line.counters for line in found.counts.lines if "value = value *" in line.text]
    return 32 * counts["warp_instructions"] / counts["thread_instructions"]


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("ways", [1, 2, 3, 4, 7, 16, 31, 32])
def test_a_warp_passes_once_through_every_branch_that_one_of_its_threads_takes(ways: int):
    assert passes(measured("divergence_ways", ways)) == ways
    assert passes(measured("divergence_warps", ways)) == 1


@pytest.mark.thorough
def test_branches_that_whole_warps_take_do_not_diverge():
    assert measured("divergence_warps", 8).counters["divergent_branches"] == 0
    assert measured("divergence_ways", 8).counters["divergent_branches"] > 0
    assert measured("divergence_three").counters["divergent_branches"] == 0  # the compiler selects instead


@pytest.mark.thorough
def test_walking_by_column_touches_32_sectors_and_shared_memory_repairs_it():
    by_row, by_column, staged, padded = (
        measured(kernel, n=128) for kernel in ("column_sums", "row_sums", "row_sums_staged", "row_sums_padded")
    )
    assert per_request(by_row, "global_load", "sectors") == 4
    assert per_request(by_column, "global_load", "sectors") == 32
    assert per_request(staged, "global_load", "sectors") == per_request(padded, "global_load", "sectors") == 4
    assert per_request(staged, "shared_load", "wavefronts") == 32
    assert per_request(padded, "shared_load", "wavefronts") == 1


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("kernel", [k for k in memory.KERNELS if k.parameter], ids=lambda k: k.name)
def test_every_value_of_a_parameter_gives_the_right_answer_and_others_are_refused(kernel):
    choice = Choice(kernel.name, 100, 64, device="emulator")
    values = kernel.parameter.values
    for value in values[:: len(values) // 4]:
        assert measure(replace(choice, parameter=value)).status == "ok"
    with pytest.raises(NotRunnable, match=kernel.parameter.label.split(" (")[0]):
        plan(Choice(kernel.name, 100, 64, parameter=values[-1] + 1))


@pytest.mark.thorough
def test_a_copy_that_misses_one_element_is_wrong():
    for name in ("copy_strided", "copy_offset", "banks_pairs_apart"):
        made = plan(Choice(name, 100, 64))
        right = measured(name, n=100)
        numbers = data.repeated(*memory.input_recipe(made.choice)["in"])
        value = KERNELS[name].parameter.default if KERNELS[name].parameter else 0
        output = numbers[:: max(value, 1)][:100] if name == "copy_strided" else numbers[value : value + 100]
        assert right.check.result == right.check.expected and memory.check(made, output).ok
        broken = output.copy()
        broken[77] += 1
        missed = memory.check(made, broken)
        assert not missed.ok and (missed.result, missed.error) == (broken[77], 1) and "element 77" in missed.note


@pytest.mark.thorough
def test_checks_see_what_is_wrong():
    numbers = np.array([1, 2, 3], np.int32)
    assert same_numbers(numbers[::-1], numbers, "").ok and not same_numbers(numbers, numbers[[0, 0, 2]], "").ok
    assert not within(np.array([np.nan]), np.ones(1), np.ones(1), "").ok
    assert rule(0, 5, "").ok and not rule(1, 5, "").ok and rule(1, 5, "").result == 4
    floats = np.array([0.5, 0.25], np.float32)
    assert sums(np.float32([0.75]), floats, np.array([0.3125]), np.array([0.75]), 1, "").ok
    assert not sums(np.float32([0.7501]), floats, np.array([0.3125]), np.array([0.75]), 1, "").ok
