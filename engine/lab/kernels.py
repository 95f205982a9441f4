"""A kernel from any file or text, ready to be launched on the emulator.

saxpy = engine.kernel("saxpy.cu", "saxpy")
run = saxpy.run((16,), (256,), (2.0, x, y, 4096))
run.arrays["y"], run.counters, run.lines, run.findings, run.printed
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import Device, explained, launch_with, lines_of
from engine.backends.emulator.loading import load
from engine.backends.emulator.state.machine import Options
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.state.schedule import parse_schedule
from engine.backends.emulator.watching import results
from engine.compile.names import readable
from engine.lab.arguments import Argument, array_names, contents, passed
from engine.lab.compilation import Compilation, compilation, refuse_unknown
from engine.lab.kernel_run import KernelRun
from engine.lab.signatures import Parameter
from engine.records import Array, Launch, NotRunnable, Source

SECONDS = 30.0  # what a launch may take
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
    ) -> KernelRun:
        """One launch on the emulator.

        `grid`, `block`: one to three sizes. `args`: a NumPy array for a pointer, a number for a number. `shared`: bytes
        of dynamic shared memory a block. `schedule`: "lockstep", "independent:SEED" or "waves:BLOCKS". `names`: what
        findings call the arguments, else the parameters' own names. `symbols`: values of `__constant__` and
        `__device__` variables. NotRunnable says why it cannot be launched, RunFailed why it did not end well.
        """
        order = parse_schedule(schedule)
        device, observers = Device(), results.usual_observers()
        called = array_names(self.parameters, names)
        handed = passed(device, self.name, self.parameters, args, called)
        variables = self._variables(device)
        _set(variables, symbols or {}, self.source.name)
        step = Launch(self.symbol, self.source, _sizes("grid", grid), _sizes("block", block), (), cooperative, shared)
        options = Options(seconds=seconds)
        machine = launch_with(device, step, handed.values, observers, order, options)
        printed = tuple("".join(machine.output).splitlines())
        given = symbols or {}
        return KernelRun(
            self.name,
            self.source.name,
            self.text,
            {name: contents(there, like) for name, (like, there) in handed.arrays.items()},
            {
                name: contents(there, given.get(name, np.zeros(there.size, np.uint8)))
                for name, there in variables.items()
            },
            results.totals(observers),
            lines_of(Source(self.source.name, self.text, ""), observers),
            results.findings(observers),
            printed,
            self.warnings,
        )

    def _variables(self, device: Device) -> dict[str, DeviceArray]:
        """The module's own variables that the file declares, by the file's name for them."""
        found = {}
        with explained(self.source.name):
            program = load(self.source, self.symbol)
        refuse_unknown(self.made, [(item.opcode, item.line) for item in not_emulated(program)])
        for symbol, address in device.symbols(self.source, program).items():
            name, array = readable(symbol), device.space.at(address)
            if array is not None and name in self.made.variables:
                found[name] = array
        return found


def kernel(source: str | Path, name: str | None = None, *, called: str | None = None) -> Kernel:
    """The kernel `name` of a .cu file, or of a text that holds one; None: its only one. `called`: the file's name in
    messages, where it is not its own.

    A template by its arguments: "sum<float, 128>". Host code, host headers and `main` are passed over. NotRunnable: no
    such file or kernel, or a file that is too long. CompileError: with the line.
    """
    file_name, text = read(source)
    made = compilation(called or file_name, text, name)
    return _kernels(text, made)[0]


def kernels(source: str | Path) -> tuple[tuple[Kernel, ...], int]:
    """The kernels of a file that are no templates, compiled together, and how many more there are; as `kernel`."""
    file_name, text = read(source)
    made = compilation(file_name, text, every=True)
    return _kernels(text, made), made.left_out


def _kernels(text: str, made: Compilation) -> tuple[Kernel, ...]:
    return tuple(Kernel(one.name, text, made, one.symbol, one.parameters) for one in made.kernels)


def read(source: str | Path) -> tuple[str, str]:
    """(what messages call it, its text) of a file's name or a text. NotRunnable where there is no such file."""
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "kernel.cu", source
    path = Path(source)
    try:
        return path.name, path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise NotRunnable(f"There is no file {path}.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise NotRunnable(f"{path} cannot be read: {error}.") from None


def _sizes(what: str, sizes: Sizes) -> tuple[int, int, int]:
    given = tuple(sizes) if isinstance(sizes, Sequence) and not isinstance(sizes, str) else (sizes,)
    if not 1 <= len(given) <= 3 or not all(isinstance(size, int | np.integer) for size in given):
        raise NotRunnable(f"The {what} is one to three whole numbers, not {sizes!r}.")
    x, y, z = (*(int(size) for size in given), 1, 1)[:3]
    return x, y, z


def _set(variables: Mapping[str, DeviceArray], values: Mapping[str, Array], file_name: str) -> None:
    """Hand values to the module's variables."""
    for name, value in values.items():
        if name not in variables:
            listed = f"it has {', '.join(variables)}" if variables else "it has none"
            raise NotRunnable(f"{file_name} has no __device__ or __constant__ variable {name}; {listed}.")
        raw = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
        if raw.size != variables[name].size:
            raise NotRunnable(f"{name} has {variables[name].size:,} bytes, and {raw.size:,} are passed for it.")
        variables[name].data[: raw.size] = raw
