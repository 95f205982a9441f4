"""Atomics, places, shuffles and prefix sums: what holds in every order of the threads."""

from dataclasses import replace

import numpy as np
import pytest

from engine.catalogue import KERNELS, atomic_checks, atomics, data, default_choice
from engine.plan import plan
from engine.records import Choice, Launch, Measurement, NotRunnable
from tests.made import measure
from tests.sentences import refused

pytestmark = pytest.mark.thorough


def measured(kernel: str, n: int = 4096, parameter: int | None = None, dtype: str = "int32") -> Measurement:
    found = measure(Choice(kernel, n, 128, dtype=dtype, device="emulator", parameter=parameter))
    assert found.status == "ok", found.reason
    return found


@pytest.mark.parametrize("addresses", [1, 2, 8, 32, 1024, 2**20])
def test_lanes_meet_at_an_address_as_often_as_the_addresses_are_fewer_than_the_lanes(addresses: int):
    for kernel in ("atomic_add", "atomic_max", "atomic_exch", "atomic_cas"):
        assert measured(kernel, parameter=addresses).counters["atomic_max_contention"] == max(1, 32 // addresses)


def test_compare_and_swap_tries_again_where_threads_meet_and_the_native_atomic_does_not():
    assert measured("atomic_add", 1024, 64, "float64").counters["atomics"] == 1024 // 32
    tries = [measured("atomic_add_cas", 1024, addresses, "float64").counters["atomics"] for addresses in (1024, 64, 16)]
    assert tries[0] >= 1024 // 32 and tries[0] < tries[1] < tries[2]


@pytest.mark.parametrize("dtype", ["int32", "float32", "float64"])
def test_the_built_atomic_gives_what_the_native_one_gives(dtype: str):
    native, built = (measured(k, 2000, 32, dtype) for k in ("atomic_add", "atomic_add_cas"))
    assert abs(native.check.result - built.check.result) <= native.check.error_bound + built.check.error_bound


def test_too_many_tries_are_refused_with_a_way_out():
    choice = replace(default_choice("atomic_add_cas"), n=2**20, parameter=1, device="emulator")
    with refused("catalogue.too-many-tries", NotRunnable):
        plan(choice)
    plan(replace(choice, parameter=2**20))
    plan(replace(choice, kernel="atomic_add"))


@pytest.mark.parametrize("name", [kernel.name for kernel in atomics.KERNELS if kernel.parameter])
def test_every_parameter_runs_at_both_ends(name: str):
    for n in (5, 1000):
        for value in (KERNELS[name].parameter.values[0], KERNELS[name].parameter.values[-1]):
            assert measured(name, n, value).choice.parameter == value


def test_aggregating_leaves_one_lane_per_warp_at_the_counter():
    one_each, aggregated = measured("filter_atomic"), measured("filter_aggregated")
    assert one_each.counters["atomic_max_contention"] > 8
    assert aggregated.counters["atomic_max_contention"] == 1
    assert aggregated.counters["shuffles"] == 4096 // 32


def test_a_prefix_sum_in_a_warp_takes_five_shuffles():
    assert measured("warp_prefix_sum").counters["shuffles"] == 5 * 4096 // 32


def test_the_prefix_sum_of_the_grid_scans_the_block_sums_until_one_block_is_left():
    made = plan(Choice("grid_prefix_sum", 100_000, 32))
    launches = [step for step in made.steps if isinstance(step, Launch)]
    assert [launch.kernel for launch in launches] == ["grid_prefix_sum"] * 4 + ["add_block_sums"] * 3
    assert [launch.grid[0] for launch in launches] == [3125, 98, 4, 1, 4, 98, 3125]


NUMBERS = data.period("int32", 3)[:50].copy()


def test_an_order_with_a_place_twice_is_wrong():
    places = np.random.default_rng(1).permutation(50).astype(np.int32)
    assert atomic_checks.places(places).ok
    places[7] = places[8]
    assert not atomic_checks.places(places).ok


def test_a_buffer_is_packed_in_any_order_of_threads_but_not_with_a_hole_a_mixture_or_a_thread_missing():
    sizes = atomic_checks.sizes(NUMBERS)
    owners = np.random.default_rng(2).permutation(50)
    buffer = np.concatenate([4 * i + np.arange(sizes[i]) for i in owners]).astype(np.int32)
    assert atomic_checks.packed(NUMBERS, buffer).ok
    assert buffer[-1] % 4, "the roll would move a thread's only number"
    assert not atomic_checks.packed(NUMBERS, np.roll(buffer, 1)).ok
    for at in range(len(buffer)):
        broken = buffer.copy()
        broken[at] ^= 4
        assert not atomic_checks.packed(NUMBERS, broken).ok
    poisoned = np.full(len(buffer), -1515870811, np.int32)
    assert not atomic_checks.packed(NUMBERS, poisoned).ok


def test_an_exchange_that_loses_a_number_is_wrong():
    n, addresses = len(NUMBERS), 4
    places, taken = np.zeros(addresses, np.int32), np.zeros(n, np.int32)
    for i in np.random.default_rng(3).permutation(n):  # any order of the threads is legal
        taken[i], places[i % addresses] = places[i % addresses], NUMBERS[i]
    output = np.concatenate([taken, places])
    assert atomic_checks.exchanged(NUMBERS, output, addresses).ok
    output[np.flatnonzero(output)[5]] = 0
    assert not atomic_checks.exchanged(NUMBERS, output, addresses).ok


@pytest.mark.parametrize("kernel", ["order_place", "reserve_buffer", "filter_atomic"])
def test_what_the_threads_write_is_counted_by_periods(kernel: str):
    for n in (1, 1000, data.PERIOD, data.PERIOD + 7, 3 * data.PERIOD - 1):
        numbers = data.repeated(data.period("int32", 5), n)
        each = {"order_place": n, "reserve_buffer": (1 + (numbers & 3)).sum(), "filter_atomic": (numbers > 0).sum()}
        assert atomic_checks.produced(kernel, "int32", 5, n) == each[kernel]


@pytest.mark.parametrize("addresses", [1, 7, 32, 64])
def test_every_address_is_judged_by_its_own_numbers(addresses: int):
    by_hand = [NUMBERS[address::addresses] for address in range(addresses)]
    sums = np.array([numbers.sum() for numbers in by_hand], np.int32)
    least = np.array([min(0, *numbers, 0) for numbers in by_hand], np.int32)
    mixed = np.array([np.bitwise_xor.reduce(numbers) if len(numbers) else 0 for numbers in by_hand], np.int32)
    flags = np.array([~sum({1 << (int(number) & 31) for number in numbers}) for numbers in by_hand]).astype(np.int32)
    right = (
        (sums, lambda found: atomic_checks.sums_by_address(NUMBERS, found, addresses, 1)),
        (least, lambda found: atomic_checks.combined_by_address(NUMBERS, found, addresses, np.minimum)),
        (mixed, lambda found: atomic_checks.combined_by_address(NUMBERS, found, addresses, np.bitwise_xor)),
        (flags, lambda found: atomic_checks.cleared(NUMBERS, found, addresses)),
    )
    for expected, judge in right:
        assert judge(expected).ok
        broken = expected.copy()
        broken[-1] ^= 1
        assert not judge(broken).ok


def test_numbers_beyond_two_to_the_24_are_taken_and_the_largest_places_fit_their_type():
    topic = atomics.TOPIC
    passes = ("prefix_sum_lookback", "prefix_sum_specialized", "filter_lookback", "filter_specialized")
    for name in (*passes, "max_vectorized", "reserve_buffer", "order_place"):
        assert plan(Choice(name, topic.max_n, 128, device="gpu")).bytes_moved >= 4 * 2**28
    assert 4 * topic.max_n + 3 < 2**31  # what reserve_buffer writes
    with pytest.raises(NotRunnable, match="too large"):
        plan(Choice("order_place", topic.max_n + 1, 128, device="gpu"))


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("block_size", [32, 256, 1024])
def test_threads_that_add_up_first_meet_the_same_addresses_in_every_round(block_size: int, dtype: str):
    for n in (1, 1000, 2**20, 2**24 + 3, 2**28):
        for addresses in (1, 32, 4096, 2**20):
            choice = Choice("atomic_add_aggregated", n, block_size, dtype=dtype, device="gpu", parameter=addresses)
            together = plan(choice).grid_size * block_size * 16 // np.dtype(dtype).itemsize
            assert together % addresses == 0 or together >= n


def test_a_place_that_two_threads_won_or_nobody_is_wrong():
    n, addresses = 50, 64
    won, places = np.ones(n, np.int32), np.zeros(addresses, np.int32)
    places[:n] = np.arange(n) + 1
    assert atomic_checks.taken(np.concatenate([won, places]), n, addresses).ok
    for at, value in ((3, 0), (n + 3, 0), (n + 3, 5), (n + 60, 61), (n + 3, 1000)):
        broken = np.concatenate([won, places])
        broken[at] = value
        assert not atomic_checks.taken(broken, n, addresses).ok, (at, value)
    both = np.concatenate([np.ones(8, np.int32), np.arange(1, 5, dtype=np.int32)])  # 8 threads, 4 places, all say won
    assert not atomic_checks.taken(both, 8, 4).ok


def test_prefix_sums_and_filters_that_miss_one_number_are_wrong():
    exact = np.cumsum(NUMBERS).astype(np.int32)
    assert atomic_checks.prefix_sums(NUMBERS, exact, 50, 1).ok
    assert not atomic_checks.prefix_sums(NUMBERS, exact, 32, 1).ok
    kept = NUMBERS[NUMBERS > 0]
    assert atomic_checks.kept(NUMBERS, kept[::-1].copy()).ok
    assert not atomic_checks.kept(NUMBERS, np.append(kept[1:], kept[1])).ok


@pytest.mark.parametrize("dtype", ["int32", "float64"])
@pytest.mark.parametrize("block_size", [32, 256, 1024])
def test_blocks_that_have_their_addresses_to_themselves_cover_them_once(block_size: int, dtype: str) -> None:
    for n in (1, 1000, 2**20, 2**24 + 3, 2**28):
        for addresses in (1, 32, 4096, 2**20):
            made = plan(Choice("add_without_atomics", n, block_size, dtype=dtype, device="gpu", parameter=addresses))
            (launch,) = made.steps
            columns = dict(launch.source.defines)["LANES"] * 16 // np.dtype(dtype).itemsize
            pieces, strips, _ = launch.grid
            assert pieces * columns == max(addresses, columns)
            assert strips == 1 or min(columns, addresses) <= block_size, "a thread for each sum that is taken over"
