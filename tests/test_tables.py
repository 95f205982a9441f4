"""Measurements become tables: units, speedups, the lecture's figures, and nothing where nothing was measured."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from typing import Any

import pytest

from engine.catalogue import LADDERS, TOPICS
from engine.history import tables
from engine.history.history import Known
from engine.history.tables import COLUMNS
from engine.plan import settle
from engine.records import Caveat, Choice, Counts, Measurement, Settled
from tests import made
from views.html.table import ladder_html

HARRIS = LADDERS["harris"]


def measured(kernel: str, time_us: float | None, **changes: Any) -> Measurement:
    rate = None if time_us is None else 2**24 / time_us / 1e3
    return made.measured(
        Choice(kernel, 2**22, 128, device="gpu"), **{"time_us": time_us, "bandwidth_gb_s": rate} | changes
    )


def choices(ladder: str = "harris", **changes: Any) -> list[Settled]:
    entry = LADDERS[ladder]
    values = {"n": entry.n, "block_size": entry.block_size, "dtype": entry.dtype, "device": "gpu"}
    return [settle(Choice(rung.kernel, combine=rung.combine, **values | changes)) for rung in entry.rungs]


@pytest.mark.parametrize("name", LADDERS)
def test_every_ladder_makes_a_table_without_any_measurement(name: str) -> None:
    frame = tables.ladder_table(LADDERS[name], choices(name), [Known()] * len(LADDERS[name].rungs))
    assert list(frame["rung"]) == [rung.label for rung in LADDERS[name].rungs]
    for key in ("time_us", "bandwidth_gb_s", "gflop_s", "step", "cumulative", "percent_of_peak", "bank_conflicts"):
        assert all(value is None for value in frame[key]), key
    assert set(map(str, frame.columns)) <= set(COLUMNS)


def test_step_and_cumulative_speedup() -> None:
    times = [80.0, 40.0, 20.0, None, 5.0] + [None] * (len(HARRIS.rungs) - 5)
    facts = [Known(measured(r.kernel, t)) if t else Known() for r, t in zip(HARRIS.rungs, times, strict=True)]
    frame = tables.ladder_table(HARRIS, choices(), facts)
    assert list(frame["step"][:5]) == [None, 2.0, 2.0, None, None]
    assert list(frame["cumulative"][:5]) == [1.0, 2.0, 4.0, None, 16.0]


def test_the_fastest_library_stands_beside_a_rung_and_whether_its_bits_stay() -> None:
    peers = {"CUB": {"time_us": 9.0, "ratio": 1.8}, "PyTorch": {"time_us": 6.0, "ratio": 1.2}}
    ladder = LADDERS["one-launch"]
    facts = [Known(measured(rung.kernel, 5.0, peers=peers)) for rung in ladder.rungs]
    frame = tables.ladder_table(ladder, choices("one-launch", dtype="float32"), facts)
    assert set(zip(frame["ratio"], frame["library"], strict=True)) == {(1.2, "PyTorch")}
    by_host = [Known(measured(rung.kernel, 5.0, peers=peers, clock="host")) for rung in ladder.rungs]
    assert set(tables.ladder_table(ladder, choices("one-launch"), by_host)["library"]) == {"PyTorch, host's clock"}
    same = dict(zip(frame["kernel"], frame["same_bits"], strict=True))
    assert (same["reduce_warp_shuffle"], same["reduce_vectorized"]) == ("no", "yes")
    page = ladder_html(frame.to_dict("records"), "bandwidth_gb_s", 0, False, {"times": "", "counters": ""})
    assert page.count("<small>PyTorch</small>") == len(ladder.rungs) and "Same bits" in page
    whole = tables.ladder_table(ladder, choices("one-launch"), [Known()] * len(ladder.rungs)).to_dict("records")
    page = ladder_html(whole, "bandwidth_gb_s", 0, False, {"times": "", "counters": ""})
    assert "Same bits" not in page and "Of library" not in page, "nothing to tell"


def test_no_speedup_between_two_devices() -> None:
    other = {"kind": "gpu", "name": "another GPU"}
    facts = [Known(measured("reduce_interleaved", 80.0)), Known(measured("reduce_strided", 8.0, device=other))]
    facts += [Known()] * (len(HARRIS.rungs) - 2)
    frame = tables.ladder_table(HARRIS, choices(), facts)
    assert frame["step"][1] is None and frame["cumulative"][1] is None


def test_a_failed_rung_has_a_sentence_and_no_number_but_the_recorded_one() -> None:
    wrong = measured("reduce_interleaved", None, status="wrong", reason="Seen: 1, not 2.")
    recorded = measured("reduce_interleaved", 80.0, origin="recorded")
    for known, time_us in ((Known(wrong), None), (Known(wrong, recorded), 80.0)):
        frame = tables.ladder_table(HARRIS, choices(), [known] + [Known()] * (len(HARRIS.rungs) - 1))
        row = frame.to_dict("records")[0]
        assert (row["status"], row["reason"], row["time_us"]) == ("wrong", wrong.reason, time_us)
        assert ("recorded" in str(row["origin"])) == (time_us is not None)


def test_speedups_of_a_ladder_that_begins_with_a_race_count_from_the_first_right_rung() -> None:
    rungs = LADDERS["all-reduction"].rungs
    racy = next(i for i, rung in enumerate(rungs) if rung.kernel == "reduce_racy")
    ladder = replace(LADDERS["all-reduction"], rungs=rungs[racy:])
    nothing = [Known()] * len(ladder.rungs)
    baseline = tables.baseline_of(ladder, nothing, len(rungs) - racy - 1)
    assert baseline is not None and ladder.rungs[baseline].kernel == "reduce_atomic"
    assert tables.baseline_of(HARRIS, [Known()] * len(HARRIS.rungs), 3) == 0
    assert tables.baseline_of(HARRIS, [Known(measured("reduce_interleaved", None, status="wrong")),
                                       *[Known()] * (len(HARRIS.rungs) - 1)], 3) == 1  # fmt: skip


@pytest.mark.parametrize(
    ("ladder", "cumulative", "step"),
    [
        ("hekun", [False, True, True, True], [False, False, True, True]),  # the CPU's loop is alone
        # a chain for every thread is other work
        ("cs121-latency", [*[True] * 5, False], [False, *[True] * 4, False]),
        ("cs121-divergence", [False, True, True], [False, False, True]),
        ("crovella-warps", [*[False] * 4, *[True] * 3], [*[False] * 5, *[True] * 2]),
    ],
)
def test_speedups_are_of_the_same_work_on_the_same_processor(
    ladder: str, cumulative: list[bool], step: list[bool]
) -> None:
    rungs = LADDERS[ladder].rungs
    facts = [Known(measured(rung.kernel, 10.0)) for rung in rungs]
    frame = tables.ladder_table(LADDERS[ladder], choices(ladder), facts)
    assert [value is not None for value in frame["cumulative"]] == cumulative
    assert [value is not None for value in frame["step"]] == step
    assert "1.0" in tables.frame_csv(frame) and all(value in (None, 1.0) for value in frame["cumulative"])


def test_the_lectures_figures_stand_beside_ours() -> None:
    frame = tables.ladder_table(HARRIS, choices(), [Known()] * len(HARRIS.rungs))
    first, second = frame.to_dict("records")[:2]
    assert first["lecture_time_us"] == pytest.approx(8054)
    assert second["lecture_step"] == pytest.approx(2.33)
    assert first["lecture_origin"] == "G80 (2007), N = 2^22, 128 threads, int32"


def test_the_lectures_figure_is_the_one_for_the_chosen_block_size() -> None:
    rung = LADDERS["heidelberg"].rungs[0]
    for block_size, bandwidth in ((32, 7.39), (1024, 9.05)):
        figure = tables.published_for(rung, choices("heidelberg", block_size=block_size)[0])
        assert figure is not None and figure.bandwidth_gb_s == bandwidth


def test_marks_are_the_peak_and_the_median_peer_of_one_gpu() -> None:
    def known(time_us: float, cub: float, name: str = "NVIDIA H200") -> Known:
        device = {"kind": "gpu", "name": name, "peak_bandwidth_gb_s": 4800.0}
        return Known(measured("reduce_strided", time_us, device=device, peers={"CUB": {"time_us": cub}}))

    topic = TOPICS["reduction"]
    marks = tables.marks(topic, [known(20, 10), known(10, 10), Known()])
    assert marks == {"Memory peak": 4800.0, "CUB": pytest.approx(2**24 / 10 / 1e3)}
    peers = {"CUB": {"time_us": 10.0}, "CUB by nvcc": {"time_us": 10.1}, "PyTorch": {"time_us": 20.0}}
    marks = tables.marks(topic, [Known(measured("reduce_strided", 20.0, peers=peers))])
    assert list(marks) == ["Memory peak", "CUB", "PyTorch"], "two lines on each other are one"
    assert tables.marks(topic, [known(20, 10), known(10, 10, "another")]) == {}
    assert tables.marks(topic, [Known()]) == {}


def test_csv_has_units_in_its_headings_and_empty_cells_for_missing_values() -> None:
    text = tables.csv_of(
        [measured("reduce_strided", 12.5), measured("reduce_racy", None, status="wrong", reason="No.")]
    )
    good, wrong = csv.DictReader(io.StringIO(text))
    assert good["Time (µs)"] == "12.5" and good["Origin"] == "NVIDIA H200, live"
    assert wrong["Time (µs)"] == "" and wrong["Correct?"] == "wrong" and wrong["Why"] == "No."


def test_the_csv_names_the_parameter_and_the_grid_that_was_asked_for() -> None:
    runs = [
        measured("banks_strided", 5.0, parameter=8, n=1024, block_size=256, grid_size=4),
        measured("reduce_warp_shuffle", 5.0, grid_asked=64, grid_size=64, n=2**22, block_size=256),
    ]
    stride, grid = csv.DictReader(io.StringIO(tables.csv_of(runs)))
    assert (stride["Parameter"], stride["Blocks"], stride["Blocks asked for"], stride["Elements per thread"]) == (
        "8", "4", "", ""
    )  # fmt: skip
    assert (grid["Parameter"], grid["Blocks asked for"], grid["Elements per thread"]) == ("", "64", "256")


def test_the_csv_of_a_ladder_tells_our_time_from_the_lectures() -> None:
    frame = tables.ladder_table(HARRIS, choices(), [Known()] * len(HARRIS.rungs))
    heads = tables.frame_csv(frame).splitlines()[0].split(",")
    assert "Time (µs)" in heads and "Lecture: Time (µs)" in heads and len(heads) == len(set(heads))


def test_heidelbergs_last_columns() -> None:
    cells = {("a", 32): 1.0, ("a", 64): 3.0, ("b", 32): None, ("b", 64): None}
    most = tables.sweep_table(["a", "b"], [32, 64], cells, smallest=False).to_dict("records")
    assert (most[0]["best_block_size"], most[0]["best_value"]) == (64, 3.0)
    assert (most[1]["best_block_size"], most[1]["best_value"]) == (None, None)
    least = tables.sweep_table(["a"], [32, 64], cells, smallest=True).to_dict("records")
    assert least[0]["best_block_size"] == 32


def test_counts_that_differ_on_a_gpu_are_marked() -> None:
    plain = made.measured(Choice("reduce_interleaved", 4096, 128, device="gpu"))
    counted = Counts({"barriers": 12, "warp_instructions": 99}, caveats=(Caveat(5, "Line 5: it waits."),))
    facts = [Known(live=replace(plain, counts=counted, timing=None)), Known(live=replace(plain, counts=Counts({})))]
    frame = tables.ladder_table(HARRIS, choices(), [*facts, *[Known()] * (len(HARRIS.rungs) - 2)])
    rows = frame.to_dict("records")
    assert rows[0]["caveats"] == "Line 5: it waits." and rows[1]["caveats"] is None and rows[2]["caveats"] is None
    assert tables.counted_text(rows[0], "barriers") == "≈ 12"
    assert tables.counted_text(rows[1], "barriers") == ""


@pytest.mark.parametrize("changes", [{"n": 2**30}, {"n": 1}, {"block_size": 256}, {"dtype": "float64"}])
def test_a_published_figure_stands_beside_its_own_conditions_only(changes: dict[str, Any]) -> None:
    rung = HARRIS.rungs[0]
    assert tables.published_for(rung, choices()[0]) is not None
    assert tables.published_for(rung, choices(**changes)[0]) is None
