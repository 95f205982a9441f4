"""Mistakes in what a launch passes: a number for a pointer, another element type, shared memory counted in elements.

wrong_arguments(text, words, "f", ("float *a", "int n"), ("n", "d")) -> a sentence for each argument
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from engine.lab.structures import element_of

_KIND = r"(?:unsigned |signed |const )*(?:float|double|int|unsigned|char|short|long long|long|size_t|bool|u?int\d+_t)"
_POINTER = rf"({_KIND}) ?\* ?(?:\w+ ?(?:= ?[^,;]{{0,80}})?, ?\* ?){{0,8}}{{name}} ?(?=[=;,)])"
_NUMBER = rf"(?<![\w*]){_KIND} (?:\w+ ?(?:= ?[^,;*&()]{{0,80}})?, ?){{0,8}}{{name}} ?(?=[=;,)])"
_DECLARED = r"(?:\w ?[*&] ?|, ?\* ?|\w ){name} ?(?=[=;,)\[])"
_DIGITS = re.compile(r"-?\d[\w.]*")
_END = "nvcc does not compile this launch."


def wrong_arguments(text: str, words: str, kernel: str, written: Sequence[str], given: Sequence[str]) -> Iterator[str]:
    """Return a sentence for each argument of a launch whose type cannot become the parameter's.

    `words`: the host code in one line; `written`: the parameters as the file writes them. Only variables of C's types
    that are declared once count.
    """
    for parameter, each in zip(written, map(str.strip, given), strict=True):
        points = "*" in parameter or "[" in parameter
        element = element_of(text, parameter) if parameter.count("*") < 2 else None
        number = not points and element is not None and element.count == 1 and "&" not in parameter
        name = re.findall(r"\w+", parameter.partition("[")[0])[-1]
        pointed = _pointed(words, each)
        if points and _is_number(words, each):
            yield f"`{each}` is a number, and `{name}` of {kernel} is a pointer: {_END}"
        elif number and pointed:
            yield f"`{each}` is a pointer, and `{name}` of {kernel} is a number: {_END}"
        elif points and pointed and element and (own := element_of(text, f"{pointed} *")) and own.kind != element.kind:
            head = re.split(r"[*\[]", re.sub(r"\b(?:const|volatile)\b", "", parameter))[0]
            wanted = (head if "*" in parameter else head.rpartition(name)[0]).strip()
            yield f"`{each}` points to {pointed}, and `{name}` of {kernel} to {wanted}: {_END}"


def _is_number(words: str, each: str) -> bool:
    if _DIGITS.fullmatch(each):
        return each != "0"
    return each.isidentifier() and _once(words, each, re.findall(_NUMBER.replace("{name}", each), words))


def _pointed(words: str, each: str) -> str | None:
    """Return the type to which an argument points; None: it is no pointer, or the text does not tell."""
    name = each[1:].strip() if each.startswith("&") else each
    if not name.isidentifier():
        return None
    if each.startswith("&"):
        return "a variable" if _is_number(words, name) else None
    found = re.findall(_POINTER.replace("{name}", name), words)
    return found[0].replace("const ", "") if _once(words, name, found) else None


def _once(words: str, name: str, found: Sequence[str]) -> bool:
    """Return whether `found` holds the only declaration of a name."""
    return len(found) == 1 and len(re.findall(_DECLARED.replace("{name}", name), words)) <= 1


def shared_in_elements(text: str, body: str, block: int, size: int) -> str | None:
    """Return a sentence if the third size of a launch has one byte for each of its threads, and the kernel's dynamic
    array has larger elements. `body`: the kernel's."""
    found = re.search(r"\bextern\s+__shared__\s+([^;\[]+?)(\w+)\s*\[", body)
    element = element_of(text, f"{found[1]} *") if found else None
    if found is None or element is None or element.size == 1 or size != block:
        return None
    return (
        f"the third size of a launch is bytes: {size:,} bytes hold {size // element.size:,} elements of `{found[2]}`, "
        f"and the block has {block:,} threads."
    )
