"""Every rung of every lecture has a question with one right answer, which is that of the record."""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import pairwise
from math import inf
from pathlib import Path

import pytest

from engine.catalogue import LADDERS, Ladder
from engine.lectures import changes
from engine.lectures.questions import BANDS, BadQuestions, edges_of, question_of, questions_in
from engine.records.counters import COUNTERS
from tests.views.ladder.test_reveal import LECTURES, all_facts
from views.ladder.panels import change
from views.ladder.resolve import page_of
from views.ladder.view import Page
from views.shared import rungs

ENTRY = (
    '[[question]]\nrung = "reduce_strided"\ntext = "Why?"\nchoices = ["One", "Two"]\nanswer = "b"\nbecause = "So."\n'
)


def page(ladder: Ladder, position: int) -> Page:
    """The slide as it opens."""
    chosen = {**rungs.own_choices(ladder), "cache": "cold-clean", "combine": "auto", "grid": "auto", "device": "auto",
              "parameter": ""}  # fmt: skip
    return page_of(ladder.name, position, tuple(chosen.items()), "lockstep", True, len(ladder.rungs), "", ())


@pytest.mark.parametrize("name", LECTURES)
def test_every_rung_asks_for_what_its_record_says(name: str, tmp_path: Path) -> None:
    ladder = LADDERS[name]
    rows = all_facts(ladder).rows
    for position, row in enumerate(rows):
        counts, _ = change.counts_of(page(ladder, position))
        asked = question_of(ladder, position, rows, counts, folder=tmp_path)
        assert asked.text.endswith("?") and 0 <= asked.right < len(asked.choices) == len(set(asked.choices))
        if asked.edges:
            key = key_of(asked.text)
            assert len(asked.choices) == BANDS and row[key]
            bands = [-inf, *asked.edges, inf]
            right = [low < row[key] <= high for low, high in pairwise(bands)]
            assert right == [place == asked.right for place in range(BANDS)]
        elif asked.text.startswith("Which"):
            named = {counter.title: name for name, counter in COUNTERS.items()}
            before, after = ([each[named[title]] for title in asked.choices] for each in counts)
            falls = [new < old for old, new in zip(before, after, strict=True)]
            assert falls == [place == asked.right for place in range(BANDS)]
            assert named[asked.choices[asked.right]] == changes.shown_counter(ladder, position)
        else:
            assert (row["status"] == "ok") == (asked.right < len(asked.choices) - 1)


def test_the_right_answers_stand_at_every_place(tmp_path: Path) -> None:
    places: dict[str, Counter[int]] = defaultdict(Counter)
    for name in LECTURES:
        rows = all_facts(LADDERS[name]).rows
        for position in range(len(rows)):
            asked = question_of(LADDERS[name], position, rows, folder=tmp_path)
            places["bands" if asked.edges else "others"][asked.right] += 1
    assert len(places["bands"]) == BANDS and max(places["bands"].values()) < places["bands"].total() / 2


def test_a_rung_about_a_count_asks_which_one_falls(tmp_path: Path) -> None:
    ladder = LADDERS["cs121-banks"]  # its fourth rung has no bank conflicts, and is as fast as the one before
    rows, position = all_facts(ladder).rows, 3
    before = {"bank_conflicts": 9.0, "warp_instructions": 5.0, "branches": 3.0, "atomics": 0.0, "shuffles": 2.0}
    after = before | {"bank_conflicts": 4.0, "branches": 2.0}
    asked = question_of(ladder, position, rows, (before, after), folder=tmp_path)
    assert asked.choices == ("Warp instructions", "Bank conflicts", "Atomics", "Shuffles") and asked.right == 1
    for counts in ((before, before), ({}, {}), (before, {"bank_conflicts": 4.0})):
        assert question_of(ladder, position, rows, counts, folder=tmp_path).edges


def test_bands_that_were_asked_stay_whatever_run_answers_them(tmp_path: Path) -> None:
    ladder = LADDERS["harris"]
    rows = [dict(row) for row in all_facts(ladder).rows]
    asked = question_of(ladder, 2, rows, folder=tmp_path)
    rows[2]["step"] = 100.0
    again = question_of(ladder, 2, rows, edges=asked.edges, folder=tmp_path)
    assert (again.choices, again.right) == (asked.choices, BANDS - 1) and asked.right != again.right


def key_of(text: str) -> str:
    return {"How much f": "step", "How much o": "percent_of_peak", "How long d": "time_us"}[text[:10]]


@pytest.mark.parametrize("value", [0.07, 0.99, 1.0, 1.04, 3, 950])
@pytest.mark.parametrize("others", [[], [1.0], [0.5, 40]])
def test_no_edge_is_near_the_right_value_and_edges_rise(value: float, others: list[float]) -> None:
    edges = edges_of(value, [value, *others])
    assert edges == sorted(set(edges)) and len(edges) == BANDS - 1
    assert all(not 0.96 < edge / value < 1.04 for edge in edges)


def test_a_lecturers_file_comes_first_and_a_wrong_one_is_refused_with_its_place(tmp_path: Path) -> None:
    file, ladder = tmp_path / "harris.toml", LADDERS["harris"]
    rows, kernels = all_facts(ladder).rows, tuple(rung.kernel for rung in ladder.rungs)
    file.write_text(ENTRY)
    assert question_of(ladder, 1, rows, folder=tmp_path).choices == ("One", "Two")
    assert question_of(ladder, 2, rows, folder=tmp_path).text.startswith("How much faster")
    wrong = [ENTRY.replace('"b"', '"c"'), ENTRY.replace("reduce_strided", "x"), ENTRY.replace('text = "Why?"\n', ""),
             ENTRY.replace('"Two"', '"One"'), ENTRY + "hint = 1\n", "[[question"]  # fmt: skip
    for number, text in enumerate(wrong):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        with pytest.raises(BadQuestions, match=path.name):
            questions_in(path, kernels)


@pytest.mark.parametrize("text", ["question = 3", 'question = ["x"]', f"question = {'[' * 9000}"], ids=range(3))
def test_a_file_whose_questions_are_no_tables_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "harris.toml").write_text(text)
    with pytest.raises(BadQuestions, match=r"harris\.toml"):
        questions_in(tmp_path / "harris.toml", ("reduce_strided",))


def test_the_shipped_questions_are_read() -> None:
    for name, ladder in LADDERS.items():
        questions_in(Path(f"questions/{name}.toml").absolute(), tuple(rung.kernel for rung in ladder.rungs))
    assert {path.stem for path in Path("questions").glob("*.toml")} <= set(LADDERS)
