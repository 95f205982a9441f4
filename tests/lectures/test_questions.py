"""Every rung of every lecture has a question with one right answer, which is that of the record."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.catalogue import LADDERS
from engine.lectures.questions import BANDS, BadQuestions, edges_of, question_of, questions_in
from tests.views.ladder.test_reveal import LECTURES, all_facts

ENTRY = (
    '[[question]]\nrung = "reduce_strided"\ntext = "Why?"\nchoices = ["One", "Two"]\nanswer = "b"\nbecause = "So."\n'
)


@pytest.mark.parametrize("name", LECTURES)
def test_every_rung_asks_for_what_its_record_says(name: str, tmp_path: Path) -> None:
    ladder = LADDERS[name]
    rows = all_facts(ladder).rows
    for position, row in enumerate(rows):
        asked = question_of(ladder, position, rows, tmp_path)
        assert asked.text.endswith("?") and 0 <= asked.right < len(asked.choices) == len(set(asked.choices))
        if len(asked.choices) == BANDS:
            key = next(key for key in ("step", "percent_of_peak", "time_us") if row[key] and key_of(asked.text) == key)
            edges = edges_of(row[key], [each[key] for each in rows if each[key]])
            assert [edge < row[key] for edge in edges] == [place < asked.right for place in range(BANDS - 1)]
        else:
            assert (row["status"] == "ok") == (asked.right < len(asked.choices) - 1)


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
    assert question_of(ladder, 1, rows, tmp_path).choices == ("One", "Two")
    assert question_of(ladder, 2, rows, tmp_path).text.startswith("How much faster")
    wrong = [ENTRY.replace('"b"', '"c"'), ENTRY.replace("reduce_strided", "x"), ENTRY.replace('text = "Why?"\n', ""),
             ENTRY.replace('"Two"', '"One"'), ENTRY + "hint = 1\n", "[[question"]  # fmt: skip
    for number, text in enumerate(wrong):
        path = tmp_path / f"{number}.toml"
        path.write_text(text)
        with pytest.raises(BadQuestions, match=path.name):
            questions_in(path, kernels)


def test_the_shipped_questions_are_read() -> None:
    for name, ladder in LADDERS.items():
        questions_in(Path(f"questions/{name}.toml").absolute(), tuple(rung.kernel for rung in ladder.rungs))
    assert {path.stem for path in Path("questions").glob("*.toml")} <= set(LADDERS)
