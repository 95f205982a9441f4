"""A kernel from any file or text, ready to be launched on the emulator.

saxpy = engine.kernel("saxpy.cu", "saxpy")
run = saxpy.run((16,), (256,), (2.0, x, y, 4096))
run.arrays["y"], run.counters, run.lines, run.findings, run.printed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import Device, explain_errors, launch_with, lines_of
from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.schedule import parse_schedule
from engine.backends.emulator.watching import results
from engine.backends.launch_limits import check_fits
from engine.catalogue.gpu_models import GPU_MODELS, OLDER_MODELS, GpuModel, model_named
from engine.compile.encodings import read_file
from engine.compile.names import readable
from engine.lab import on_gpu
from engine.lab.arguments import Argument, Passed, array_names, contents, passed, placed
from engine.lab.compilation import Compilation, compilation, refuse_unknown
from engine.lab.kernel_run import KernelRun
from engine.lab.on_gpu import Variable
from engine.lab.signatures import Parameter
from engine.records import CACHE_STATES, Array, Launch, NotRunnable, Source, Timing

Sizes = int | Sequence[int]


@dataclass(frozen=True)
class Kernel:
    """A compiled kernel. `text`: the file as it was written; `made`: what became of it; `symbol`: what the kernel is
    called there; `parameters`: what it takes."""

    name: str
    text: str
    made: Compilation
    symbol: str
    parameters: tuple[Parameter, ...]

    @property
    def source(self) -> Source:
        """What is compiled: the file without its host's part."""
        return self.made.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """The compiler's, a sentence each."""
        return self.made.warnings

    def run(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument] = (),
        *,
        shared: int = 0,
        cooperative: bool = False,
        schedule: str | None = None,
        names: Sequence[str] | None = None,
        symbols: Mapping[str, Array] | None = None,
        seconds: float = SECONDS,
        device: str = "emulator",
        gpu: str | None = None,
    ) -> KernelRun:
        """One launch, on the emulator or, `device="gpu"`, on this computer's GPU, which counts and finds nothing.

        `grid`, `block`: one to three sizes. `args`: a NumPy or CuPy array for a pointer, a number for a number.
        `shared`: bytes of dynamic shared memory a block. `schedule`: "lockstep", "independent:SEED" or "waves:BLOCKS".
        `names`: what findings call the arguments, else the parameters' own names. `symbols`: values of `__constant__`
        and `__device__` variables. `gpu`: a model, "Tesla V100", whose limits the launch has to keep. NotRunnable says
        why it cannot be launched, RunFailed why it did not end well.
        """
        order = parse_schedule(schedule)
        called = array_names(self.parameters, names)
        handed, step = self._asked(grid, block, args, called, shared, cooperative)
        if gpu is not None:
            check_fits(step, _model(gpu))
        given = dict(symbols or {})
        if device == "gpu":
            if schedule is not None:
                raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; only the emulator can.")
            arrays, values = on_gpu.run(step, handed, self._variables(given), given)
            return self._run(on_gpu.as_given(arrays, called, args), values)
        if device != "emulator":
            raise NotRunnable(f"There is no device {device!r}: choose emulator or gpu.")
        variables = self._variables(given)
        there, observers = Device(), results.usual_observers()
        bytes_of, placed_arrays = placed(there, handed)
        with explain_errors(self.source.name):
            addresses = there.symbols(self.source, self._program())
        found = ((name, there.space.at(addresses[one.symbol])) for name, one in variables.items())
        held = {name: array for name, array in found if array is not None}
        for name, value in given.items():
            held[name].data[: variables[name].size] = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
        machine = launch_with(there, step, bytes_of, observers, order, Options(seconds=seconds))
        arrays = {name: contents(placed_arrays[name], like) for name, like in handed.arrays.items()}
        values = {
            name: contents(array, given.get(name, np.zeros(array.size, np.uint8))) for name, array in held.items()
        }
        return replace(
            self._run(on_gpu.as_given(arrays, called, args), values),
            counters=results.totals(observers),
            lines=lines_of(Source(self.source.name, self.text, ""), observers),
            findings=results.findings(observers),
            printed=tuple("".join(machine.output).splitlines()),
        )

    def time(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument] = (),
        *,
        cache: str = CACHE_STATES[0],
        shared: int = 0,
        cooperative: bool = False,
        symbols: Mapping[str, Array] | None = None,
    ) -> Timing:
        """How long a launch takes on this computer's GPU, sampled as the catalogue's kernels are: microseconds.

        `cache`: the state of the L2 before each sample, "cold-clean", "cold-dirty" or "hot". The launches run one after
        the other on the same arrays. NotRunnable where there is no GPU.
        """
        handed, step = self._asked(grid, block, args, array_names(self.parameters, None), shared, cooperative)
        given = dict(symbols or {})
        return on_gpu.time(step, handed, self._variables(given), given, cache)

    def _asked(
        self, grid: Sizes, block: Sizes, args: Sequence[Argument], names: Sequence[str], shared: int, cooperative: bool
    ) -> tuple[Passed, Launch]:
        handed = passed(self.name, self.parameters, args, names)
        sizes = _sizes("grid", grid), _sizes("block", block)
        return handed, Launch(self.symbol, self.source, *sizes, (), cooperative, shared)

    def _run(self, arrays: Mapping[str, Array], symbols: Mapping[str, Array]) -> KernelRun:
        return KernelRun(self.name, self.source.name, self.text, arrays, symbols, {}, (), (), (), self.warnings)

    def _program(self) -> Program:
        with explain_errors(self.source.name):
            return load(self.source, self.symbol)

    def _variables(self, given: Mapping[str, Array]) -> dict[str, Variable]:
        """The module's own variables that the file declares, by the file's name for them; `given` must fit them."""
        program = self._program()
        refuse_unknown(self.made, [(item.opcode, item.line) for item in not_emulated(program)])
        found = {
            readable(symbol): Variable(symbol, one.size or len(one.data))
            for symbol, one in program.constants.items()
            if readable(symbol) in self.made.variables
        }
        for name, value in given.items():
            if name not in found:
                listed = f"it has {', '.join(found)}" if found else "it has none"
                raise NotRunnable(f"{self.source.name} has no __device__ or __constant__ variable {name}; {listed}.")
            if np.asarray(value).nbytes != found[name].size:
                size = np.asarray(value).nbytes
                raise NotRunnable(f"{name} has {found[name].size:,} bytes, and {size:,} are passed for it.")
        return found


