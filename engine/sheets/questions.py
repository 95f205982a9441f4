"""Answers to a sheet's questions: a letter, or a number in any of the usual ways to write it."""

from __future__ import annotations

from engine.records.words import whole_number
from engine.sheets.sheet import Question, Verdict

_LONGEST = 40  # characters of a number


def answered(question: Question, words: str | None) -> Verdict:
    """The verdict on an answer; None or blank: there is none yet."""
    if words is None or not words.strip():
        return Verdict(question.name, False, "Not answered yet.")
    right = _letter(words) == question.answer if question.choices else _met(question, words)
    return Verdict(question.name, right, question.because if right else question.advice)


def _letter(words: str) -> str:
    """ "B", "b)" and "(b)" are b."""
    return words.strip().strip("().").lower()


def _met(question: Question, words: str) -> bool:
    number = _number(words)
    wanted = float(question.answer)
    return number is not None and abs(number - wanted) <= question.tolerance * abs(wanted)


def _number(words: str) -> float | None:
    """16777216, 16,777,216, 2^24, 16M, 0.5, 50 %, 1e-3; None: no number."""
    plain = words.strip().rstrip("% ")[:_LONGEST]
    for reading in (whole_number, lambda text: float(text.replace(",", ""))):
        try:
            return float(reading(plain))
        except (ValueError, OverflowError):
            continue
    return None
