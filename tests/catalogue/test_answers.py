"""An answer that is an array is kept as what it is: its first elements, the reference's, and where they disagree."""

import numpy as np
import pytest

from engine.backends.measure import with_first_elements
from engine.catalogue import KERNELS, checks, topic_of
from engine.catalogue.topics import aggregate
from engine.plan import plan
from engine.records import Choice
from tests.made import measure

FREE_ORDER = {"reserve_buffer", "filter_atomic", "filter_aggregated", "order_place", "atomic_exch", "atomic_cas"}


def measured(kernel: str, n: int = 200, **changes):
    entry = KERNELS[kernel]
    return measure(Choice(kernel, n, 64, dtype=entry.dtypes[0], device="emulator", **changes))


@pytest.mark.parametrize("kernel", ["copy_strided", "warp_prefix_sum", "row_sums", "histogram_shared", "lock_inside"])
def test_an_array_stands_beside_its_reference(kernel: str) -> None:
    found = measured(kernel)
    count = plan(Choice(kernel, 200, 64)).result_count
    assert found.check.count == count and len(found.check.answer) == min(32, count)
    assert found.check.answer == found.check.first and found.check.off == ()


@pytest.mark.parametrize("kernel", sorted(FREE_ORDER))
def test_an_answer_in_any_order_has_no_reference(kernel: str) -> None:
    found = measured(kernel)
    assert found.status == "ok" and len(found.check.answer) == 32 and found.check.first is None


def test_one_number_is_no_array() -> None:
    found = measured("reduce_atomic").check
    assert (found.answer, found.count, found.first) == (None, None, None)


def test_where_they_disagree_is_kept() -> None:
    wanted = np.arange(100)
    got = wanted.copy()
    got[[3, 31, 50]] += 1
    checked = checks.equal(got, wanted, "All.")
    assert checked.off == (3, 31) and checked.first == tuple(range(32)) and not checked.ok
    made = plan(Choice("histogram_global", 1000, 64, parameter=4))
    counts = np.array(measured("histogram_global", 1000, parameter=4).check.answer)
    counts[2] += 1
    assert aggregate.check(made, counts).off == (2,)


def test_what_is_no_number_is_none() -> None:
    topic = topic_of("warp_prefix_sum")
    choice = Choice("warp_prefix_sum", 64, 64, dtype="float32")
    output = np.full(64, np.nan, np.float32)
    found = with_first_elements(output, topic.check(plan(choice), output))
    assert found.answer == (None,) * 32 and found.off == tuple(range(32))