def kernel(source: str | Path, name: str | None = None, *, called: str | None = None) -> Kernel:
    """The kernel `name` of a .cu file, or of a text that holds one; None: its only one. `called`: the file's name in
    messages, where it is not its own.

    A template by its arguments: "sum<float, 128>". Host code, host headers and `main` are passed over. NotRunnable: no
    such file or kernel, or a file that is too long. CompileError: with the line.
    """
    file_name, text, said = read(source)
    made = compilation(called or file_name, text, name)
    return _kernels(text, made, said)[0]


def kernels(source: str | Path) -> tuple[Kernel, ...]:
    """The kernels of a file, compiled together, templates as the file launches them; as `kernel`. What `made` of each
    says of the others: `left_out`, `refused`."""
    file_name, text, said = read(source)
    return _kernels(text, compilation(file_name, text, every=True), said)


def _kernels(text: str, made: Compilation, said: str | None) -> tuple[Kernel, ...]:
    if said:
        made = replace(made, warnings=(said, *made.warnings))
    return tuple(Kernel(one.name, text, made, one.symbol, one.parameters) for one in made.kernels)


def read(source: str | Path) -> tuple[str, str, str | None]:
    """(what messages call it, its text, a word on its encoding if it is not plain UTF-8) of a file's name or a text.
    NotRunnable where there is no such file, or no text in it."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "kernel.cu", source, None
    path = Path(source)
    return (path.name, *read_file(path))


def _sizes(what: str, sizes: Sizes) -> tuple[int, int, int]:
    given = tuple(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else (sizes,)
    if not 1 <= len(given) <= 3 or not all(isinstance(size, int | np.integer) for size in given):
        raise NotRunnable(f"The {what} is one to three whole numbers, not {sizes!r}.")
    x, y, z = (*(int(size) for size in given), 1, 1)[:3]
    return x, y, z


def _model(name: str) -> GpuModel:
    found = model_named(name)
    if found is None:
        known = ", ".join(model.name for model in (*GPU_MODELS.values(), *OLDER_MODELS.values()))
        raise NotRunnable(f"There is no GPU {name!r} here: choose one of {known}.")
    return found
