"""What a pasted file compiles to: made in a process of its own, where all is that takes time with its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.compile.names import readable
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, Compiled, keep
from engine.compile.process import apart
from engine.lab.pasted import compiled_for_device, warnings_of, without_own_headers
from engine.lab.signatures import Parameter, kernels_in, named_kernel, parameters
from engine.records import NotRunnable, Source

MOST_KERNELS = 64  # of a file that are looked at together
_INLINE = re.compile(r"// begin inline asm(.*?)// end inline asm", re.DOTALL)
_STATEMENT = re.compile(r"(?:^|[;{}])\s*(?:@!?[%\w$]+\s+)?([a-z][\w.:]*)", re.MULTILINE)
_VARIABLE = re.compile(r"^[ \t.\w]*\.(?:global|const)\b[^=;\n]*?([$\w]+)(?:\[\d*\])?[ \t]*[=;]", re.MULTILINE)
_DECLARES = re.compile(r"\b__(?:device|constant|managed)__")
_HEAD = re.compile(r"[^;{}()]{0,400}[;{]?")  # what follows that, as long as it is no function
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*[\[=;{,]")


@dataclass(frozen=True)
class CompiledKernel:
    """`name`: as it was asked for; `symbol`: what it is called in the PTX; `parameters`: what it takes."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Compilation:
    """A file as it compiles, and its kernels. `left_out`: how many more it has. `warnings`: the compiler's, of the
    file's own lines; `variables`: names of the `__device__` and `__constant__` variables that the file declares;
    `inline`: opcodes of its inline PTX."""

    source: Source
    kernels: tuple[CompiledKernel, ...]
    left_out: int
    warnings: tuple[str, ...]
    variables: frozenset[str]
    inline: frozenset[str]


def compilation(file_name: str, text: str, name: str | None = None, *, every: bool = False) -> Compilation:
    """The kernel `name` of a text, None: its only one, or `every` kernel that is no template; compiled apart.

    NotRunnable: no such kernel, or a text that is too long. CompileError: with the line.
    """
    made, compiled = apart(file_name, text, compiled_in_full, file_name, text, name, every)
    keep(made.source, EMULATED_ARCHITECTURE, compiled)
    return made


def compiled_in_full(file_name: str, text: str, name: str | None, every: bool) -> tuple[Compilation, Compiled]:
    """`compilation`, in this process."""
    found = kernels_in(text)
    plain = [each for each, declared in found.items() if not declared.template]
    if every and name is None and plain:
        wanted = {each: found[each].parameters for each in plain[:MOST_KERNELS]}
    else:
        wanted = dict([named_kernel(text, file_name, name)])
    beside = without_own_headers(text)[1]
    source, made = compiled_for_device(file_name, text, tuple(wanted))
    ptx = made.ptx.decode()
    kernels = tuple(
        CompiledKernel(each, symbol, parameters(ptx, symbol, names))
        for (each, names), symbol in zip(wanted.items(), made.symbols, strict=True)
    )
    inline = {opcode for block in _INLINE.findall(ptx) for opcode in _STATEMENT.findall(block)}
    return Compilation(
        source,
        kernels,
        len(plain) - len(wanted) if every and name is None else 0,
        (
            *(f'line {line}: "{header}" is not here and is passed over.' for line, header in beside.items()),
            *warnings_of(source, made.warnings),
        ),
        frozenset(_variables(ptx, text)),
        frozenset(inline),
    ), made


def refuse_unknown(made: Compilation, unknown: list[tuple[str, int]]) -> None:
    """NotRunnable for inline PTX among `unknown`, the (opcodes, lines) that the emulator lacks: what it cannot run, it
    cannot vouch for on a GPU either."""
    for opcode, line in unknown:
        if opcode in made.inline:
            raise NotRunnable(
                f"{made.source.name}, line {line}: inline PTX may use what the emulator knows, and it does not know "
                f"{opcode}."
            )


def _variables(ptx: str, text: str) -> Iterator[str]:
    """Those of the PTX that the text declares, and no header."""
    heads = (_HEAD.match(text, found.end()) for found in _DECLARES.finditer(text))
    declared = {word for head in heads if head for word in _DECLARED.findall(head[0])}
    return (name for name in map(readable, _VARIABLE.findall(ptx)) if name in declared)
