"""A kernel from any file or text, ready to be launched on the emulator.

saxpy = engine.kernel("saxpy.cu", "saxpy")
run = saxpy.run((16,), (256,), (2.0, x, y, 4096))
run.arrays["y"], run.counters, run.lines, run.findings, run.printed
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from html import escape
from pathlib import Path
from types import ModuleType
from typing import Any, TypeGuard
from zlib import adler32

import numpy as np

from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import Device, explain_errors, launch_with, lines_of
from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.program import Program
from engine.backends.emulator.state.machine import Machine, Options
from engine.backends.emulator.state.memory import DeviceArray
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule, parse_schedule
from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.observer import Observer
from engine.backends.emulator.watching.recorder import MOST_BYTES, LastWriter
from engine.backends.launch_limits import check_fits
from engine.catalogue.gpu_models import GPU_MODELS, H200, OLDER_MODELS, GpuModel, model_named
from engine.compile.limits import read_file
from engine.compile.names import readable
from engine.lab.arguments import (
    Argument,
    GpuArray,
    LaunchArguments,
    Structure,
    array_names,
    as_held,
    contents,
    convert_arguments,
    place_arguments,
    refuse_overlap,
)
from engine.lab.compilation import Compilation, compilation, refuse_unknown
from engine.lab.debugger import Debugger, State
from engine.lab.instances import typed_parameters
from engine.lab.marks import CompilerWarning
from engine.lab.reads import Reads
from engine.lab.recording import block_of, debugger_of, recorder_of, unoptimised, watched
from engine.lab.setups import check_right, right_of
from engine.lab.signatures import Parameter, bare, kernels_in, only_kernel
from engine.lab.structures import Field, element_of, fields_in, layout, vector_fields
from engine.machine.devices import gpus
from engine.model.estimate import Estimate, estimate
from engine.model.estimate import gpu as estimated_gpu
from engine.model.observer import CostObserver
from engine.model.run import RunCosts, with_machine_code
from engine.records import (
    CACHE_STATES,
    Array,
    Check,
    Finding,
    Launch,
    LineCounters,
    NotRunnable,
    Source,
    Timing,
)
from engine.records.counters import COUNTERS, with_derived
from engine.records.words import source_lines


@dataclass(frozen=True)
class Variable:
    """A variable of the module. `symbol`: its name in the PTX."""

    symbol: str
    size: int


def run(
    step: Launch, handed: LaunchArguments, variables: Mapping[str, Variable], symbols: Mapping[str, Array]
) -> tuple[dict[str, Array], dict[str, Array]]:
    """Launch once; return the arrays and the module's variables, each in the type that was given for it."""
    _refuse_textures(handed)
    arrays, found = _backend().run(step, handed.values, handed.arrays, _set(variables, symbols))
    return arrays, {name: _as_given(raw, symbols.get(name)) for name, raw in found.items()}


def time(
    step: Launch, handed: LaunchArguments, variables: Mapping[str, Variable], symbols: Mapping[str, Array], cache: str
) -> Timing:
    """Time the launch as the catalogue's kernels are timed."""
    _refuse_textures(handed)
    timing: Timing = _backend().time(step, handed.values, handed.arrays, _set(variables, symbols), cache)
    return timing


def _refuse_textures(handed: LaunchArguments) -> None:
    for name in handed.textures:
        raise NotRunnable(f"`{name}` is a texture: the lab reads textures on the emulator only.")


def as_given(arrays: Mapping[str, Array], names: Sequence[str], arguments: Sequence[object]) -> dict[str, Array]:
    """Return the arrays, as CuPy arrays if CuPy arrays were passed."""
    theirs = {name for name, one in zip(names, arguments, strict=True) if isinstance(one, GpuArray)}
    return {name: _backend().on_gpu(array) if name in theirs else array for name, array in arrays.items()}


