"""Paper against here: every published figure has a line, at its own conditions, with honest blanks."""

import csv
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine.backends import measure as measuring
from engine.catalogue import KERNELS, LADDERS, ladders
from engine.figures.paper import block_panels, speedup_lines
from engine.history import history
from engine.lectures import conditions, paper
from engine.lectures.paper import Numbers
from engine.records import Choice
from tests.made import measure, measured, recorded_kernels

PUBLISHED = Path(ladders.__file__).parent / "published"


def known(line: paper.Line) -> bool:
    return recorded_kernels([replace(line.choice, device="gpu")])


def rows(name: str) -> list[dict[str, str]]:
    lines = [line for line in (PUBLISHED / name).read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def test_every_published_figure_has_a_line():
    lines = [line for name in conditions.published_ladders() for line in paper.lines(LADDERS[name], "emulator")]
    times = rows("published_times.csv")
    cells = [(row["kernel"], size) for row in rows("heidelberg_throughput.csv") for size in row if size.isdigit()]
    assert len(lines) == len(times) + len(cells) and len(times) == 16
    shown = {(line.figure.lecture, line.figure.n, line.published.time_us, line.figure.bandwidth_gb_s) for line in lines}
    for row in times:
        time_us = float(row["time_ms"]) * 1e3 if row["time_ms"] else None
        rate = float(row["bandwidth_gb_s"]) if row["bandwidth_gb_s"] else None
        assert (row["lecture"], int(row["n"]), time_us, rate) in shown


def test_a_line_runs_under_the_conditions_of_its_figure():
    for name in conditions.published_ladders():
        ladder = LADDERS[name]
        for line in paper.lines(ladder, "gpu"):
            assert (line.choice.n, line.choice.dtype) == (line.figure.n, line.figure.dtype)
            assert line.choice.block_size == (line.figure.block_size or ladder.block_size)
            assert (
                line.choice.combine == (line.rung.combine or KERNELS[line.rung.kernel].combines[0])
                and line.choice.grid_size == line.figure.grid_size
            )
            assert line.live is None and (line.rung.stand_in or line.choice.kernel == line.rung.kernel)
            if not known(line):
                continue
            assert line.recorded is not None
            ran = line.recorded.choice
            assert (ran.n, ran.block_size, ran.dtype) == (line.choice.n, line.choice.block_size, line.choice.dtype)
    assert {line.choice.grid_size for line in paper.lines(LADDERS["hekun"], "gpu")} == {None, 32}


def test_the_printed_speedups_stand_and_the_missing_ones_are_computed():
    harris = paper.lines(LADDERS["harris"], "gpu")
    assert [line.published.cumulative for line in harris[1:3]] == [2.33, 4.68]
    assert not any(line.computed for line in harris)
    assert harris[-1].figure.n == 2**25 and harris[-1].published.step is None  # alone under its conditions
    cooper = paper.lines(LADDERS["cooper"], "gpu")
    assert cooper[-1].published.cumulative == pytest.approx(5500 / 80)
    assert cooper[-1].computed == {"step", "cumulative"}
    assert paper.lines(LADDERS["hekun"], "gpu")[-1].published.step == pytest.approx(26.45 / 1.15)


def test_the_recorded_times_stand_beside_with_their_own_speedups():
    lines = paper.lines(LADDERS["harris"], "emulator")
    for before, line in pairwise(line for line in lines[:7] if known(line)):
        assert line.recorded is not None and line.here is line.recorded
        assert line.here_numbers.step == pytest.approx(before.recorded.time_us / line.recorded.time_us)
        assert line.faster == pytest.approx(line.published.time_us / line.recorded.time_us)
    assert lines[0].recorded_numbers.step is None


def test_a_wrong_answer_and_an_unmeasured_one_have_no_number():
    race = paper.lines(LADDERS["cooper"], "emulator")[1]
    assert race.recorded is not None and race.recorded.status == "wrong"
    assert race.here is None and race.here_numbers == Numbers() and race.faster is None
    assert race.published.time_us == 90_000


def test_a_live_run_on_a_gpu_comes_before_the_recorded_one():
    ladder = LADDERS["harris"]
    for line in paper.lines(ladder, "gpu")[:2]:
        timed = measured(line.choice, time_us=10.0, bandwidth_gb_s=1677.7, device={"kind": "gpu", "name": "Test GPU"})
        history.remember(line.choice, timed)
    _, second, third = paper.lines(ladder, "gpu")[:3]
    assert second.here is second.live and second.live_numbers.step == 1.0
    assert second.recorded_numbers.time_us != 10.0
    assert third.live is None and third.here is third.recorded  # and no step between two machines
    assert paper.lines(ladder, "emulator")[0].live is None


def test_the_runs_are_each_asked_for_once():
    for name in conditions.published_ladders():
        asked = [choice for choice, _ in conditions.choices(LADDERS[name], "gpu")]
        assert len(asked) == len(set(asked)) == sum(len(rung.published) for rung in LADDERS[name].rungs)


def test_another_number_of_blocks_is_noted():
    line = paper.lines(LADDERS["hekun"], "gpu")[-1]
    ladder = replace(
        LADDERS["hekun"],
        rungs=(replace(line.rung, published=(replace(line.figure, n=2**22, grid_size=77),)),),
    )
    (other,) = paper.lines(ladder, "gpu")
    assert other.recorded is not None and "instead of 77" in other.note


def test_the_picture_has_the_lectures_line_and_ours():
    figure = speedup_lines(paper.lines(LADDERS["harris"], "emulator"))
    theirs, ours = figure["data"]
    assert theirs["y"] == [1.0, 2.33, 4.68, 8.34, 15.01, 21.16, 30.04]
    new = [not known(line) for line in paper.lines(LADDERS["harris"], "emulator")[:7]]
    assert ours["y"][0] == 1.0 and [y is None for y in ours["y"]] == new
    assert "G80" in str(figure["layout"]["annotations"]) and "recorded" in str(figure["layout"]["annotations"])
    assert all(side != other for side, other in zip(theirs["textposition"], ours["textposition"], strict=True))


def test_cooper_gap_is_a_gap():
    theirs, ours = speedup_lines(paper.lines(LADDERS["cooper"], "emulator"))["data"]
    assert theirs["y"][1] and ours["y"][1] is None


def test_without_times_the_picture_says_so():
    lines = [replace(line, recorded=None, live=None, recorded_numbers=Numbers(), live_numbers=Numbers())
             for line in paper.lines(LADDERS["harris"], "emulator")]  # fmt: skip
    assert "No times here yet" in str(speedup_lines(lines)["layout"])
    assert "No times here yet" in str(block_panels(paper.by_block(lines))["layout"])


def test_heidelbergs_lines_stand_side_by_side():
    table = paper.by_block(paper.lines(LADDERS["heidelberg"], "emulator"))
    figure = block_panels(table)
    assert len(figure["data"]) == 2 * len(table) == 12
    first = figure["data"][0]
    assert first["y"] == [7.39, 12.57, 16.77, 14.67, 12.33, 9.05]
    assert list(table)[4:] == ["#5, here __syncwarp", "#6, here __syncwarp"]  # the slides' own are wrong here
    assert paper.varies_block(LADDERS["heidelberg"]) and not paper.varies_block(LADDERS["harris"])


def test_a_loop_on_the_cpu_is_no_part_of_the_gpus_peak(monkeypatch: pytest.MonkeyPatch):
    card = {"kind": "gpu", "name": "Test GPU", "peak_bandwidth_gb_s": 1000.0}
    monkeypatch.setattr(measuring, "backend_named", lambda kind: SimpleNamespace(describe=lambda: card))
    found = measure(Choice("reduce_scalar", 1000, 256, device="gpu"))
    assert found.status == "ok" and found.rates.percent_of_peak is None
    assert found.time_us is None or found.rates.bandwidth_gb_s
