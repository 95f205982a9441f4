"""A source as a program that can run: compiled, read, linked; and what the assembler makes of its shared memory."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from engine.backends.emulator.ptx.joining import requests_of
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import Program, link
from engine.backends.emulator.ptx.requests import Requests
from engine.backends.emulator.ptx.syntax import Module
from engine.compile.assembly import shared_accesses
from engine.compile.nvrtc import ASSEMBLED_ARCHITECTURE, EMULATED_ARCHITECTURE, assembled, compile_source
from engine.records import CompileError, NotRunnable, Source


@lru_cache(maxsize=32)
def module_of(source: Source) -> Module:
    """The PTX of a source, read; compiled once. CompileError or PtxError where it has none that can be read."""
    return parse(compile_source(source, EMULATED_ARCHITECTURE).decode(), source.name)


@lru_cache(maxsize=64)
def load(source: Source, kernel: str) -> Program:
    """The linked program of a kernel; compiled and parsed once."""
    program = link(module_of(source), kernel)
    shared = any(item.space == "shared" and item.words[0] in ("ld", "st") for b in program.blocks for item in b.body)
    return replace(program, requests=_requests(source, program)) if shared else program


def _requests(source: Source, program: Program) -> Requests:
    """As the assembler makes them; as the PTX says, where it makes nothing or would take too long."""
    ptx = compile_source(source, EMULATED_ARCHITECTURE)
    if not assembled(ptx):
        return Requests()
    try:
        cubin = compile_source(source, ASSEMBLED_ARCHITECTURE)
    except (CompileError, NotRunnable):
        return Requests()
    accesses = shared_accesses(cubin, ptx.decode(), program.name)
    return Requests() if accesses is None else requests_of(program, accesses)
