"""Answers to the questions of a sheet: the spellings that are read, and those that are not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.sheets.answers import NO_LETTER, NO_NUMBER, answered
from engine.sheets.sheet import Question, Verdict


def question(answer: str | float, *choices: str, tolerance: float = 0.0) -> Question:
    return Question("why", "Why?", "No.", choices, answer, tolerance, "Because.")


NUMBERS = ("16777216", "16,777,216", "16'777'216", "2^24", "2 ** 24", "16M", " 16 777 216 ", "= 2^24", "16777216 bytes",
           "16 MB", "16MiB", "16,777,216 B.", "16777216 passes", "16.777.216", "16.777.216,0", "2²⁴", "16 Mi",
           "1.6777216 * 10^7", "16 megabytes", "about 16777216", "ca. 16777216", "The sum is 16777216.", "16777216!",
           "16777216 (2^24)", "2^24 = 16777216", "2 x 2 x 2^22", "4096 * 4096", "2^32 / 256", "16777216x",
           "a factor of 16777216", "16777216-fold", "16777216 operations per byte")  # fmt: skip


@pytest.mark.parametrize("words", NUMBERS)
def test_a_number_is_read_however_it_is_written(words: str) -> None:
    assert answered(question(16777216.0), words) == Verdict("why", True, "Because.")


@pytest.mark.parametrize(
    ("words", "right"),
    [
        ("66.7 %", True),
        ("66.67", True),
        ("66,7", True),
        ("66,67 %", True),
        ("66.7 percent.", True),
        ("66.7 or 33.3", False),
        ("66.7 (2/3)", False),
        ("not 66.7", False),
        ("66.7 or more", False),
        ("about 67 %", True),
        ("66.7 Prozent", True),
        ("66,700", False),
        ("67", True),
        ("0.667", False),
        ("nan", False),
        ("9" * 5000, False),
        ("1e999", False),
        ("x", False),
    ],
)
def test_a_number_is_right_within_its_tolerance(words: str, right: bool) -> None:
    assert answered(question(66.7, tolerance=0.01), words).passed is right


@pytest.mark.parametrize(("words", "right"), [("b", True), ("B)", True), ("(b)", True), ("a", False), ("both", False),
                                              ("[b]", True), ("two", True), ("b) Two.", True), ("**b**: two", True),
                                              ("b) one", False), ("answer b", True), ("Antwort: B", True),
                                              ("twos", False), ("a, b", False), ("a) or b)", False),
                                              ("a) one, b) two", False), ("The answer is b.", True), ("b!", True),
                                              ("it is b", True), ("= b", True), ("b,", True), ("not b", False),
                                              ("it isn't b", False), ("my answer: a", False), ("b, t", False),
                                              ("i", False)])  # fmt: skip
def test_a_choice_is_its_letter(words: str, right: bool) -> None:
    assert answered(question("b", "one", "two"), words).passed is right


def test_a_choice_may_begin_with_a_word_that_stands_before_letters() -> None:
    assert answered(question("a", "The answer of the GPU.", "Another answer."), "The answer of").passed
    assert (
        answered(question("b", "0", "1"), "b: 1").passed and not answered(question("b", "All", "Allow"), "b, a").passed
    )


def test_the_beginning_of_one_choice_names_it() -> None:
    both = question("b", "None of both: the one.", "None: two.", "Neither.")
    found = [answered(both, words) for words in ("none: two", "none: t", "neither", "none")]
    assert [one.passed for one in found] == [True, True, False, False]
    assert [one.sentence for one in found[2:]] == ["No.", NO_LETTER]


@pytest.mark.parametrize("words", ["8.192", "8,192", "8192", "8 KB", "8 kilobytes", "8192 Byte"])
def test_a_point_before_three_digits_may_part_thousands(words: str) -> None:
    assert answered(question(8192.0), words).passed and not answered(question(8193.0), words).passed
    assert answered(question(8.192), "8.192").passed


@pytest.mark.parametrize(
    ("words", "right"),
    [("12.5", True), ("12,5 %", True), ("0.125", True), ("1/8", True), ("1/8 = 12.5%", True), ("12.5% (4/32)", True),
     ("0.125 %", False), ("0,125", True), ("(1/8)", True), ("8", False), ("1/8 (0.12)", False)],
)  # fmt: skip
def test_a_percentage_may_be_written_as_a_fraction(words: str, right: bool) -> None:
    asked = replace(question(12.5), aim="What percentage of the bytes?")
    assert answered(asked, words).passed is right


@pytest.mark.parametrize(
    "words",
    ["s = 16", "n=16", "exactly 16", "all 16", "I get 16", "16 (all)", "#16", "**16**", "`16`", '"16"', "2^{4}",
     "2^(4)", "1 << 4", "1<<4", "512:32", "512 ÷ 32", "16 32-byte sectors"],
)  # fmt: skip
def test_other_spellings_of_a_number_are_read(words: str) -> None:
    assert answered(question(16.0), words).passed and not answered(question(15.0), words).passed


@pytest.mark.parametrize("words", ["five", "5 or 4", "5 (or not)", "4-5", "5+", "0 of 16", "no idea", "?"])
def test_an_answer_without_one_number_is_told_so(words: str) -> None:
    assert answered(question(5.0), words) == Verdict("why", False, NO_NUMBER)
    assert answered(question(5.0), "4").sentence == "No."


def test_an_answer_without_a_letter_is_told_so() -> None:
    assert answered(question("b", "one", "two"), "both") == Verdict("why", False, NO_LETTER)
    assert answered(question("b", "one", "two"), "a").sentence == "No."


def test_no_answer_is_no_pass() -> None:
    assert answered(question("b", "one", "two"), "  ") == Verdict("why", False, "Not answered yet.")
    assert answered(question(0.0), None).passed is False
