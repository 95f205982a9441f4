"""PTX text -> a Module of the reference interpreter: every instruction a closure over one thread's registers."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.backends.emulator.oracle_arithmetic import Registers, atomic, computed, reader, width_of, writer

WINDOWS = {"shared": 1 << 32, "local": 2 << 32}
CODE = 3 << 32  # the targets of function pointers


class Unknown(Exception):
    """An instruction that the reference interpreter does not know."""


class Fault(Exception):
    """An address outside every buffer, or not a multiple of the access size."""


@dataclass(eq=False)
class Instruction:
    """`target`: of a branch; `action`: the effect of a straight-line instruction."""

    opcode: str
    operands: list[str]
    guard: tuple[str, bool] | None
    kind: str = "do"
    target: Any = None
    action: Callable[[Registers], Any] | None = None


@dataclass
class Function:
    """Code and layout of a kernel or device function."""

    params: list[tuple[str, int]]
    returns: list[str]
    code: list[Instruction] = field(default_factory=list)
    widths: dict[str, int] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)


class Memory:
    """Buffers by the high half of the address; shared and local memory of the running thread in their windows."""

    def __init__(self, buffers: Sequence[bytearray]) -> None:
        self.spaces: dict[int, bytearray] = {number + 16: buffer for number, buffer in enumerate(buffers)}

    def add(self, data: bytearray) -> int:
        """Return the address of new global memory."""
        number = 16 + len(self.spaces)
        self.spaces[number] = data
        return number << 32

    def at(self, address: int, size: int) -> tuple[bytearray, int]:
        """Return the buffer and the offset of an access."""
        data, offset = self.spaces.get(address >> 32, bytearray()), address & 0xFFFFFFFF
        if offset + size > len(data):
            raise Fault(f"address {address:#x}")
        if offset % size:
            raise Fault(f"address {address:#x} is not a multiple of {size}")
        return data, offset


class Module:
    """Parsed PTX, compiled to closures over a thread's registers."""

    def __init__(self, text: str) -> None:
        text = re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)
        text = re.sub(r"^\s*\.(loc|file|version|target|address_size|pragma)\b[^\n]*", "", text, flags=re.M)
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, tuple[str, int, bytes]] = {}
        names = dict.fromkeys(re.findall(r"\.func\s*(?:\([^)]*\))?\s*([$\w]+)", text))
        self.addresses = {name: CODE + 16 * number for number, name in enumerate(names)}
        head = re.compile(r"\.(?:entry|func)\s*(\([^)]*\))?\s*([$\w]+)\s*(\([^)]*\))?[^{;]*([{;])")
        place = 0
        while found := head.search(text, place):
            self._variables(text[place : found.start()])
            if found[4] == ";":
                place = found.end()
                continue
            end = _matching(text, found.end())
            self.functions[found[2]] = self._function(found[1] or "", found[3] or "", text[found.end() : end])
            place = end
        self._variables(text[place:])

    # ---- reading

    def _variables(self, text: str) -> None:
        kind = r"\.(global|const|shared)\s+(?:\.align\s+\d+\s+)?\.[busf](\d+)"
        pattern = kind + r"\s+([$\w]+)(?:\[(\d*)\])?\s*(?:=\s*([^;]*))?;"
        for space, bits, name, count, value in re.findall(pattern, text):
            size = int(bits) // 8
            words = re.findall(r"-?[$\w]+", value)
            numbers = [self.addresses[word] if word in self.addresses else _number(word) for word in words]
            data = b"".join((number % (1 << 8 * size)).to_bytes(size, "little") for number in numbers)
            self.variables[name] = (space, size * int(count or 1), data)

    def _function(self, returns: str, params: str, body: str) -> Function:
        sizes = []
        for part in filter(str.strip, params.strip("() ").split(",")):
            bits, name = re.search(r"\.[busf](\d+)", part), re.search(r"([$\w]+)(?:\[(\d+)\])?\s*$", part)
            assert bits and name
            sizes.append((name[1], int(bits[1]) // 8 * int(name[2] or 1)))
        made = Function(sizes, re.findall(r"([$\w]+)(?:\[\d+\])?\s*\)", returns))
        labels: dict[str, int] = {}
        tables: dict[str, list[str]] = {}
        scopes: list[dict[str, str]] = [{}]
        label = ""
        for statement in _statements(body):
            if ".callprototype" in statement:
                continue
            if statement == "{":
                scopes.append({})
            elif statement == "}":
                scopes.pop()
            elif statement.endswith(":"):
                label = statement[:-1]
                labels[label] = len(made.code)
            elif statement.startswith(".branchtargets"):
                tables[label] = [name.strip() for name in statement[14:].split(",")]
            elif statement.startswith("."):
                self._declare(statement, made, scopes)
            else:
                made.code.append(_instruction(statement, scopes))
        for item in made.code:
            self._prepare(item, made, labels, tables)
        return made

    def _declare(self, statement: str, made: Function, scopes: list[dict[str, str]]) -> None:
        if statement.startswith(".reg"):
            kind, names = re.match(r"\.reg\s+\.(\w+)\s+(.*)", statement, re.S).groups()  # type: ignore[union-attr]
            for name in names.split(","):
                base, many = re.match(r"\s*([%$\w]+)(?:<(\d+)>)?", name).groups()  # type: ignore[union-attr]
                for each in [f"{base}{number}" for number in range(int(many))] if many else [base]:
                    own = each if len(scopes) == 1 else f"{each}@{len(made.widths)}"
                    scopes[-1][each] = own
                    made.widths[own] = width_of(kind)
        elif found := re.match(r"\.local\s+(?:\.align\s+(\d+)\s+)?\.[busf](\d+)\s+([$\w]+)\[(\d+)\]", statement):
            made.local[found[3]] = int(found[2]) // 8 * int(found[4])
        else:
            self._variables(statement + ";")

    def _prepare(
        self, item: Instruction, function: Function, labels: dict[str, int], tables: dict[str, list[str]]
    ) -> None:
        head, *words = item.opcode.split(".")
        operands = item.operands
        if head == "bra":
            item.kind, item.target = "jump", labels[operands[0]]
        elif head == "brx":
            item.kind, item.target = "switch", [labels[name] for name in tables[operands[1]]]
            item.action = reader(operands[0], "u32", function.widths)
        elif head in ("ret", "exit", "trap"):
            item.kind = head
        elif head in ("bar", "barrier") and "warp" not in words:
            item.kind = "barrier"
        elif (head in ("shfl", "vote", "match", "redux") and "sync" in words) or item.opcode == "bar.warp.sync":
            item.kind = "warp"
            item.action = _payload(item, function.widths)
        elif head == "call":
            item.kind = "call"
            called = next(text for text in operands if not text.startswith("("))
            item.action = reader(called, "u64", function.widths) if called in function.widths else lambda _: called
        elif head in ("ld", "st", "atom", "red", "cvta"):
            item.action = getattr(self, "_" + ("atom" if head == "red" else head))(item, words, function)
        elif head in ("membar", "fence", "nanosleep", "prefetch") or item.opcode.startswith(
            ("cp.async.commit", "cp.async.wait")
        ):
            item.action = lambda registers: None
        elif item.opcode.startswith("cp.async.") and "bulk" not in words:
            item.action = self._copy(operands, function)
        elif head == "mov" and operands[1] not in function.widths and re.match(r"[A-Za-z_$]", operands[1]):
            write, name = writer(operands[0], words[-1], function.widths), operands[1]
            item.action = lambda registers: write(registers, registers["&" + name])
        else:
            try:
                item.action = computed(item.opcode, operands, function.widths)
            except (KeyError, IndexError, ValueError):
                raise Unknown(item.opcode) from None

    # ---- memory instructions

    def _address(self, text: str, words: list[str], function: Function) -> Callable[[Registers], int]:
        base, _, offset = text.strip("[] ").partition("+")
        more = _number(offset) if offset else 0
        window = next((WINDOWS[word] for word in (each.split("::")[0] for each in words) if word in WINDOWS), 0)
        if base in function.widths:
            read = reader(base, f"u{function.widths[base]}", function.widths)
            return lambda registers: window + (read(registers) + more) % (1 << 64)
        if base[0].isdigit():
            return lambda registers: window + _number(base) + more
        return lambda registers: window + registers["&" + base] + more

    def _ld(self, item: Instruction, words: list[str], function: Function) -> Callable[[Registers], None]:
        names = item.operands[0].strip("{} ").split(",")
        code, size = words[-1], width_of(words[-1]) // 8
        writes = [writer(name.strip(), code, function.widths) for name in names]
        if "param" in words:
            name, _, offset = item.operands[1].strip("[] ").partition("+")
            start = _number(offset) if offset else 0

            def load_parameter(registers: Registers) -> None:
                for number, write in enumerate(writes):
                    at = start + number * size
                    write(registers, int.from_bytes(registers["param " + name][at : at + size], "little"))

            return load_parameter
        address, total = self._address(item.operands[1], words, function), size * len(writes)

        def load(registers: Registers) -> None:
            data, at = registers["memory"].at(address(registers), total)
            for number, write in enumerate(writes):
                write(registers, int.from_bytes(data[at + number * size : at + (number + 1) * size], "little"))

        return load

    def _st(self, item: Instruction, words: list[str], function: Function) -> Callable[[Registers], None]:
        code, size = words[-1], width_of(words[-1]) // 8
        reads = [
            reader(name.strip(), f"b{8 * size}", function.widths, code)
            for name in item.operands[1].strip("{} ").split(",")
        ]
        if "param" in words:
            name, _, offset = item.operands[0].strip("[] ").partition("+")
            start = _number(offset) if offset else 0

            def store_parameter(registers: Registers) -> None:
                data = registers.setdefault("param " + name, bytearray(256))
                for number, read in enumerate(reads):
                    at = start + number * size
                    data[at : at + size] = read(registers).to_bytes(size, "little")

            return store_parameter
        address, total = self._address(item.operands[0], words, function), size * len(reads)

        def store(registers: Registers) -> None:
            data, at = registers["memory"].at(address(registers), total)
            for number, read in enumerate(reads):
                data[at + number * size : at + (number + 1) * size] = read(registers).to_bytes(size, "little")

        return store

    def _atom(self, item: Instruction, words: list[str], function: Function) -> Callable[[Registers], None]:
        returns = item.opcode.startswith("atom") and item.operands[0] != "_"
        operands = item.operands[1 if item.opcode.startswith("atom") else 0 :]
        code = words[-1]
        name = next(
            word for word in words if word in ("add", "min", "max", "and", "or", "xor", "exch", "cas", "inc", "dec")
        )
        write = writer(item.operands[0], code, function.widths) if returns else None
        reads = [reader(text, code, function.widths) for text in operands[1:]]
        address, size = self._address(operands[0], words, function), width_of(code) // 8

        def act(registers: Registers) -> None:
            data, at = registers["memory"].at(address(registers), size)
            old = int.from_bytes(data[at : at + size], "little")
            new = atomic(name, code, old, [read(registers) for read in reads])
            data[at : at + size] = new.to_bytes(size, "little")
            if write:
                write(registers, old)

        return act

    def _copy(self, operands: list[str], function: Function) -> Callable[[Registers], None]:
        """Return the action of cp.async, which copies at once: no thread may read the copy before the wait."""
        to, source = (
            self._address(text, [space], function) for text, space in zip(operands, ("shared", "global"), strict=False)
        )
        size = int(operands[2])
        given = reader(operands[3], "u32", function.widths) if len(operands) > 3 else None

        def copy(registers: Registers) -> None:
            taken = given(registers) if given else size  # the rest is filled with zeros
            data, at = registers["memory"].at(source(registers), taken) if taken else (bytearray(), 0)
            target, place = registers["memory"].at(to(registers), size)
            target[place : place + size] = data[at : at + taken].ljust(size, b"\0")

        return copy

    def _cvta(self, item: Instruction, words: list[str], function: Function) -> Callable[[Registers], None]:
        space = words[1 if words[0] == "to" else 0].split("::")[0]
        shift = WINDOWS.get(space, 0) * (-1 if words[0] == "to" else 1)
        write, text = writer(item.operands[0], words[-1], function.widths), item.operands[1]
        if text not in function.widths:
            return lambda registers: write(registers, registers["&" + text] + shift)
        read = reader(text, words[-1], function.widths)
        return lambda registers: write(registers, read(registers) + shift)


def _payload(item: Instruction, widths: dict[str, int]) -> Callable[[Registers], tuple[Any, ...]]:
    """Return the operands of a lane at a warp-synchronous instruction; the member mask comes last."""
    words = item.opcode.split(".")
    code = {"vote": "pred", "shfl": "u32", "bar": "u32"}.get(words[0], words[-1])
    sources = item.operands[0 if words[0] == "bar" else 1 :]
    reads = [
        reader(text, code if number == 0 and len(sources) > 1 else "u32", widths) for number, text in enumerate(sources)
    ]
    return lambda registers: tuple(read(registers) for read in reads)


# ---- text


def _number(text: str) -> int:
    text = text.strip()
    if text[:2].lower() in ("0f", "0d"):
        return int(text[2:], 16)
    return int(text.rstrip("U"), 0)


def _matching(text: str, place: int) -> int:
    """Return the index of the brace that closes the one opened before `place`."""
    depth = 1
    while depth:
        depth += (text[place] == "{") - (text[place] == "}")
        place += 1
    return place - 1


def _statements(body: str) -> list[str]:
    made, place = [], 0
    pattern = re.compile(r"\s*(?:([{}])|([$%\w]+:)(?!:)|([^;]*);)", re.S)
    while found := pattern.match(body, place):
        statement = found[1] or found[2] or found[3]
        if statement.strip():
            made.append(" ".join(statement.split()))
        place = found.end()
    return made


def _instruction(statement: str, scopes: list[dict[str, str]]) -> Instruction:
    def own(found: re.Match[str]) -> str:
        return next((scope[found[0]] for scope in reversed(scopes) if found[0] in scope), found[0])

    guard = None
    if found := re.match(r"@(!?)([%$\w]+)\s+", statement):
        guard = (re.sub(r"[%$\w]+", own, found[2]), found[1] == "!")
        statement = statement[found.end() :]
    opcode, _, rest = statement.partition(" ")
    rest = re.sub(r"[%$A-Za-z_][$\w.]*", own, rest)
    return Instruction(opcode, [part.strip() for part in re.findall(r"(?:\{[^}]*\}|\([^)]*\)|[^,{(])+", rest)], guard)