def _set(variables: Mapping[str, Variable], symbols: Mapping[str, Array]) -> dict[str, tuple[str, int, Array | None]]:
    return {name: (one.symbol, one.size, symbols.get(name)) for name, one in variables.items()}


def _as_given(raw: Array, given: Array | None) -> Array:
    return raw if given is None else raw.view(np.asarray(given).dtype).reshape(np.shape(given))


def _backend() -> ModuleType:
    if not gpus():
        raise NotRunnable("This machine has no GPU that CUDA can use: the emulator runs and counts, but times nothing.")
    from engine.backends.gpu import any_kernel  # CuPy takes half a second to import

    return any_kernel


_BESIDE_LINES = ("warp_instructions", "sectors", "bank_conflicts", "divergent_branches")


@dataclass(frozen=True)
class KernelRun:
    """One launch on the emulator.

    `arrays`: by name, in the shape and type in which they were passed; the caller's arrays do not change. `symbols`:
    the module's `__device__` and `__constant__` variables, in the type that was passed for them, else as bytes.
    `counters`, `lines`: over the launch and by line of the file; `printed`: lines of printf; `warnings`: the
    compiler's. `passed`: the arguments and variables by name; `sums`: the checksums of its arrays before the launch;
    `again`: launches once more for the costs; `recorded`: to record a block.
    """

    kernel: str
    file_name: str
    source: str
    arrays: Mapping[str, Array]
    symbols: Mapping[str, Array]
    counters: Mapping[str, float]
    lines: tuple[LineCounters, ...]
    findings: tuple[Finding, ...]
    printed: tuple[str, ...]
    warnings: tuple[str, ...]
    passed: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)
    sums: Mapping[str, int] = field(default_factory=dict, repr=False, compare=False)
    again: Callable[[], Estimate] | None = field(default=None, repr=False, compare=False)
    recorded: Callable[[int], Debugger] | None = field(default=None, repr=False, compare=False)

    @cached_property
    def estimate(self) -> Estimate:
        """Estimate the launch's time on a GPU: `time_us`, from `low_us` to `high_us`, with its `parts` and `what_ifs`.

        It launches once more, to observe the costs. NotRunnable: this run was on a GPU, which can be timed, its `gpu`
        has no known number of SMs, or an array was changed since.
        """
        if self.again is None:
            raise NotRunnable("A run on a GPU has no estimate: time it with `kernel.time(...)`.")
        self._refuse_changes()
        return self.again()

    def debugger(self, block: int = 0) -> Debugger:
        """Return the debugger of a block. It launches once more, in an unoptimised build.

        NotRunnable: there is no such block, this run was on a GPU, or an array was changed since.
        """
        if self.recorded is None:
            raise NotRunnable("A run on a GPU cannot be stepped through: run the kernel on the emulator.")
        self._refuse_changes()
        return self.recorded(block)

    def at(self, line: int | None = None, thread: int = 0, *, block: int = 0, time: int | None = None) -> State:
        """Return the variables of a thread when it is about to execute `line` for the last time, or at moment `time`:
        `run.at(line=12, thread=3)["sum"]`.

        NotRunnable: as for `debugger`, or the thread is not there.
        """
        return self.debugger(block).state(line, thread, time)

    def check(self, right: str) -> Check:
        """Compare an array with a line of NumPy over the arguments as they were before the launch, or with a named
        reference: `run.check("y = a * x + y")`. Floats must lie within the roundings of a kernel.

        The arrays that were passed must be unchanged since. NotRunnable: the line is no formula, or does not fit.
        """
        self._refuse_changes()
        return check_right(right_of(right), self.passed, self.arrays)

    def _refuse_changes(self) -> None:
        """NotRunnable: an array is no longer what it was before the launch."""
        for name, found in _sums_of(self.passed).items():
            if found != self.sums[name]:
                raise NotRunnable(
                    f"{name} was changed after the launch: run the kernel again, and ask before it changes."
                )

    @property
    def ok(self) -> bool:
        """Return whether there is no finding. Whether the answer is right is for the caller to check."""
        return not self.findings

    def _repr_html_(self) -> str:
        """Show in Jupyter the findings, then the source with the counts of each line as a shade."""
        counted = {line.line: with_derived(line.counters) for line in self.lines}
        most = {name: max((line.get(name, 0) for line in counted.values()), default=0) for name in _BESIDE_LINES}
        head = "".join(f"<th>{escape(COUNTERS[name].title)}</th>" for name in _BESIDE_LINES)
        rows = "".join(
            f"<tr><td style='color:#888'>{number}</td>"
            f"<td style='text-align:left'><code style='white-space:pre'>{escape(text)}</code></td>"
            + "".join(_cell(counted.get(number, {}).get(name, 0), most[name]) for name in _BESIDE_LINES)
            + "</tr>"
            for number, text in enumerate(source_lines(self.source), start=1)
        )
        told = "".join(f"<li>{escape(finding.message)}</li>" for finding in self.findings)
        return f"<ul>{told}</ul><table><tr><th></th><th>{escape(self.file_name)}</th>{head}</tr>{rows}</table>"


