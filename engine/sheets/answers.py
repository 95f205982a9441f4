"""Judge the answer to a question of a sheet: a number or the letter of a choice, in the spellings of students.

answered(question, words) -> Verdict
"""

from __future__ import annotations

import re
from math import isfinite
from unicodedata import normalize

from engine.records.words import whole_number
from engine.sheets.sheet import Question, Verdict

_LONGEST = 80  # characters of a number with its unit
_SUPERSCRIPT = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_BEFORE = r"((?:[#=~≈×][\s.:]*|x(?=[\d.])|[^\W\d_]+[\s.:,]+)*)"  # "about", "the answer is", "it touches"
_DIGITS = r"(?:\d{1,3}(?:[.,'_\s]\d{3})+|\d+)(?:[.,]\d+)?|\.\d+"
_FACTOR = rf"[+-]?(?:{_DIGITS})\.?(?:e[+-]?\d+)?(?:\s*(?:\^|\*\*)\s*\d+)?"
_PRODUCT = rf"{_FACTOR}(?:\s*[*/·×x]\s*{_FACTOR})*"
_TERM = rf"{_PRODUCT}(?:\s*\+\s*{_PRODUCT})*"
_UNIT = r"\s*(?:(k|m|g)(?:i?b?|ilobytes?|egabytes?|igabytes?)\b)?"
_NUMBER = re.compile(rf"{_BEFORE}({_TERM}){_UNIT}(\D*)")
# A term in brackets beside an operator: (4096/16)^3, 2 * (32 * 32).
_BRACKETS = re.compile(rf"(?<=[*/·×x+])\s*\(\s*({_TERM})\s*\)|\(\s*({_TERM})\s*\)(?=\s*[*/·×x^+])")
_UNDECIDED = re.compile(r"\b(?:or|oder|not|nicht|to|bis|and|und|more|less)\b|[?+±]")
_NOT_ITSELF = re.compile(  # before a number: it is another one
    r"\b(?:than|least|most|under|over|below|above|almost|nearly|between|except|without|minus|no|non|never|kein\w*|ohne|"
    r"mehr|weniger|mindestens|höchstens|über|unter|fast|zwischen|außer)\b"
)
_WORDS = re.findall(
    r"\w+", "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen"
)
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_WORDS)} | {"thirty-two": "32", "sixty-four": "64"}
_NUMBER_WORD = re.compile(  # "one" only at the beginning: "each one"
    rf"\b(?:{'|'.join(sorted({*_NUMBER_WORDS} - {'one'}, key=len, reverse=True))})\b(?!-)|^one\b"
)
_PARTS = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "sixteenth": 16}
_OF = re.compile(r"(?<=\d)\s+(?:out\s+)?of\s+(?:the\s+|all\s+)?(\d+)\b(?![\s-]*(?:byte|bit))")
_PART = re.compile(rf"\b(\d+|an?)[\s-]({'|'.join(_PARTS)})s?\b")
_PERCENT = re.compile(r"%|per ?cent|prozent", re.IGNORECASE)
_UNITS = re.compile(
    r"\b(?:bit|byte|sector|warp|thread|lane|block|iteration|instruction|operation|bank|word|second)s?\b"
    r"|\b(?:pass|launch)(?:es)?\b|\b(?:ms|ns|[uµμ]s)\b|%|\bper ?cent\b|\bprozent\b"
)
_BEHIND_UNIT = re.compile(r"\b(?:of|per|for|in|at|from|with)\b|[(=/]|\d-")  # the rest tells more about the unit
# Other spellings of a power, a quotient, a unit and a name before the number, and the one that is read.
_SPELLINGS = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"(?:\bto the (?:power (?:of )?)?|\bhoch )(\d+)(?:th|nd|rd)?\b", r"^\1"),
        (r"\bpow\s*\(\s*(\d+)\s*[,;]\s*(\d+)\s*\)", r"\1^\2"),
        (r"(?<=\d)\s*(?:thousand|tausend)\b", "*10^3"),
        (r"(?<=\d)\s*million(?:en)?\b", "*10^6"),
        (r"(?<=\d)\s*(?:billion|milliarden?)\b", "*10^9"),
        (r"\^\s*[({](\d+)[)}]", r"^\1"),
        (r"\b1\s*<<\s*(\d+)", r"2^\1"),
        (r"(?<=\d)\s*[÷:]\s*(?=\d)", "/"),
        (r"(?<=\d)\s+\d+-(?=(?:byte|bit)\b)", " "),
        (r"\b(\d+)\s+(\d+\s*/\s*\d+)\b", r"\1+\2"),
        (r"(?<=[a-z])\s+of\s+\d+[\s-]*(?:byte|bit)s?\b", ""),
        (r"^(?:(?:at|if|for|when)\s+)?[a-z]\s*[=:]", ""),
    )
)
_OTHER_BASE = re.compile(r"\b0(?:x[0-9a-f]{1,16}|b[01]{1,64})\b")
_PREFIXES = {None: 1, "k": 2**10, "m": 2**20, "g": 2**30}
_DECIMAL_COMMA = re.compile(r"^([+-]?0(?=,)|[+-]?\d+(?:\.\d{3})*(?=,\d{1,2}$)),(\d+)$")  # 0,125 and 66,7, not 66,700
_POINTS = re.compile(r"^[+-]?\d{1,3}(?:\.\d{3})+$")  # 16.777.216
NO_NUMBER = "No number was found in this answer. Write one, such as 12.5, 2^24 or 8 KB."
NO_LETTER = "No choice was found in this answer. Write the letter of one."
_LETTERED = re.compile(r"([a-j])\W+(.+)")
_REASON = re.compile(r"(?<=^[a-j])\W+(?:because|since|as|weil|denn)\b.*")
_BEFORE_LETTER = re.compile(r"^(?:(?:the|my|it['’]?s?|is|i|think|answer|antwort|lösung|choice|option|letter)\b\W*)+")
_LEAST = 4  # letters of a choice's beginning that names it


