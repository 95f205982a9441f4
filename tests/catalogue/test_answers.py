"""An answer that is an array is kept as what it is: its first elements, the reference's, and where they disagree."""

import numpy as np
import pytest

from engine.backends.measure import with_elements
from engine.catalogue import KERNELS, aggregate, checks, products, topic_of
from engine.plan import plan
from engine.records import Choice
from engine.records.words import wrong_text
from tests.made import measure
from tests.sentences import sentence

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
    found = with_elements(output, topic.check(plan(choice), output))
    assert found.answer == (None,) * 32 and found.off == tuple(range(32))


def test_a_wrong_array_names_its_first_wrong_element_and_shows_those_around_it() -> None:
    expected = np.arange(1000, dtype=np.int32)
    output = expected.copy()
    output[[777, 800, 999]] = -1
    found = with_elements(output, checks.equal(output, expected, ""))
    assert (found.at, found.wrong, found.count, found.result, found.expected) == (777, 3, 1000, -1, 777)
    assert found.begin < 777 < found.begin + len(found.answer) and found.off == (777, 800)
    assert found.answer[777 - found.begin] == -1 and found.first[777 - found.begin] == 777
    assert found.answer[0] == found.first[0] == found.begin
    assert sentence("answer.wrong-array", wrong_text(found))


@pytest.mark.parametrize("at", [0, 5, 31, 32, 990, 999])
def test_the_table_holds_the_first_wrong_element_wherever_it_stands(at: int) -> None:
    expected = np.arange(1000.0)
    output = expected.copy()
    output[at] = np.nan
    found = with_elements(output, checks.equal(output, expected, ""))
    assert (found.at, found.wrong, found.off) == (at, 1, (at,)) and len(found.answer) == 32
    assert found.answer[at - found.begin] is None and found.first[at - found.begin] == at


def test_a_wrong_matrix_names_row_and_column() -> None:
    expected = np.arange(12)
    found = checks.equal(np.where(expected == 7, 0, expected), expected, "", columns=4)
    assert sentence("answer.wrong-matrix", wrong_text(found)) and (found.at, found.wrong) == (7, 1)
    one = checks.equal(np.array([3]), np.array([4]), "")
    assert sentence("answer.wrong-number", wrong_text(one)) and one.at is None


def test_a_sampled_matrix_names_the_row_of_the_whole_matrix() -> None:
    rows, n = np.array([0, 300, 511]), 512
    expected = np.arange(3.0 * n)
    found = products.sampled(checks.equal(np.where(expected == n + 40, 0, expected), expected, "", n), rows, n)
    assert divmod(found.at, n) == (300, 40) and divmod(found.begin, n)[0] == 300 and found.off == (found.at,)
