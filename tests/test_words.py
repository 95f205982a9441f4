"""Numbers as they are read, and as they are typed."""

from __future__ import annotations

from pathlib import Path
from urllib.error import URLError

import pytest

from engine.records.words import digits, reason_text, size_text, sizes_text, source_lines, text_of, whole_number
from tests.sentences import sentence


@pytest.mark.parametrize(
    ("key", "value", "text"),
    [
        ("time_us", 12.34, "12.3 µs"), ("time_us", 8054.0, "8.05 ms"), ("time_us", 2.5e6, "2.50 s"),
        ("step", 2.333, "2.33×"), ("cumulative", 30.04, "30.0×"), ("percent_of_peak", 96.4, "96.4%"),
        ("percent_of_peak", 0.00032, "< 0.1%"),
        ("bandwidth_gb_s", 1234.5, "1,234"), ("bank_conflicts", 1490000, "1.49 M"), ("barriers", 131592, "131,592"),
        ("time_us", None, ""), ("status", "compile-error", "does not compile"), ("sectors_per_load", 4.0, "4"),
    ],
)  # fmt: skip
def test_numbers_as_a_reader_wants_them(key: str, value: object, text: str) -> None:
    assert text_of(key, value) == text


@pytest.mark.parametrize(("n", "text"), [(2**22, "2^22"), (1000, "1,000"), (512, "512"), (10_000_000, "10,000,000")])
def test_sizes_as_the_lectures_write_them(n: int, text: str) -> None:
    assert size_text(n) == text


@pytest.mark.parametrize(
    ("text", "number"),
    [("1000", 1000), ("4,194,304", 2**22), ("4_194_304", 2**22), ("2^22", 2**22), ("4M", 2**22), ("16k", 2**14),
     (" 1G ", 2**30), ("-3", -3), ("2^0", 1)],
)  # fmt: skip
def test_a_number_as_it_is_typed(text: str, number: int) -> None:
    assert whole_number(text) == number


def test_the_lines_of_a_source_are_those_of_a_compiler() -> None:
    assert source_lines("a\fb\u2028c\x85\r\n\n d") == ["a\fb\u2028c\x85", "", " d"]
    for text in ("", "a", "a\n", "a\n\nb", "\n"):
        assert source_lines(text) == text.splitlines()


def test_a_text_of_digits_alone() -> None:
    assert [digits(text) for text in ("0", "007", "9" * 18)] == [0, 7, 10**18 - 1]
    assert not any(digits(text) for text in ("", "²", "-1", " 1", "1_0", "9" * 19, "9" * 5000))


@pytest.mark.parametrize("text", ["", "many", "2^x", "2^64", "2^-1", "4.5", "M", "4MM"])
def test_a_text_that_is_no_number_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        whole_number(text)


def test_the_reason_of_an_error_is_plain(tmp_path: Path) -> None:
    """No number of the system's, and no path: the sentence has it already."""
    with pytest.raises(OSError) as found:
        tmp_path.read_bytes()
    for error in (found.value, URLError(found.value)):
        assert reason_text(error) == "Is a directory"
    assert reason_text(ValueError("one line\nanother")) == "one line"
    with pytest.raises(UnicodeDecodeError) as undecoded:
        b"ab\xe9".decode()
    assert sentence("words.not-utf-8", reason_text(undecoded.value))
    assert "recursion" not in reason_text(RecursionError("maximum recursion depth exceeded"))


def test_many_sizes_in_few_words() -> None:
    assert sizes_text([256, 1000]) == "256, 1,000" and sizes_text([]) == ""
    assert sizes_text([2**power for power in range(10, 31, 2)]) == "2^10, 2^12, … 2^30"
