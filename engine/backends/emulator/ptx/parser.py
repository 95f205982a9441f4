"""Parse PTX text into a Module: what NVRTC writes and what inline assembly adds (scopes, vectors, calls, tables).

Every instruction carries its line in the .cu file. Code inlined from a header gets the .cu line that called it, because
that is the line a student sees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from engine.backends.emulator.ptx.declarations import (
    DECLARED,
    parse_immediate,
    parse_signature,
    parse_variable,
    split_at_commas,
    whole_number,
)
from engine.backends.emulator.ptx.special_registers import is_special
from engine.backends.emulator.ptx.syntax import (
    WIDTHS,
    Address,
    Form,
    Function,
    Group,
    Immediate,
    Instruction,
    InvalidPtx,
    Label,
    Module,
    Operand,
    Pair,
    PtxError,
    Register,
    Sink,
    Special,
    Symbol,
    Variable,
    Vector,
    form_of,
)
from engine.backends.emulator.ptx.traits import check_instruction, check_targets, traits_of

_IGNORED = (".version", ".target", ".address_size", ".file", ".pragma", ".weak_alias", ".alias")
_LABEL = re.compile(r"([$%A-Za-z_][\w$]*)\s*:(?!:)")
_PART = re.compile(r"%\w+\.(?:b[0-3]|h[01])")  # of a video instruction
_LATE = re.compile(r"(\w+(?:\.\w+)*?)\.(f16|f16x2|f32|f64)((?:\.(?:r[nzmp]|ftz|sat))+)")
_FILE = re.compile(r'^\s*\.file\s+(\d+)\s+"([^"]*)"', re.M)
_LAST_LINE = 1 << 30  # larger numbers come from a #line directive
_LOC = re.compile(r"\.loc\s+(\d+)\s+(\d+)\s+(\d+)(?:.*inlined_at\s+(\d+)\s+(\d+)\s+(\d+))?")


class Statements:
    """Iterate over the statements of a text: without `;`, scope braces, labels with `:`, function headers with `{`.

    `line`: the .cu line of the last statement, 0 if unknown; `place`: its line in the PTX. `main_name`: the name of the
    .cu file.
    """

    def __init__(self, text: str, main_name: str) -> None:
        files = _FILE.findall(text)
        self._main = next((number for number, path in files if main_name and path.endswith(main_name)), "1")
        self._text = re.sub(r"/\*.*?\*/", " ", text, flags=re.S) if "/*" in text else text
        self._origin: dict[tuple[str, str, str], int] = {}
        self._depth = 0  # open braces of the function
        self.line = self.place = 0

    def __iter__(self) -> Iterator[str]:
        pending, skip = "", False
        for place, raw in enumerate(self._text.split("\n"), 1):
            self.place, line = place, raw.strip()
            if skip:  # the body of a `.section`
                skip = line != "}"
                continue
            if not line or line.startswith("//"):
                continue
            if not pending:
                if line.startswith(".loc") and line[4:5].isspace():
                    self._location(line)
                    continue
                if line.startswith(".section") and not self._depth:
                    skip = True
                    continue
                if line.startswith(".pragma" if self._depth else _IGNORED):
                    continue
            if "//" in line:
                line = line[: line.index("//")].rstrip()
            pending = f"{pending} {line}" if pending else line
            while pending:
                statement, pending = self._take(pending)
                if statement is None:
                    break
                self._follow(statement)
                yield statement

    def _follow(self, statement: str) -> None:
        """Track the depth of functions and scopes."""
        if self._depth:
            self._depth += (statement == "{") - (statement == "}")
        elif statement.endswith("{") and re.search(r"\.(entry|func)\b", statement):
            self._depth, self.line = 1, 0

    def _take(self, pending: str) -> tuple[str | None, str]:
        """Return the first whole statement of `pending` and the rest; (None, pending) if it is incomplete."""
        first = pending[0]
        if first in "{}":
            return first, pending[1:].lstrip()
        if first == ";":
            return "", pending[1:].lstrip()
        label = _LABEL.match(pending)
        if label:
            return label[1] + ":", pending[label.end() :].lstrip()
        if not self._depth and first == ".":
            found = re.search(r"[;{]", pending) if re.search(r"\.(entry|func)\b", pending) else re.search(";", pending)
        else:
            found = re.search(";", pending)
        if not found:
            return None, pending
        keep = found.end() if found[0] == "{" else found.start()
        return pending[:keep].strip(), pending[found.end() :].lstrip()

    def _location(self, line: str) -> None:
        found = _LOC.match(line)
        if not found:
            return
        file, number, column, *outer = found.groups()
        if int(number) > _LAST_LINE:
            return
        if file == self._main:
            self.line = int(number) or self.line
        elif outer[0] is not None:
            at = (outer[0], outer[1], outer[2])
            self.line = self._origin.get(at) or (int(outer[1]) if outer[0] == self._main else self.line)
        self._origin[(file, number, column)] = self.line


_CLOSING = {"[": "]", "{": "}", "(": ")"}
_MOST_REGISTERS = 100_000


def parse(text: str, main_name: str = "") -> Module:
    """Parse a PTX text. `main_name`: the name of the .cu file. PtxError if it cannot be read."""
    return _Parser(text, main_name).module()


class _Parser:
    """The state of one pass over the text: the open function and its scopes."""

    def __init__(self, text: str, main_name: str) -> None:
        self.statements = Statements(text, main_name)
        self.functions: dict[str, Function] = {}
        self.variables: dict[str, Variable] = {}
        self.declared: set[str] = set()
        self.scopes: list[dict[str, Operand]] = []
        self.refused: PtxError | None = None

    def module(self) -> Module:
        """Parse everything. A valid but unsupported statement refuses only its own function."""
        for statement in self.statements:
            try:
                if self.scopes:
                    self._in_function(statement)
                else:
                    self._at_top(statement)
            except PtxError as error:
                placed = error.at(self.statements.line if self.scopes else None, self.statements.place)
                if not self.scopes or (isinstance(error, InvalidPtx) and self.refused is None):
                    raise placed from None
                self.refused = self.refused or placed  # later errors in this function may be consequences
        if self.scopes:
            raise InvalidPtx(f"the PTX of {self.name} does not end", self.statements.line, self.statements.place)
        return Module(self.functions, self.variables, frozenset(self.declared))

    # ---- outside functions

    def _at_top(self, statement: str) -> None:
        if re.search(r"\.(entry|func)\b", statement):
            self._header(statement)
        elif re.search(r"\.(global|const|shared)\b", statement):
            found = parse_variable(statement)
            self.variables[found.name] = found

    def _header(self, statement: str) -> None:
        kind = re.search(r"\.(entry|func)\b", statement)
        assert kind  # the caller found it
        returns, name, params = parse_signature(statement[kind.end() :].strip())
        if not name:
            raise InvalidPtx(f"a function has no name: {statement[:60]}")
        if not statement.endswith("{"):
            self.declared.add(name)
            return
        self.name, self.entry, self.params, self.returns = name, kind[1] == "entry", params, returns
        self.widths: list[int] = []
        self.body: list[Instruction | Label] = []
        self.refused = None
        self.locals: list[Variable] = []
        self.tables: dict[str, tuple[str, ...]] = {}
        self.prototypes: dict[str, Form] = {}
        self.choices: dict[str, tuple[str, ...]] = {}
        self.renamed = 0
        self.scopes = [{}]
        self.last_label = ""
        self.opened, self.open = 0, [0]  # the number of scopes so far, and the open ones
        self.labels: dict[tuple[int, str], str] = {}
        self.jumps: list[tuple[int, tuple[int, ...]]] = []
        self.table_scopes: dict[str, tuple[int, ...]] = {}

    # ---- inside functions

    def _in_function(self, statement: str) -> None:
        if not statement:
            return
        if statement == "{":
            self.scopes.append({})
            self.opened += 1
            self.open.append(self.opened)
        elif statement == "}":
            self.scopes.pop()
            self.open.pop()
            if not self.scopes:
                self._close()
        elif statement.endswith(":"):
            self._label(statement[:-1])
        elif statement.startswith("."):
            self._declaration(statement)
        else:
            self.body.append(self._instruction(statement))

    # Labels are local to their scope: an asm statement that is inlined twice defines its labels twice.

    def _label(self, name: str) -> None:
        scope = self.open[-1]
        if (scope, name) in self.labels:
            raise InvalidPtx(f"the label {name} is defined twice")
        self.last_label = self.labels[(scope, name)] = f"{name}:{scope}" if scope else name
        self.body.append(Label(self.last_label))

    def _resolve_label(self, name: str, scopes: tuple[int, ...]) -> str:
        """Return the label of this name in the innermost scope that has one."""
        return next((self.labels[(scope, name)] for scope in reversed(scopes) if (scope, name) in self.labels), name)

    def _resolve(self) -> None:
        for place, scopes in self.jumps:
            item = self.body[place]
            assert isinstance(item, Instruction)
            last = item.operands[-1]
            if isinstance(last, Symbol):
                self.body[place] = replace(
                    item, operands=(*item.operands[:-1], Symbol(self._resolve_label(last.name, scopes), last.offset))
                )
        for label, scopes in self.table_scopes.items():
            self.tables[label] = tuple(self._resolve_label(name, scopes) for name in self.tables[label])

    def _close(self) -> None:
        if any(scope for scope, _ in self.labels):
            self._resolve()
        if self.refused is None:
            check_targets(self.body, self.tables)
        first = next((item.line for item in self.body if isinstance(item, Instruction) and item.line), 0)
        self.functions[self.name] = Function(
            self.name, self.entry, self.params, self.returns, tuple(self.body), tuple(self.widths),
            tuple(self.locals), self.tables, first, self.prototypes, self.choices,
            self.refused,
        )  # fmt: skip

    def _declaration(self, statement: str) -> None:
        if statement.startswith(".reg"):
            found = DECLARED.search(statement)
            if not found:
                raise PtxError(f"this register type is not emulated: {statement}", self.statements.line)
            width = WIDTHS[found[3]] if found[3] else int(found[2])
            if width > 64 or width == 8:
                raise PtxError(f"registers of {width} bits are not emulated")
            for name in statement[found.end() :].split(","):
                self._declare_registers(name.strip(), width)
        elif statement.startswith((".shared", ".local", ".global", ".const", ".param")):
            declared = parse_variable(statement)
            self.renamed += 1  # calls reuse `param0`: each declaration is a new variable
            unique = f"{declared.name}#{self.renamed}" if declared.space == "param" else declared.name
            self.scopes[-1][declared.name] = Symbol(unique)
            if declared.space in ("global", "const"):
                self.variables[unique] = declared
            elif declared.space != "param":
                self.locals.append(declared)
        elif statement.startswith(".branchtargets"):
            self.table_scopes[self.last_label] = tuple(self.open)
            self.tables[self.last_label] = tuple(name.strip() for name in statement[14:].split(","))
        elif statement.startswith(".callprototype"):
            returns, _, params = parse_signature(statement[14:].strip())
            self.prototypes[self.last_label.split(":")[0]] = form_of(returns, params)
        elif statement.startswith(".calltargets"):
            self.choices[self.last_label.split(":")[0]] = tuple(name.strip() for name in statement[12:].split(","))
        elif not statement.startswith((".pragma", ".loc")):
            raise InvalidPtx(f"{statement.split()[0]} has no place in a function")

    def _declare_registers(self, name: str, width: int) -> None:
        many = re.match(r"(.+)<(\d+)>$", name)
        if len(self.widths) + (int(many[2]) if many else 1) > _MOST_REGISTERS:
            raise PtxError(f"{self.name} declares more than {_MOST_REGISTERS:,} registers")
        names = [f"{many[1]}{number}" for number in range(int(many[2]))] if many else [name]
        for each in names:
            self.scopes[-1][each] = Register(len(self.widths))
            self.widths.append(width)

    def _instruction(self, statement: str) -> Instruction:
        guard: Register | None = None
        if statement[0] == "@":
            name, _, statement = statement[1:].replace("\t", " ").strip().partition(" ")
            found = self._operand(name)
            if not isinstance(found, Register) or self.widths[found.index] != 1:
                raise InvalidPtx(f"a guard must be a predicate register: @{name}")
            if not statement.strip():
                raise InvalidPtx(f"no instruction follows the guard @{name}")
            guard, statement = found, statement.strip()
        opcode, _, rest = statement.partition(" ") if "\t" not in statement else _split_opcode(statement)
        opcode = _in_order(opcode)
        if opcode.startswith("tex."):  # `[texture, {x, y}]` is a list of operands, not an address
            rest = rest.replace("[", "(").replace("]", ")")
        operands = tuple(self._operand(part) for part in split_at_commas(rest)) if rest.strip() else ()
        item = Instruction(opcode, operands, guard, self.statements.line, self.statements.place)
        check_instruction(item, self.widths)
        if traits_of(opcode).control in ("branch", "switch"):
            self.jumps.append((len(self.body), tuple(self.open)))
        return item

    def _operand(self, text: str) -> Operand:
        text = text.strip()
        first = text[:1]
        if not text or (first in _CLOSING and text[-1] != _CLOSING[first]):
            raise InvalidPtx(f"an operand is missing or does not end: {text[:60]}" if text else "an operand is missing")
        if first == "[":
            return self._address(text[1:-1].strip())
        if first == "{":
            return Vector(tuple(self._operand(part) for part in split_at_commas(text[1:-1])))
        if first == "(":
            return Group(tuple(self._operand(part) for part in split_at_commas(text[1:-1]) if part.strip()))
        if "|" in text:
            left, _, right = text.partition("|")
            return Pair(self._operand(left), self._operand(right))
        if text == "_":
            return Sink()
        if first == "!":
            inner = self._operand(text[1:])
            if isinstance(inner, Register):
                return Register(inner.index, not inner.negated)
        if first.isdigit() or first == "-":
            return parse_immediate(text, self.statements.line)
        return self._name(text)

    def _name(self, text: str) -> Operand:
        for scope in reversed(self.scopes):
            if text in scope:
                return scope[text]
        if text[:1] == "%":
            if is_special(text):
                return Special(text)
            if re.fullmatch(r"%[a-z]{1,3}\d+", text):
                raise InvalidPtx(f"the register {text} is not declared", self.statements.line)
            if _PART.fullmatch(text):
                raise PtxError(f"{text} is a part of a register, which is not emulated", self.statements.line)
            raise PtxError(f"the register {text} is not emulated", self.statements.line)
        if text == "WARP_SZ":
            return Immediate(32)
        name, plus, offset = text.partition("+")
        base = self._name(name.strip()) if plus else Symbol(text)
        if plus and isinstance(base, Symbol):
            return Symbol(base.name, whole_number(offset))
        return base

    def _address(self, text: str) -> Address:
        if "," in text:
            place, *rest = split_at_commas(text)
            start = self._address(place.strip())
            parts = tuple(self._operand(part) for part in rest)
            inner = tuple(item for part in parts for item in (part.items if isinstance(part, Vector) else (part,)))
            return Address(start.base, start.offset, inner)
        found = re.match(r"([^+]+?)\s*(?:\+\s*(-?\w+))?$", text)
        if not found:
            raise PtxError(f"this address is not emulated: [{text}]", self.statements.line)
        offset = whole_number(found[2]) if found[2] else 0
        if found[1][0].isdigit():
            return Address(None, whole_number(found[1]) + offset)
        base = self._name(found[1])
        if not isinstance(base, Register | Symbol):
            raise PtxError(f"this address is not emulated: [{text}]", self.statements.line)
        return Address(base, offset)


def _split_opcode(statement: str) -> tuple[str, str, str]:
    parts = statement.split(None, 1)
    return parts[0], "", parts[1] if len(parts) > 1 else ""


def _in_order(opcode: str) -> str:
    """Return an opcode with its modifiers before the type, as in the manual; the assembler also takes them behind it,
    as in `lg2.approx.f32.ftz`."""
    if (late := _LATE.fullmatch(opcode)) is None:
        return opcode
    words = [*late[1].split("."), *late[3].split(".")[1:]]
    last = [word for word in ("ftz", "sat") if word in words]
    return ".".join([*(word for word in words if word not in last), *last, late[2]])
