"""Source + constants + architecture -> PTX or cubin, with NVRTC. Needs no GPU and no driver.

The element type enters as `using T = ...;` in front of the file and not as a macro: a macro named `T`
would break every `template <typename T>` in NVRTC's own headers.
"""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from engine.compile import includes
from engine.compile.errors import first_error
from engine.compile.limits import ASSEMBLED_BYTES, LOG_BYTES, PTX_BYTES
from engine.compile.process import call_apart
from engine.records import C_TYPES, CompileError, Launch, NotRunnable, Scalar, Source, TensorMap, dtype_of

# The emulator reads PTX of this architecture, and its access rules were measured on the machine code of that PTX.
EMULATED_ARCHITECTURE, ASSEMBLED_ARCHITECTURE = "compute_90", "sm_90"
# cooperative_groups.h without libcu++, which takes nine tenths of the compile time. The functions come out the same;
# only functions that take a cuda::atomic are missing, so a file that names `cuda` gets all of libcu++.
_LEAN_GROUPS = "-D_CG_LIMIT_INCLUDED_DEPENDENCIES"
_NAMES_CUDA = re.compile(r"\bcuda\s*::|<cuda/|\bnamespace\s+cuda\b")
# The C headers that students' files include out of habit. NVRTC knows their functions but has no such files; CUDA's
# own C++ library has the types and constants of some. They are files because NVRTC was seen to crash after compile
# errors if it is given headers as texts.
STANDARD_HEADERS = Path(__file__).parent / "include"
# What nvcc includes or declares by itself and kernels use; a student's text need not name it.
_BY_NVCC = (
    "#include <cstdint>\n#include <cstdlib>\n#include <climits>\n#include <cfloat>\n#include <cmath>\n"
    "#include <predefined.h>\n"
    "typedef unsigned char uchar;\ntypedef unsigned short ushort;\n"
    "typedef unsigned int uint;\ntypedef unsigned long ulong;\n"
    "typedef unsigned char u_char;\ntypedef unsigned short u_short;\ntypedef unsigned int u_int;\n"
    "typedef unsigned long u_long;\ntypedef long ssize_t;\n"
    "typedef uint8_t u_int8_t;\ntypedef uint16_t u_int16_t;\ntypedef uint32_t u_int32_t;\n"
    "typedef uint64_t u_int64_t;\n"
    "typedef unsigned long long CUtexObject;\ntypedef unsigned long long CUsurfObject;\n"
)
_ASSEMBLED = re.compile(r"__shared__|\b(?:for|while)\b")  # the assembler changes their accesses
UNOPTIMISED = "-G"  # the option of a build that keeps every variable, and says in its PTX where
TENSOR_MAP_BYTES = 128
_WHEELS = ("cu13", "cuda_runtime", "cuda_nvcc", "curand")
_PARAMETER = re.compile(r"\.param (?:\.align \d+ )?\.[a-z](\d+) \w+(?:\[(\d+)\])?")


@dataclass(frozen=True)
class Compiled:
    """`ptx`, and the `cubin` for a real architecture. `symbols`: the kernels of `Source.names` in them. `warnings`: the
    log."""

    ptx: bytes
    cubin: bytes
    symbols: tuple[str, ...]
    warnings: str


def compile_source(source: Source, architecture: str) -> bytes:
    """Compile `source` to PTX for "compute_90", or to a cubin for "sm_90". CompileError with the .cu line.

    One compilation makes both if the emulator will need the cubin too, because the kernel uses shared memory or loops.
    NotRunnable: the source needs another GPU.
    """
    made = compile_with_log(source, architecture)
    return made.ptx if architecture.startswith("compute_") else made.cubin


def compile_with_log(source: Source, architecture: str) -> Compiled:
    """Compile, and return the compiler's warnings too. A foreign text is compiled in a separate process."""
    if not source.foreign:
        return compile_here(source, architecture)
    if (source, architecture) not in _foreign:
        made = call_apart(source.name, source.text, compile_here, source, architecture)
        return remember_compiled(source, architecture, made)
    return _foreign[source, architecture]


