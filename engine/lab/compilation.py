"""Compile a pasted file in a separate process, which does all work that takes time with its text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from time import process_time

from engine.compile.limits import CPU_S, HURRIED_S, TookTooLong
from engine.compile.names import readable
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, Compiled, remember_compiled
from engine.compile.process import call_apart
from engine.lab.empty_bodies import empty_bodies
from engine.lab.host_calls import calls_of_host_functions
from engine.lab.host_mistakes import host_mistakes
from engine.lab.instances import USUAL_TYPE, WantedKernel, every_kernel, named_kernel, only_declared
from engine.lab.marks import CompilerWarning
from engine.lab.pasted_source import (
    OVERLOADED,
    DevicePart,
    alone,
    compiled_for_device,
    missing_header,
    warnings_of,
    without_own_headers,
)
from engine.lab.signatures import Parameter, bare, called_in_full, function_name, kernels_in, namesakes, parameters
from engine.lab.top_level import open_branch, uncommented
from engine.records import CompileError, NotRunnable, Source

MOST_KERNELS = 64  # kernels of one file that are compiled together
_KEPT = 16  # compiled texts
_HURRIED = (
    "The compiler was told to optimise less, as it takes too long otherwise: nvcc unrolls more, and a GPU counts other "
    "instructions."
)
_GUESSED = re.compile(rf"\b{USUAL_TYPE}\s*(?:\(|::|<)")  # the usual type in place of a function, a class or a template
_ONE_BY_ONE_S = (CPU_S - HURRIED_S) / 2  # after this many failed tries the rest are refused
_SPARE_S = 1.5  # after so long a compilation the text is not compiled again for its remarks
_INLINE = re.compile(r"// begin inline asm(.*?)// end inline asm", re.DOTALL)
_STATEMENT = re.compile(r"(?:^|[;{}])\s*(?:@!?[%\w$]+\s+)?([a-z][\w.:]*)", re.MULTILINE)
_VARIABLE = re.compile(r"^[ \t.\w]*\.(?:global|const)\b[^=;\n]*?([$\w]+)(?:\[\d*\])?[ \t]*[=;]", re.MULTILINE)
_DECLARES = re.compile(r"\b__(?:device|constant|managed)__")
_HEAD = re.compile(r"[^;{}()]{0,400}[;{]?")  # the text after it, unless it is a function
_DECLARED = re.compile(r"([A-Za-z_]\w*)\s*[\[=;{,]")


@dataclass(frozen=True)
class CompiledKernel:
    """`name`: as the user asked for it; `symbol`: its name in the PTX; `parameters`: those of the compiled kernel."""

    name: str
    symbol: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Compilation:
    """A compiled file and its kernels. `left_out`: names of kernels that were not compiled; `refused`: those that
    cannot be compiled here, with the reason.

    `warnings`: the compiler's, in the file's own lines; `variables`: names of the file's `__device__` and
    `__constant__` variables; `inline`: opcodes of its inline PTX.
    """

    source: Source
    kernels: tuple[CompiledKernel, ...]
    left_out: tuple[str, ...]
    refused: tuple[tuple[str, str], ...]
    warnings: tuple[CompilerWarning, ...]
    variables: frozenset[str]
    inline: frozenset[str]


def compilation(file_name: str, text: str, name: str | None = None, *, every: bool = False) -> Compilation:
    """Compile the kernel `name` of a text (None: its only one), or `every` kernel, in a separate process.

    NotRunnable: no such kernel, or a text that is too long. CompileError: with the line.
    """
    made, compiled = _made_apart(file_name, text, name, every)
    remember_compiled(made.source, EMULATED_ARCHITECTURE, compiled)
    return made


@lru_cache(maxsize=_KEPT)  # a check launches one text in several orders and sizes
def _made_apart(file_name: str, text: str, name: str | None, every: bool) -> tuple[Compilation, Compiled]:
    try:
        return call_apart(file_name, text, compiled_in_full, file_name, text, name, every, cpu_s=CPU_S - HURRIED_S)
    except TookTooLong:
        made, compiled = call_apart(
            file_name, text, compiled_in_full, file_name, text, name, every, True, cpu_s=HURRIED_S
        )
        return replace(made, warnings=(CompilerWarning(_HURRIED), *made.warnings)), compiled


def compiled_in_full(
    file_name: str, text: str, name: str | None, every: bool, hurried: bool = False
) -> tuple[Compilation, Compiled]:
    """Compile in this process. `hurried`: with less optimisation, in less time."""
    many = every_kernel(text)[:MOST_KERNELS] if every and name is None else []
    if "__global__" in uncommented(text) and not kernels_in(text):  # where no kernel can be, or behind an open bracket
        compiled_for_device(file_name, text)
    wanted = many or [named_kernel(text, file_name, name)]
    part, wanted = _told_part(file_name, text if many else alone(text, bare(wanted[0].name)), wanted, hurried)
    beside = without_own_headers(text)[1]
    source, made, found = part.source, part.compiled, dict(zip(part.source.names, part.compiled.symbols, strict=True))
    ptx = made.ptx.decode()
    kernels = tuple(
        CompiledKernel(one.name, found[one.expression], parameters(ptx, found[one.expression], one.parameters))
        for one in wanted
        if one.expression in found
    )
    part = replace(part, refused=(*part.refused, *(_bodiless(file_name, text) if many else ())))
    looked_at = {*(bare(one.name) for one in wanted if one.expression in found), *map(bare, dict(part.refused))}
    inline = {opcode for block in _INLINE.findall(ptx) for opcode in _STATEMENT.findall(block)}
    return Compilation(
        source,
        kernels,
        tuple(each for each in kernels_in(text) if each not in looked_at) if many else (),
        tuple((bare(each) if _GUESSED.search(each) else each, why) for each, why in part.refused),
        (
            *(missing_header(header, line) for line, header in beside.items()),
            *(_guess(text, one) for one in wanted if one.guessed and one.expression in found),
            *part.left_out,
            *warnings_of(source, made.warnings),
            *empty_bodies(text),
            *_namesakes(text, wanted),
            *host_mistakes(text),
            *(() if hurried or process_time() > _SPARE_S else calls_of_host_functions(source)),
        ),
        frozenset(_variables(ptx, text)),
        frozenset(inline),
    ), made


def _guess(text: str, one: WantedKernel) -> CompilerWarning:
    """Return the warning about template types that the file does not tell."""
    name, many = bare(one.name), len(one.guessed) > 1
    types = f"{' and '.join(one.guessed)} {'are' if many else 'is'} taken to be {USUAL_TYPE}"
    told = f"the template is compiled as {one.name}: {types}, as the file does not say. Name it with others if need be."
    return CompilerWarning(told, kernels_in(text)[name].line)


def _namesakes(text: str, wanted: list[WantedKernel]) -> Iterator[CompilerWarning]:
    """Return a warning for each kernel that has the name of a wanted one above it, unless an #if chooses one."""
    first: dict[str, int] = {}
    for one in namesakes(text):
        name, line = function_name(text, one), text.count("\n", 0, one.start) + 1
        if not one.body or open_branch(text, one.start) is not None or first.setdefault(name, line) == line:
            continue
        if name in {bare(each.name) for each in wanted}:
            told = f"this kernel is not taken: the first of the name {name} is that of line {first[name]}; this one is"
            yield CompilerWarning(f"{told} called {called_in_full(text, one)}.", line)