def _cell(count: float, most: float) -> str:
    if not count:
        return "<td></td>"
    return f"<td style='background:rgba(228,112,37,{0.05 + 0.4 * count / most:.2f})'>{count:,.0f}</td>"


def _sums_of(passed: Mapping[str, object]) -> dict[str, int]:
    """Return a checksum of each array."""
    arrays = {name: np.ascontiguousarray(one) for name, one in passed.items() if isinstance(one, np.ndarray)}
    return {name: adler32(one.reshape(-1).view(np.uint8).data) for name, one in arrays.items()}


def _is_array(argument: object) -> TypeGuard[Array]:
    return isinstance(argument, np.ndarray | GpuArray)


Sizes = int | Sequence[int]


@dataclass(frozen=True)
class OwnKernel:
    """A compiled kernel. `text`: the file as written; `made`: its compilation; `symbol`: the kernel's name in the PTX;
    `parameters`: its parameters."""

    name: str
    text: str
    made: Compilation
    symbol: str
    parameters: tuple[Parameter, ...]

    @property
    def source(self) -> Source:
        """The compiled source: the file without its host part."""
        return self.made.source

    @property
    def warnings(self) -> tuple[str, ...]:
        """The compiler's warnings, a sentence each."""
        return tuple(map(str, self.made.warnings))

    def run(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure] = (),
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
        """Launch once on the emulator or, with `device="gpu"`, on this computer's GPU, which gives no counts and no
        findings.

        `grid`, `block`: one to three sizes. `args`: a NumPy or CuPy array for a pointer, a number for a number, a
        dict, tuple or dataclass of them for a struct, `engine.texture(array)` for a cudaTextureObject_t.
        `shared`: bytes of dynamic shared memory per block. `schedule`: "lockstep", "independent:SEED" or
        "waves:BLOCKS". `names`: the arguments' names in findings, else the parameters' own. `symbols`: values of
        `__constant__` and `__device__` variables. `gpu`: a model, "Tesla V100", whose limits the launch must keep.
        NotRunnable: the launch is refused. RunFailed: it did not end well.
        """
        order = parse_schedule(schedule)
        called = array_names(self.parameters, names)
        handed, step = self._asked(grid, block, args, called, shared, cooperative)
        if gpu is not None:
            check_fits(step, _model(gpu))
        given = dict(symbols or {})
        # An array of a GPU is here as its copy on the host.
        numbers = map(as_held, self.parameters, args)
        passed = {**given, **dict(zip(called, numbers, strict=True)), **handed.arrays}
        sums = _sums_of(passed)
        if device == "gpu":
            if schedule is not None:
                raise NotRunnable("A GPU chooses the order of its lanes and blocks itself; only the emulator can.")
            arrays, values = run(step, handed, self._variables(given), given)
            return replace(self._run(as_given(arrays, called, args), values), passed=passed, sums=sums)
        if device != "emulator":
            raise NotRunnable(f"There is no device {device!r}: choose emulator or gpu.")
        there, observers = Device(), results.usual_observers()
        machine, placed, held = self._launched(there, step, handed, given, observers, order, seconds)
        arrays = {name: contents(placed[name], like) for name, like in handed.arrays.items()}
        values = {
            name: contents(array, given.get(name, np.zeros(array.size, np.uint8))) for name, array in held.items()
        }
        return replace(
            self._run(as_given(arrays, called, args), values),
            counters=results.totals(observers),
            lines=lines_of(Source(self.source.name, self.text, ""), observers),
            findings=results.findings(observers),
            printed=tuple("".join(machine.output).splitlines()),
            passed=passed,
            sums=sums,
            again=partial(self._estimated, step, handed, given, seconds, gpu),
            recorded=lru_cache(maxsize=4)(partial(self._recorded, step, handed, given, order, seconds)),
        )

    def __call__(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure] = (),
        shared_mem: int = 0,
    ) -> KernelRun:
        """Launch on the emulator with the call of CuPy's `RawKernel`: the passed arrays hold the results afterwards.

        Arrays in a struct stay as they are; the results are in `run.arrays`. NotRunnable: the launch is refused, or
        the kernel wrote to an array that is read-only. RunFailed: it did not end well; the arrays are unchanged.
        """
        refuse_overlap(self.name, args)
        arrays = {id(one): one for one in args if _is_array(one)}
        copies = {at: one.copy() for at, one in arrays.items()}  # one array for two parameters is one copy
        run = self.run(grid, block, [copies.get(id(one), one) for one in args], shared=shared_mem)
        for name, argument in zip(array_names(self.parameters, None), args, strict=True):
            given = arrays.get(id(argument))
            if given is not None and name in run.arrays and run.arrays[name].tobytes() != given.tobytes():
                if isinstance(given, np.ndarray) and not given.flags.writeable:
                    raise NotRunnable(f"{self.name} writes to `{name}`, and the array that is passed is read-only.")
                given[...] = run.arrays[name]
        return run

    def _launched(
        self,
        there: Device,
        step: Launch,
        handed: LaunchArguments,
        given: Mapping[str, Array],
        observers: Sequence[Observer],
        order: Schedule,
        seconds: float,
    ) -> tuple[Machine, Mapping[str, DeviceArray], Mapping[str, DeviceArray]]:
        """Launch on the emulator; return the machine, the placed arrays, and the module's variables, by name."""
        variables = self._variables(given)
        bytes_of, placed = place_arguments(there, handed)
        with explain_errors(self.source.name):
            addresses = there.symbols(self.source, self._program())
        found = ((name, there.space.at(addresses[one.symbol])) for name, one in variables.items())
        held = {name: array for name, array in found if array is not None}
        for name, value in given.items():
            held[name].data[: variables[name].size] = np.ascontiguousarray(value).view(np.uint8).reshape(-1)
        return launch_with(there, step, bytes_of, observers, order, Options(seconds=seconds)), placed, held

    def estimate(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure] = (),
        *,
        shared: int = 0,
        cooperative: bool = False,
        symbols: Mapping[str, Array] | None = None,
        seconds: float = SECONDS,
        gpu: str | None = None,
    ) -> Estimate:
        """Launch once on the emulator for its costs, and estimate its time on `gpu`, or on the H200.

        As for `run`, whose `estimate` is the same after its launch. NotRunnable, RunFailed.
        """
        handed, step = self._asked(grid, block, args, array_names(self.parameters, None), shared, cooperative)
        given = dict(symbols or {})
        return self._estimated(step, handed, given, seconds, gpu)

    def first_unread(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure],
        *,
        shared: int = 0,
        cooperative: bool = False,
        seconds: float = SECONDS,
    ) -> dict[str, int]:
        """Launch once on the emulator, and return for each array the first element that no thread reads, if there is
        one. NotRunnable, RunFailed."""
        handed, step = self._asked(grid, block, args, array_names(self.parameters, None), shared, cooperative)
        reads = Reads()
        _, placed, _ = self._launched(Device(), step, handed, {}, (reads,), LOCKSTEP, seconds)
        found = {name: reads.first_unread(placed[name], like.itemsize) for name, like in handed.arrays.items()}
        return {name: place for name, place in found.items() if place is not None}

    def _estimated(
        self, step: Launch, handed: LaunchArguments, given: Mapping[str, Array], seconds: float, gpu: str | None
    ) -> Estimate:
        """Launch for the costs, and return the estimate of the launch's time on `gpu`, or on the H200."""
        watching = CostObserver()
        self._launched(Device(), step, handed, given, (watching,), LOCKSTEP, seconds)
        (costs,) = watching.costs()
        return estimate(RunCosts((with_machine_code(costs, step),), 0), estimated_gpu(_model(gpu) if gpu else H200))

    def record(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure] = (),
        *,
        number: int = 0,
        element: tuple[str, int] | None = None,
        shared: int = 0,
        cooperative: bool = False,
        schedule: str | None = None,
        symbols: Mapping[str, Array] | None = None,
        seconds: float = SECONDS,
        most_bytes: int = MOST_BYTES,
    ) -> Debugger:
        """Launch once on the emulator in an unoptimised build, and record block `number` for the debugger; with an
        `element` of an array, ("y", 1555), the block that writes it last.

        As for `run`. A launch that fails is recorded up to its failure. NotRunnable.
        """
        called = array_names(self.parameters, None)
        handed, step = self._asked(grid, block, args, called, shared, cooperative)
        return self._recorded(
            step, handed, dict(symbols or {}), parse_schedule(schedule), seconds, number, element, most_bytes
        )

    def _recorded(
        self,
        step: Launch,
        handed: LaunchArguments,
        given: Mapping[str, Array],
        order: Schedule,
        seconds: float,
        number: int,
        element: tuple[str, int] | None = None,
        most_bytes: int = MOST_BYTES,
    ) -> Debugger:
        built = unoptimised(self.source)
        other = replace(self, made=replace(self.made, source=built))
        step = replace(step, source=built)

        def execute(observer: Observer) -> str | None:
            return watched(partial(other._launched, Device(), step, handed, given, [observer], order, seconds))

        if element is not None:
            execute(writer := LastWriter(*element))
            number = block_of(writer, element)
        recorder = recorder_of(step, number, 0, most_bytes)
        return debugger_of(recorder, step, self.text, order, execute(recorder) or None)

    def time(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure] = (),
        *,
        cache: str = CACHE_STATES[0],
        shared: int = 0,
        cooperative: bool = False,
        symbols: Mapping[str, Array] | None = None,
    ) -> Timing:
        """Time a launch on this computer's GPU in microseconds, as the catalogue's kernels are timed.

        `cache`: the state of the L2 before each sample, "cold-clean", "cold-dirty" or "hot". The launches run one after
        the other on the same arrays. NotRunnable without a GPU.
        """
        handed, step = self._asked(grid, block, args, array_names(self.parameters, None), shared, cooperative)
        given = dict(symbols or {})
        return time(step, handed, self._variables(given), given, cache)

    def _asked(
        self,
        grid: Sizes,
        block: Sizes,
        args: Sequence[Argument | Structure],
        names: Sequence[str],
        shared: int,
        cooperative: bool,
    ) -> tuple[LaunchArguments, Launch]:
        handed = convert_arguments(self.name, _with_elements(self), args, names, self._fields)
        sizes = _sizes("grid", grid), _sizes("block", block)
        return handed, Launch(self.symbol, self.source, *sizes, (), cooperative, shared)

    def _fields(self, number: int) -> tuple[Field, ...]:
        """Return the fields of parameter `number`, if it is a struct of the file or one of CUDA's vectors."""
        written = _written(self)
        fields = fields_in(self.text, written[number]) if written else {}
        if not fields:
            return vector_fields(self.text, written[number]) if written else ()
        scope = kernels_in(self.text)[bare(self.name)].scope
        found = layout(self.source, written[number], scope, tuple(fields))
        return tuple(replace(one, element=_pointed(self.text, fields[one.name])) for one in found)

    def _run(self, arrays: Mapping[str, Array], symbols: Mapping[str, Array]) -> KernelRun:
        return KernelRun(self.name, self.source.name, self.text, arrays, symbols, {}, (), (), (), self.warnings)

    def _program(self) -> Program:
        with explain_errors(self.source.name):
            return load(self.source, self.symbol)

    def _variables(self, given: Mapping[str, Array]) -> dict[str, Variable]:
        """Return the module's variables that the file declares, by their names in the file. `given` must fit them."""
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
                raise NotRunnable(f"{name} has {found[name].size:,} bytes, but {size:,} are passed for it.")
        return found