def answered(question: Question, words: str | None) -> Verdict:
    """Return the verdict on an answer; None or blank: no answer yet."""
    if words is None or not words.strip():
        return Verdict(question.name, False, "Not answered yet.")
    if question.choices:
        letter = _letter(question, words)
        read, right, otherwise = bool(letter), letter == question.answer, NO_LETTER
    else:
        parts = _numbers(words, _PERCENT.search(question.aim) is not None)
        if parts and (other := _other_unit(question.aim, words)):
            return Verdict(question.name, False, f"The answer is in {other[0]}; the question asks for {other[1]}.")
        right = bool(parts) and all(any(_met(question, number) for number in readings) for readings in parts)
        read, otherwise = bool(parts), NO_NUMBER
    return Verdict(question.name, right, question.because if right else question.advice if read else otherwise)


def _other_unit(aim: str, words: str) -> tuple[str, str] | None:
    """Return the unit of an answer and that of the question, if both have one and they differ."""
    behind = aim.lower().partition("how many")[2]
    given = _units(_BEHIND_UNIT.split(words.lower())[0])
    if _PERCENT.search(aim):
        asked = "percent"
    elif not (asked := next(iter(_units(behind)), "")):
        asked = "a factor" if "factor" in aim else ""
    return (given[0], asked) if asked and given and asked not in given else None


def _units(words: str) -> list[str]:
    """Return the known units in a text, in the plural."""
    found = (one[0] for one in _UNITS.finditer(words))
    return ["percent" if _PERCENT.fullmatch(one) else one if one.endswith("s") and one != "pass" else
            f"{one}es" if one in ("pass", "launch") else f"{one}s" for one in found]  # fmt: skip


def _letter(question: Question, words: str) -> str:
    """Return the letter of an answer: "B", "b)", "the answer is b", the choice itself or its beginning, or both as in
    "b) Eight."; "": no letter."""
    whole = _REASON.sub("", _plain(words))
    choices = {letter: _plain(choice) for letter, choice in question.lettered.items()}
    for plain in (whole, _BEFORE_LETTER.sub("", whole)):  # a choice may begin with such a word itself
        both = _LETTERED.fullmatch(plain)
        if both and both[1] in choices:
            rest = _plain(both[2])
            part_of = [each for each in choices if len(rest) >= _LEAST and rest in choices[each]]
            if _begins(choices[both[1]], rest) or part_of == [both[1]]:
                return both[1]
        named = [each for each in choices if choices[each] == plain] or [
            each for each in choices if _begins(choices[each], plain)
        ]
        if plain in choices or len(named) == 1:
            return plain if plain in choices else named[0]
    return ""