def _bodiless(file_name: str, text: str) -> Iterator[tuple[str, str]]:
    """Return the kernels that have no body here, each with a sentence."""
    for name, one in kernels_in(text).items():
        if not one.defined:
            yield name, only_declared(file_name, name, one)


def _told_part(
    file_name: str, text: str, wanted: list[WantedKernel], hurried: bool
) -> tuple[DevicePart, list[WantedKernel]]:
    """Compile the kernels together, each told from CUDA's own functions of its name."""
    try:
        return _part(file_name, text, wanted, hurried), wanted
    except CompileError as error:
        return _told_part(file_name, text, _told_apart(text, wanted, error), hurried)


def _part(file_name: str, text: str, wanted: list[WantedKernel], hurried: bool) -> DevicePart:
    """Compile the kernels together; leave out an instance that was guessed from the text if it does not compile."""
    try:
        return compiled_for_device(file_name, text, tuple(one.expression for one in wanted), hurried)
    except CompileError as error:
        kept = [one.expression for one in wanted if "<" not in one.name]
        if len(wanted) in (1, len(kept)):
            raise
        part = compiled_for_device(file_name, text, tuple(kept), hurried)  # if this fails, so does every instance
        first, refused, until = error, [], process_time() + _ONE_BY_ONE_S
    for one in wanted:
        if "<" in one.name and process_time() < until:
            try:
                part = compiled_for_device(file_name, text, (*kept, one.expression), hurried)
                kept.append(one.expression)
            except CompileError as error:
                refused.append((one.expression, str(error)))
    if not kept:
        raise first
    return replace(part, refused=(*part.refused, *refused))


def _told_apart(text: str, wanted: list[WantedKernel], error: CompileError) -> list[WantedKernel]:
    """Return the kernels, of which one is told by its parameters from a function of CUDA that has its name.
    CompileError, `error`: that is not its reason."""
    overloaded, kernels = OVERLOADED.search(error.log), kernels_in(text)
    name = overloaded[1] if overloaded else ""
    if name not in {one.name for one in wanted if one.written is None} or name not in kernels:
        raise error
    written = tuple(one.partition("=")[0] for one in kernels[name].written)
    return [replace(one, written=written) if one.name == name else one for one in wanted]


def refuse_unknown(made: Compilation, unknown: list[tuple[str, int]]) -> None:
    """Raise NotRunnable for inline PTX among `unknown`, the (opcodes, lines) that the emulator lacks.

    The emulator cannot check such code for a GPU either.
    """
    for opcode, line in unknown:
        if opcode in made.inline:
            raise NotRunnable(
                f"{made.source.name}, line {line}: inline PTX may use what the emulator knows, and it does not know "
                f"{opcode}.",
                line,
            )


def _variables(ptx: str, text: str) -> Iterator[str]:
    """Return the variables of the PTX that the text declares, without those of headers."""
    heads = (_HEAD.match(text, found.end()) for found in _DECLARES.finditer(text))
    declared = {word for head in heads if head for word in _DECLARED.findall(head[0])}
    return (name for name in map(readable, _VARIABLE.findall(ptx)) if name in declared)
