"""Whether a statement is PTX at all: the number, kinds and widths of its operands, and the labels that it jumps to.

The compiler makes valid PTX, but it passes on the text of an asm statement unread. What is wrong there is said here,
in one sentence, before anything runs; the modules behind rely on it. Opcodes that have no form below are left alone:
whether they are emulated shows when they are executed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Immediate,
    Instruction,
    InvalidPtx,
    Label,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Vector,
    shown,
)

# A form: one letter an operand; what stands behind "?" may be left out.
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "d": ((Register, Sink, Vector), "a register"),
    "p": ((Register, Sink, Pair), "a register or a pair of registers"),
    "v": ((Register, Immediate, Special, Vector), "a register or a number"),
    "s": ((Register, Immediate, Special, Vector, Symbol), "a register, a number or a variable"),
    "a": ((Address,), "an address in square brackets"),
    "l": ((Symbol,), "a label"),
}
# The longest opcode that fits counts.
_FORMS: dict[str, str] = {
    "mov": "ds", "ld": "da?v", "ld.param": "da", "ldu": "da?v", "st": "av?v", "st.param": "av", "red": "av?v",
    "atom": "dav?vv", "cvta": "ds", "isspacep": "dv", "setp": "pvv?v", "bra": "l", "brx": "vl", "exit": "", "trap": "",
    "bar.sync": "v?v", "bar.cta.sync": "v?v", "barrier.sync": "v?v", "barrier.cta.sync": "v?v",
    "bar.arrive": "vv", "bar.cta.arrive": "vv", "barrier.arrive": "vv", "barrier.cta.arrive": "vv",
    "bar.red": "dvv?v", "bar.cta.red": "dvv?v", "barrier.red": "dvv?v", "barrier.cta.red": "dvv?v",
    "bar.warp.sync": "v", "shfl.sync": "pvvvv", "vote.sync": "dvv", "match.any.sync": "dvv", "match.all.sync": "pvv",
    "redux.sync": "dvv", "elect.sync": "pv", "activemask": "d", "cp.async.ca": "aav?vv", "cp.async.cg": "aav?vv",
    "cp.async.wait_group": "v",
}  # fmt: skip
_OTHER_RULES = ("async", "bulk")  # st.async, red.async, …: forms of their own, none of them emulated
_WORDS: dict[str, tuple[str, ...]] = {
    "shfl": ("up", "down", "bfly", "idx"), "vote": ("all", "any", "uni", "ballot"), "red": ("popc", "and", "or"),
}  # fmt: skip
_TYPED = ("mov", "ld", "ldu", "st", "atom", "red", "cvta", "match", "redux")
_BARRIERS = 16
_MOST_THREADS = 1024


def check_instruction(item: Instruction, widths: Sequence[int]) -> None:
    """InvalidPtx where the statement is none, PtxError where its form is not emulated.

    `widths`: bits of the function's registers.
    """
    words = item.words
    if words[0] in ("shfl", "vote") and "sync" not in words:
        clause = f"{item.opcode} does not say which lanes take part, which GPUs since Volta want to know"
        raise PtxError(clause, advice="write the function whose name ends in _sync, such as __shfl_down_sync")
    form = _form(words)
    if form is None or (len(words) > 1 and words[0] != "cp" and words[1] in _OTHER_RULES):
        return
    _check_form(item, form)
    _check_words(item, words)
    if words[0] in _TYPED:
        _check_type(item, words[0], words[-1])
    for operand in item.operands:
        if isinstance(operand, Address) and isinstance(operand.base, Register) and widths[operand.base.index] < 32:
            raise InvalidPtx(f"the address of {item.opcode} is in a register of {widths[operand.base.index]} bits")
    if words[0] in ("bar", "barrier") and "warp" not in words:
        _check_barrier(item)


def _form(words: Sequence[str]) -> str | None:
    for count in range(min(3, len(words)), 0, -1):
        found = _FORMS.get(".".join(words[:count]))
        if found is not None:
            return found
    return None


def _check_form(item: Instruction, form: str) -> None:
    wanted = form.replace("?", "")
    least = form.find("?") if "?" in form else len(wanted)
    given = len(item.operands)
    if not least <= given <= len(wanted):
        count = str(least) if least == len(wanted) else f"{least} to {len(wanted)}"
        noun = "operand" if count == "1" else "operands"
        raise InvalidPtx(f"{item.opcode} takes {count} {noun} and is given {given}")
    for operand, letter in zip(item.operands, wanted, strict=False):
        kinds, name = _KINDS[letter]
        if not isinstance(operand, kinds):
            raise InvalidPtx(f"{item.opcode} wants {name} where {shown(operand)} stands")
        parts = operand.items if isinstance(operand, Vector) else ()
        if any(isinstance(part, Vector | Address | Pair) for part in parts):
            raise InvalidPtx(f"{shown(operand)} is not a list of registers")


def _check_words(item: Instruction, words: Sequence[str]) -> None:
    """The word that says what kind of shuffle, vote or barrier it is."""
    head = "red" if words[0] in ("bar", "barrier") and "red" in words else words[0]
    allowed = _WORDS.get(head, ())
    if not allowed or words[0] == "red":
        return
    at = words.index("red") + 1 if head == "red" else 2
    if len(words) <= at or words[at] not in allowed:
        raise InvalidPtx(f"{item.opcode} does not say which of {', '.join(allowed)} it is")


def _check_type(item: Instruction, head: str, kind: str) -> None:
    bits = WIDTHS.get(kind)
    if bits is None or (bits == 1 and head != "mov"):
        raise InvalidPtx(f"{item.opcode} does not end in a type that {head} takes")
    if bits == 128:
        raise PtxError(f"{item.opcode} moves 128 bits at once, which is not emulated")
    if head == "cvta" and (bits < 32 or len(item.words) < 3 + (item.words[1] == "to")):
        raise InvalidPtx(f"{item.opcode} does not name the space of its address and u32 or u64")
    if head == "mov":
        if bits < 32 and isinstance(item.operands[1], Symbol):
            raise InvalidPtx(f"{item.opcode} cannot hold the address of a variable")
        _check_parts(item, bits)
    elif head in ("ld", "ldu", "st"):
        count = next((int(word[1:]) for word in item.words if word in ("v2", "v4", "v8")), 1)
        data = item.operands[1 if head == "st" else 0]
        given = len(data.items) if isinstance(data, Vector) else 1
        if given != count:
            raise InvalidPtx(f"{item.opcode} moves {count} {'number' if count == 1 else 'numbers'} and names {given}")


def _check_parts(item: Instruction, bits: int) -> None:
    """mov between a register and the registers that its parts go to or come from."""
    vectors = [operand for operand in item.operands if isinstance(operand, Vector)]
    if not vectors:
        return
    count = len(vectors[0].items)
    if len(vectors) > 1 or count not in (2, 4) or bits // count < 8 or bits < 16:
        raise InvalidPtx(f"{item.opcode} cannot take its register apart into {count}")


def _check_barrier(item: Instruction) -> None:
    numbers = item.operands[1:] if "red" in item.words else item.operands
    for operand, name, most in zip(numbers, ("number", "count"), (_BARRIERS - 1, _MOST_THREADS), strict=False):
        if not isinstance(operand, Immediate):
            continue
        if not 0 <= operand.value <= most or operand.bits:
            raise InvalidPtx(f"the {name} of {item.opcode} is at most {most}")
        if name == "count" and operand.value % 32:
            raise InvalidPtx(f"the count of {item.opcode} is a multiple of 32 threads")


def check_targets(body: Sequence[Instruction | Label], tables: Mapping[str, Collection[str]]) -> None:
    """InvalidPtx where a function branches to a label that it does not have."""
    labels = {item.name for item in body if isinstance(item, Label)}
    for item in body:
        if isinstance(item, Label):
            continue
        head = item.opcode.split(".", 1)[0]
        if head not in ("bra", "brx"):
            continue
        target: Operand = item.operands[-1]
        assert isinstance(target, Symbol)  # its form was checked
        names = tables.get(target.name) if head == "brx" else (target.name,)
        lost = target.name if names is None else next((name for name in names if name not in labels), None)
        if lost is not None:
            raise InvalidPtx(f"{item.opcode} goes to the label {lost}, which does not exist", item.line, item.place)