def _begins(choice: str, words: str) -> bool:
    return choice == words or (len(words) >= _LEAST and choice.startswith(words))


def _plain(words: str) -> str:
    return " ".join(words.lower().split()).strip("().,;!:=→[]`*\"'“”„‘’ ")


def _met(question: Question, number: float) -> bool:
    wanted = float(question.answer)
    return abs(number - wanted) <= question.tolerance * abs(wanted)


def _numbers(words: str, percent: bool) -> list[set[float]]:
    """Return the readings of a number: 16777216, 16,777,216, 16.777.216, 2^24, 2^(24), 1 << 24, 2 * 32 * 32, 16M, 0,5,
    50 %, 1e-3, 5 sectors, 5 32-byte sectors, 8 KB, about 5, s = 5, 16777216 (2^24), five, 66 2/3, two thirds, 5 of 16:
    a set for each time that it is written. With one point before three digits there are two. `percent`: a number
    without a percent sign may be the fraction. []: no number, or several."""
    plain = re.sub("[⁰¹²³⁴⁵⁶⁷⁸⁹]+", lambda found: "^" + found[0].translate(_SUPERSCRIPT), words.strip().lower())
    plain = re.sub("(?<=[0-9])(?=[¼-¾⅐-⅞])", "+", plain)  # 12½
    plain = normalize("NFKC", plain).replace("⁄", "/").replace("−", "-").strip('*`"=≈~ ')
    plain = plain if ")" in plain[:-1] else plain.lstrip("( ")
    plain = _OTHER_BASE.sub(lambda found: str(int(found[0], 0)), plain)
    plain = _NUMBER_WORD.sub(lambda found: _NUMBER_WORDS[found[0]], plain)
    plain = _PART.sub(lambda found: f"{'1' if found[1][0] == 'a' else found[1]}/{_PARTS[found[2]]}", plain)
    plain = _OF.sub(r"/\1" if percent else "", plain)
    for pattern, read in _SPELLINGS:
        plain = pattern.sub(read, plain)
    while (inner := _BRACKETS.search(plain)) and len(values := _values(inner[1] or inner[2])) == 1:
        plain = f"{plain[: inner.start()]}{values.pop():.17g}{plain[inner.end() :]}"
    plain = plain.rstrip(".!) ")
    found: list[set[float]] = []
    for part in re.split(r"[(=≈]", plain):
        if found and not re.search(r"\d", part) and not _UNDECIDED.search(part):
            continue  # a remark in brackets
        one = _NUMBER.fullmatch(part.strip()) if len(part) <= _LONGEST else None
        if one is None or _UNDECIDED.search(one[4]) or _UNDECIDED.search(one[1]) or _NOT_ITSELF.search(one[1]):
            return []
        values = {value * _PREFIXES[one[3]] for value in _values(one[2])}
        if not values:
            return []
        is_fraction = percent and not _PERCENT.search(one[4])
        found.append(values | {100 * value for value in values} if is_fraction else values)
    return found


def _values(term: str) -> set[float]:
    """Return the values of a sum of products or quotients; of one number with a point before three digits both
    readings."""
    sums = {0.0}
    for product in re.split(r"(?<=[\d.])\s*\+\s*", term):
        first, *others = re.split(r"(?<!\*)\s*([*/·×x])\s*(?!\*)", product.replace("**", "^"))
        values = _readings(first)
        for sign, factor in zip(others[::2], others[1::2], strict=True):
            readings = [by for by in _readings(factor) if by or sign != "/"]
            values = {value / by if sign == "/" else value * by for value in values for by in readings}
        sums = {whole + value for whole in sums for value in values}
    return {value for value in sums if isfinite(value)}


def _readings(factor: str) -> set[float]:
    """Return the values of a number or power without a unit."""
    plain = re.sub(r"[\s'_]", "", factor).rstrip(".")
    found = set[float]()
    if _POINTS.match(plain):
        found.add(float(plain.replace(".", "")))
    if decimal := _DECIMAL_COMMA.match(plain):
        plain = f"{decimal[1].replace('.', '')}.{decimal[2]}"
    for reading in (whole_number, lambda text: float(text.replace(",", ""))):
        try:
            return found | {float(reading(plain))}
        except (ValueError, OverflowError):
            continue
    return found
