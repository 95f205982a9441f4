"""Parse the constants, variables and function signatures of a PTX text."""

from __future__ import annotations

import re
import struct

from engine.backends.emulator.ptx.syntax import WIDTHS, Immediate, InvalidPtx, PtxError, Variable

DECLARED = re.compile(r"\.(b|u|s|f)(8|16|32|64|128)\b|\.(f16x2|bf16x2|bf16|f16|pred)\b")
_ALIGNMENTS = tuple(1 << power for power in range(24))
_MOST_BYTES = 1 << 30  # of one variable
_ARRAY = re.compile(r"([$%\w]+)\s*(?:\[\s*(\d*)\s*\])?$")


def split_at_commas(text: str) -> list[str]:
    """Return the parts of a text between its commas; commas in brackets do not split."""
    if "{" not in text and "(" not in text and "[" not in text:
        return text.split(",")
    parts, depth, start = [], 0, 0
    for position, letter in enumerate(text):
        if letter in "{([":
            depth += 1
        elif letter in "})]":
            depth -= 1
        elif letter == "," and not depth:
            parts.append(text[start:position])
            start = position + 1
    return [*parts, text[start:]]


def split_brackets(text: str) -> tuple[str, str]:
    """Return the text in the round brackets at the start, and the text after them; PtxError if they stay open."""
    depth = 0
    for position, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return text[1:position], text[position + 1 :].strip()
    raise PtxError("a function header does not end")


def whole_number(text: str) -> int:
    """Parse a byte offset or an address. InvalidPtx for a floating constant."""
    value = parse_immediate(text.strip(), 0)
    if value.bits:
        raise InvalidPtx(f"an offset must be a whole number: {text}")
    return value.value


def parse_immediate(text: str, line: int) -> Immediate:
    """Parse a literal. InvalidPtx for more than 64 bits, PtxError for other text; `line`: the .cu line, or 0."""
    value = _parse_number(text, line)
    if not -(1 << 63) <= value.value < 1 << 64:
        raise InvalidPtx(f"this constant has more than 64 bits: {text[:60]}", line)
    return value


def _parse_number(text: str, line: int) -> Immediate:
    try:
        if text[:2] in ("0f", "0F") and len(text) == 10:
            return Immediate(int(text[2:], 16), 32)
        if text[:2] in ("0d", "0D") and len(text) == 18:
            return Immediate(int(text[2:], 16), 64)
        body = text.rstrip("U") if not text.lower().startswith(("0x", "-0x")) else text.rstrip("Uu")
        if re.fullmatch(r"-?0[0-7]+", body):
            return Immediate(int(body, 8))
        if "." in body:
            return Immediate(struct.unpack("<q", struct.pack("<d", float(body)))[0], 64)
        return Immediate(int(body, 0))
    except ValueError:
        raise PtxError(f"this constant is not emulated: {text[:60]}", line) from None


def parse_parameters(text: str) -> tuple[Variable, ...]:
    """Parse the parameters between the brackets of a function header."""
    return tuple(parse_variable(part.strip()) for part in split_at_commas(text) if part.strip())


def parse_signature(text: str) -> tuple[tuple[Variable, ...], str, tuple[Variable, ...]]:
    """Parse `(.param .b32 result) name (.param .b64 first, ...)`: the results, the name or "", the parameters."""
    returns: tuple[Variable, ...] = ()
    params: tuple[Variable, ...] = ()
    if text.startswith("("):
        inside, text = split_brackets(text)
        returns = parse_parameters(inside)
    found = re.match(r"[$%\w]+", text)
    name = found[0] if found else ""
    text = text[len(name) :].strip()
    if text.startswith("("):
        inside, _ = split_brackets(text)
        params = parse_parameters(inside)
    return returns, name, params


def parse_variable(statement: str) -> Variable:
    """Parse a declaration such as `.global .align 4 .b8 name[12] = {...}`. PtxError if malformed or not emulated."""
    head, _, value = statement.partition("=")
    space = re.search(r"\.(global|const|shared|local|param)\b", head)
    align = re.search(r"\.align\s+(\d+)", head)
    kinds = list(DECLARED.finditer(head))
    if not space or not kinds:
        raise PtxError(f"this declaration is not emulated: {statement[:80]}")
    kind = kinds[-1]
    element = (WIDTHS[kind[3]] if kind[3] else int(kind[2])) // 8
    words = re.sub(r"\.ptr\b|\.align\s+\d+", " ", head[kind.end() :]).split()
    named = _ARRAY.search(words[-1]) if words else None
    alignment = int(align[1]) if align else element
    if not named or not element or alignment not in _ALIGNMENTS:
        raise InvalidPtx(f"this declaration cannot be read: {statement[:80]}")
    count = 1 if named[2] is None else int(named[2] or 0)
    if count * element > _MOST_BYTES:
        raise PtxError(f"`{named[1]}` has {count * element:,} bytes; a variable can have {_MOST_BYTES:,} here")
    data, references = _initial(value.strip(), element) if value else (b"", ())
    if (named[2] and len(data) > count * element) or (references and element != 8):
        raise InvalidPtx(f"the initial values of `{named[1]}` do not fit it")
    external, array = ".extern" in head, named[2] is not None
    return Variable(named[1], space[1], count * element, alignment, external, data, references, array)


def _initial(value: str, element: int) -> tuple[bytes, tuple[tuple[int, str], ...]]:
    """Return the initial bytes, and the symbols whose addresses stand among them."""
    parts = split_at_commas(value.strip("{} \n"))
    data = bytearray()
    references: list[tuple[int, str]] = []
    for part in parts:
        part = part.strip().strip("{} ")
        if not part:
            continue
        found = re.match(r"(?:generic\()?([$A-Za-z_][\w$]*)", part)
        if found:
            references.append((len(data), found[1]))
            data += bytes(element)
        else:
            data += (parse_immediate(part, 0).value % (1 << 8 * element)).to_bytes(element, "little")
    return bytes(data), tuple(references)