def remember_compiled(source: Source, architecture: str, made: Compiled) -> Compiled:
    """Remember the result that a separate process made of a foreign text, and return it."""
    _foreign.pop((source, architecture), None)  # the newest is last
    while len(_foreign) >= _KEPT:
        del _foreign[next(iter(_foreign))]
    _foreign[source, architecture] = made
    if made.cubin and architecture == EMULATED_ARCHITECTURE:  # one compilation made both
        _foreign[source, ASSEMBLED_ARCHITECTURE] = made
    return made


def compile_here(source: Source, architecture: str) -> Compiled:
    """Compile in this process."""
    counted = not source.capability and UNOPTIMISED not in source.options  # else no request of the assembler matters
    if architecture == EMULATED_ARCHITECTURE and _ASSEMBLED.search(source.text) and counted:
        if source.foreign and "mma.h" in source.text:  # its unrolled code may take the assembler too long
            made = _compiled(source, architecture)
            if not assembled(made.ptx):
                return made
        try:
            return _compiled(source, ASSEMBLED_ARCHITECTURE)
        except CompileError as error:
            if "ptxas" not in error.log:  # the PTX is valid even if the assembler refuses it
                raise
    return _compiled(source, architecture)


def assembled(ptx: bytes) -> bool:
    """Return whether the assembler's view of this source is needed."""
    return len(ptx) <= ASSEMBLED_BYTES


_KEPT = 512
_foreign: dict[tuple[Source, str], Compiled] = {}


@lru_cache(maxsize=_KEPT)
def _compiled(source: Source, architecture: str) -> Compiled:
    from cupy_backends.cuda.libs import nvrtc  # a heavy import, needed only to compile

    includes.check_includes(source)
    options = (
        f"-arch={_fitting(source, architecture)}",
        "-lineinfo",
        *(() if any(one.startswith("--std") for one in source.options) else ("--std=c++17",)),
        *source.options,
        *(f"-D{name}={value}" for name, value in source.defines),
        *(f"-I{folder}" for folder in include_folders()),
        *(() if _NAMES_CUDA.search(source.text) else (_LEAN_GROUPS,)),
        *(includes.LISTING if source.foreign else ()),
    )
    element = f"using T = {C_TYPES[source.dtype]};\n" if source.dtype else ""
    head = (_BY_NVCC if source.foreign else "") + source.head  # <cstdint> stands before all that includes CUDA's own
    text = f'{element}{head}#line 1 "{source.name}"\n{source.text}'
    program = nvrtc.createProgram(text, Path(source.name).name, (), ())  # a folder in its name would be searched
    opened: list[str] = []
    try:
        for name in source.names:
            nvrtc.addNameExpression(program, name)
        with includes.list_opened(opened) if source.foreign else nullcontext():
            nvrtc.compileProgram(program, options)
        includes.check_opened(source, opened, "", include_folders())
        cubin = b"" if architecture.startswith("compute_") else nvrtc.getCUBIN(program)
        symbols = tuple(nvrtc.getLoweredName(program, name) for name in source.names)
        ptx = nvrtc.getPTX(program)
        if source.foreign and len(ptx) > PTX_BYTES:
            sentence = (
                f"{source.name} does not compile: it becomes {len(ptx) >> 10:,} kB of PTX, but at most "
                f"{PTX_BYTES >> 10:,} are allowed; unroll less."
            )
            raise CompileError(sentence, sentence)
        if source.foreign:
            includes.check_inline(source, ptx.decode())
        return Compiled(ptx, cubin, symbols, _shortened(nvrtc.getProgramLog(program).strip()))
    except nvrtc.NVRTCError as error:
        log = nvrtc.getProgramLog(program).strip()
        includes.check_opened(source, opened, log, include_folders())
        raise first_error(source, _shortened(log) or str(error)) from None
    finally:
        nvrtc.destroyProgram(program)