@lru_cache(maxsize=64)
def _written(kernel: OwnKernel) -> tuple[str, ...]:
    """Return the parameters as the file writes them; none if these are not the compiled ones."""
    written = typed_parameters(kernel.text, kernel.name, kernels_in(kernel.text)[bare(kernel.name)])
    return written if len(written) == len(kernel.parameters) else ()


@lru_cache(maxsize=64)
def _with_elements(kernel: OwnKernel) -> tuple[Parameter, ...]:
    """Return the parameters, each pointer with what it points to."""
    pairs = zip(kernel.parameters, _written(kernel), strict=False)
    return tuple(replace(one, element=_pointed(kernel.text, own)) for one, own in pairs) or kernel.parameters


def _pointed(text: str, written: str) -> str:
    """Return NumPy's name of the numbers to which a parameter or a field points; "" if unknown, or if it is a
    struct."""
    points = "*" in written or "[" in written
    element = element_of(text, written) if points and not fields_in(text, written) else None
    return element.kind if element else ""


def kernel(source: str | Path, name: str | None = None, *, called: str | None = None) -> OwnKernel:
    """Return the kernel `name` of a .cu file or of a text; None: its only one. `called`: the file's name in messages.

    A template needs its arguments: "sum<float, 128>". "own::sum" and "sum(const float *, int)" choose among kernels of
    one name; the kernel's text is then without the others. Host code, host headers and `main` are ignored. NotRunnable:
    no such file or kernel, or a file that is too long. CompileError: with the line.
    """
    file_name, text, said = read_source(source)
    if name is not None:
        text, name = only_kernel(text, called or file_name, name)
    made = compilation(called or file_name, text, name)
    return _kernels(text, made, said)[0]


def kernels(source: str | Path, *, called: str | None = None) -> tuple[OwnKernel, ...]:
    """Return the kernels of a file, compiled together, templates as the file launches them; see `kernel`.

    `made` of each names the others: `left_out`, `refused`.
    """
    file_name, text, said = read_source(source)
    return _kernels(text, compilation(called or file_name, text, every=True), said)


def _kernels(text: str, made: Compilation, said: str | None) -> tuple[OwnKernel, ...]:
    if said:
        made = replace(made, warnings=(CompilerWarning(said), *made.warnings))
    return tuple(OwnKernel(one.name, text, made, one.symbol, one.parameters) for one in made.kernels)


def read_source(source: str | Path) -> tuple[str, str, str | None]:
    """Return (name in messages, text, sentence on the encoding unless it is UTF-8) of a file's name or a text.

    NotRunnable: there is no such file, or it holds no text.
    """
    if isinstance(source, str) and ("\n" in source or "{" in source):
        return "kernel.cu", source.replace("\ufeff", " ").replace("\r\n", "\n"), None  # a pasted file's mark and lines
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
