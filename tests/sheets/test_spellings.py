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
                                              ("i", False), ("it's b", True), ("“b”", True), ("it isn't b", False),
                                              ("b, because two is more", True), ("a, because b", False)])  # fmt: skip
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
    assert answered(replace(both, answer="a"), "a) the one").passed and not answered(both, "b) none of both").passed


@pytest.mark.parametrize("words", ["8.192", "8,192", "8192", "8 KB", "8 kilobytes", "8192 Byte"])
def test_a_point_before_three_digits_may_part_thousands(words: str) -> None:
    assert answered(question(8192.0), words).passed and not answered(question(8193.0), words).passed
    assert answered(question(8.192), "8.192").passed


@pytest.mark.parametrize(
    ("words", "right"),
    [("12.5", True), ("12,5 %", True), ("0.125", True), ("1/8", True), ("1/8 = 12.5%", True), ("12.5% (4/32)", True),
     ("0.125 %", False), ("0,125", True), ("(1/8)", True), ("8", False), ("1/8 (0.12)", False),
     ("an eighth", True), ("4 of 32", True), ("one eighth", True), ("12 1/2", True),
     ("two eighths", False), ("eight", False)],
)  # fmt: skip
def test_a_percentage_may_be_written_as_a_fraction(words: str, right: bool) -> None:
    asked = replace(question(12.5), aim="What percentage of the bytes?")
    assert answered(asked, words).passed is right


@pytest.mark.parametrize(
    "words",
    ["s = 16", "n=16", "exactly 16", "all 16", "I get 16", "16 (all)", "#16", "**16**", "`16`", '"16"', "2^{4}",
     "2^(4)", "1 << 4", "1<<4", "512:32", "512 ÷ 32", "16 32-byte sectors", "0x10", "0b10000", "8 + 8", "4+4+4+4",
     "pow(2,4)", "pow(2, 4)", "2 to the power of 4", "2 to the 4th", "2 hoch 4", "１６", "32⁄2", "(2^4)", "2 * (4 + 4)",
     "sixteen", "Sixteen passes", "it touches 16", "the warp takes 16 passes.", "stride 16", "s is 16", "at s=16",
     "16 of 16", "16 out of the 32", "thirty-two / 2", "15 2/2",
     "(32/8)^2", "(8 / 2)²", "2*(4*2) = 16", "0.016 thousand", "15½ + ½"],
)  # fmt: skip
def test_other_spellings_of_a_number_are_read(words: str) -> None:
    assert answered(question(16.0), words).passed and not answered(question(15.0), words).passed


@pytest.mark.parametrize(
    "words",
    ["5 or 4", "5 (or not)", "4-5", "5+", "no idea", "?", "at most 5", "fewer than five", "no 5", "four or five",
     "under 5 sectors", "minus 5", "x " * 39, "a, " * 26 + "5 or"],
)  # fmt: skip
def test_an_answer_without_one_number_is_told_so(words: str) -> None:
    assert answered(question(5.0), words) == Verdict("why", False, NO_NUMBER)
    assert answered(question(5.0), "4").sentence == "No."


def test_an_answer_without_a_letter_is_told_so() -> None:
    assert answered(question("b", "one", "two"), "both") == Verdict("why", False, NO_LETTER)
    assert answered(question("b", "one", "two"), "a").sentence == "No."


def test_no_answer_is_no_pass() -> None:
    assert answered(question("b", "one", "two"), "  ") == Verdict("why", False, "Not answered yet.")
    assert answered(question(0.0), None).passed is False


@pytest.mark.parametrize("words", ["16, 32", "1, 6", "1 6", "16 million", "16 + 16", "0x16", "pow(4, 3)", "(16 + 1)"])
def test_a_list_or_another_number_is_not_the_number(words: str) -> None:
    assert not answered(question(16.0), words).passed


SECTORS, RATIO = "Ints of 4 bytes: how many sectors does the warp touch?", "How many operations for each byte?"
FACTOR, SHARE, STEP = "By which factor is it less?", "What part, in percent?", "At which s do lanes meet?"


@pytest.mark.parametrize(
    ("aim", "words", "given"),
    [(SECTORS, "16", ""), (SECTORS, "16 sectors", ""), (SECTORS, "16 32-byte sectors", ""),
     (SECTORS, "16 for a warp", ""),
     (SECTORS, "16 sectors of 32 bytes", ""), (SECTORS, "16 transactions", ""), (SECTORS, "16 bytes", "bytes"),
     (SECTORS, "16 %", "percent"), (SECTORS, "16 passes", "passes"), (RATIO, "16 operations per byte", ""),
     (RATIO, "16 per byte", ""), (RATIO, "16 FLOP/byte", ""), (RATIO, "16 bytes per operation", "bytes"),
     (FACTOR, "16 times", ""), (FACTOR, "16x", ""), (FACTOR, "16 %", "percent"), (FACTOR, "16 bytes", "bytes"),
     (SHARE, "16 %", ""), (SHARE, "16 percent of the threads", ""), (SHARE, "16 threads", "threads"),
     (STEP, "s = 16", ""), ("Why?", "16 bytes", "")],
)  # fmt: skip
def test_a_number_of_something_else_is_not_the_answer(aim: str, words: str, given: str) -> None:
    found = answered(replace(question(16.0), aim=aim), words)
    assert found.passed is not bool(given)
    assert not given or f"in {given};" in found.sentence