def compile_launch(launch: Launch, architecture: str) -> bytes:
    """Compile the source of a launch, and check that its kernel exists and takes the launch's arguments.
    CompileError."""
    ptx = compile_source(launch.source, EMULATED_ARCHITECTURE).decode()
    wanted = [_bytes_of(argument) for argument in launch.args]
    found = re.search(rf"\.entry {re.escape(launch.kernel)}\((.*?)\)", ptx, re.DOTALL)
    sentence = ""
    if not found:
        sentence = no_kernel(launch.source, launch.kernel)
    elif [int(bits) // 8 * int(many or 1) for bits, many in _PARAMETER.findall(found[1])] != wanted:
        passed = ", ".join(
            argument if isinstance(argument, str) else argument.dtype if isinstance(argument, Scalar)
            else f"a map of {argument.buffer}" for argument in launch.args
        )  # fmt: skip
        sentence = (
            f"{launch.kernel} in {launch.source.name} must take these {len(wanted)} arguments and no others: {passed}."
        )
    if sentence:
        raise CompileError(sentence, sentence)
    return compile_source(launch.source, architecture)


def no_kernel(source: Source, kernel: str) -> str:
    """Return the sentence about a source that lacks a kernel."""
    return f'{source.name} has no kernel named {kernel}: it must hold extern "C" __global__ void {kernel}(...).'


def _bytes_of(argument: str | Scalar | TensorMap) -> int:
    if isinstance(argument, TensorMap):
        return TENSOR_MAP_BYTES
    return 8 if isinstance(argument, str) else dtype_of(argument.dtype).itemsize


def _fitting(source: Source, architecture: str) -> str:
    """Return the architecture with the letter that the source's instructions need: "sm_90a"."""
    if not source.capability or not architecture.startswith("sm_"):
        return architecture
    check_capability(source.capability, architecture[3:], source.name)
    return f"sm_{source.capability}" if source.capability.endswith("a") else architecture


def check_capability(needed: str, own: str, name: str, gpu: str = "") -> None:
    """Raise NotRunnable if `name` needs another compute capability (as in Source) than `gpu` or this GPU ("90") has."""
    wanted, only = int(needed.rstrip("a") or 0), needed.endswith("a")
    if int(own) < wanted or (only and int(own) != wanted):
        raise NotRunnable(
            f"{name} needs a GPU of compute capability {wanted / 10}{' and no other' if only else ' or later'}; "
            f"{f'{gpu} has' if gpu else 'this is'} {int(own) / 10}."
        )


@lru_cache(maxsize=1)
def include_folders() -> tuple[str, ...]:
    """Return the header folders: C, `cooperative_groups.h` (the runtime's wheel), and CuPy's CCCL (libcu++, CUB,
    Thrust). CUDA 13's wheels share a folder, CUDA 12's have one each."""
    folders = [STANDARD_HEADERS, *(folder / part / "include" for folder in _package("nvidia") for part in _WHEELS)]
    cccl = (folder / "_core" / "include" / "cupy" / "_cccl" for folder in _package("cupy"))
    folders += [folder / part for folder in cccl for part in ("libcudacxx", "cub", "thrust")]
    return tuple(str(folder) for folder in folders if folder.is_dir())


def _package(name: str) -> tuple[Path, ...]:
    """Return a package's folder without importing it: CuPy takes half a second."""
    found = find_spec(name)
    return tuple(Path(folder) for folder in found.submodule_search_locations or ()) if found else ()


def _shortened(log: str) -> str:
    if len(log) <= LOG_BYTES:
        return log
    return f"{log[:LOG_BYTES]}\n(The log goes on for {len(log) - LOG_BYTES:,} characters.)"
