"""The resources of a compiled kernel, read from its cubin without a GPU and without the CUDA toolkit.

A cubin is an ELF file. Each kernel has a section `.text.NAME` with its code, a section `.nv.shared.NAME` of the size of
its shared arrays, and entries in `.nv.info` under its symbol.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from engine.compile.nvrtc import compile_source, no_kernel
from engine.records import CompileError, Source

_REGISTERS, _FRAME = 0x2F, 0x11  # attributes of .nv.info: (symbol, registers a thread), (symbol, bytes of its stack)
_SYMBOL_BYTES = 24
_INSTRUCTION_BYTES, _NOP = 16, 0x918


@dataclass(frozen=True)
class Resources:
    """The resources of one kernel.

    Registers and bytes of local memory (stack: spilled registers, arrays) per thread; bytes of shared memory per block
    without the system's own; the number of machine instructions without padding.
    """

    registers: int
    shared_bytes: int
    local_bytes: int
    instructions: int


@dataclass(frozen=True)
class Section:
    """One section of the ELF file. `link`: the number of the section that it refers to."""

    name: str
    link: int
    size: int
    data: bytes


@lru_cache(maxsize=256)
def resources_of(source: Source, kernel: str, architecture: str) -> Resources:
    """Compile `source` for an architecture such as "sm_90" and return the resources of `kernel`. CompileError."""
    capability = int(architecture.removeprefix("sm_").rstrip("af"))
    try:
        return read_resources(compile_source(source, architecture), kernel, capability)
    except KeyError:
        sentence = no_kernel(source, kernel)
        raise CompileError(sentence, sentence) from None


def read_resources(cubin: bytes, kernel: str, capability: int = 90) -> Resources:
    """Return the resources of `kernel` in a cubin for a compute capability such as 90. KeyError: no such kernel."""
    sections = sections_of(cubin)
    if f".text.{kernel}" not in {section.name for section in sections}:
        raise KeyError(f"The cubin has no kernel {kernel}.")
    info = next(section for section in sections if section.name == ".nv.info")
    names = _symbols(sections, info.link)
    found = {attribute: value for attribute, symbol, value in _attributes(info.data) if names[symbol] == kernel}
    shared = next((section.size for section in sections if section.name == f".nv.shared.{kernel}"), 0)
    if shared and capability >= 90:  # from this capability on, the count includes the system's 1 KB per block
        shared -= 1024
    return Resources(found[_REGISTERS], shared, found.get(_FRAME, 0), _length(code_of(cubin, kernel)))


def code_of(cubin: bytes, kernel: str) -> bytes:
    """Return the machine code of `kernel`. KeyError: no such kernel."""
    return next(section.data for section in sections_of(cubin) if section.name == f".text.{kernel}")


def _length(code: bytes) -> int:
    """Count the instructions: 16 bytes each from compute capability 7.0 on, the lowest 12 bits are the opcode."""
    opcodes = (int.from_bytes(code[at : at + 2], "little") & 0xFFF for at in range(0, len(code), _INSTRUCTION_BYTES))
    return sum(opcode != _NOP for opcode in opcodes)


def sections_of(cubin: bytes) -> list[Section]:
    """Return the sections in the order of their numbers. ValueError: this is no cubin."""
    if cubin[:4] != b"\x7fELF":
        raise ValueError("This is no cubin: it does not start as an ELF file does.")
    (start,) = struct.unpack_from("<Q", cubin, 40)
    entry, count, of_names = struct.unpack_from("<HHH", cubin, 58)
    raw = [struct.unpack_from("<IIQQQQIIQQ", cubin, start + number * entry) for number in range(count)]
    names = cubin[raw[of_names][4] : raw[of_names][4] + raw[of_names][5]]
    nobits = 8  # the section has a size but no bytes in the file
    return [
        Section(_text(names, name), link, size, b"" if kind == nobits else cubin[offset : offset + size])
        for name, kind, _, _, offset, size, link, *_ in raw
    ]


def _symbols(sections: list[Section], table: int) -> list[str]:
    """Return the names of the symbols in section number `table`; its link is the section of the names."""
    symbols, names = sections[table].data, sections[sections[table].link].data
    starts = (struct.unpack_from("<I", symbols, at)[0] for at in range(0, len(symbols), _SYMBOL_BYTES))
    return [_text(names, start) for start in starts]


def _attributes(info: bytes) -> Iterator[tuple[int, int, int]]:
    """Return (attribute, symbol, value) of each entry that belongs to a symbol."""
    at = 0
    while at < len(info):
        form, attribute, size = struct.unpack_from("<BBH", info, at)
        at += 4
        if form == 4:  # `size` bytes follow; in the other forms `size` is the value
            if attribute in (_REGISTERS, _FRAME):
                yield (attribute, *struct.unpack_from("<II", info, at))
            at += size


def _text(names: bytes, start: int) -> str:
    return names[start : names.index(b"\0", start)].decode()
