"""Run a Plan on the emulator: place its buffers, execute its steps in order, collect counters and findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from engine.backends.emulator.loading import load
from engine.backends.emulator.ptx.program import Program, cut_at_atomics
from engine.backends.emulator.ptx.syntax import PtxError, Variable
from engine.backends.emulator.running import chunk
from engine.backends.emulator.running.dependence import caveats_of
from engine.backends.emulator.state.machine import EmulatorFault, Machine, Options
from engine.backends.emulator.state.memory import AddressSpace, DeviceArray, code_addresses
from engine.backends.emulator.state.schedule import LOCKSTEP, Schedule
from engine.backends.emulator.state.tensor_maps import encode_record
from engine.backends.emulator.watching import results
from engine.backends.emulator.watching.observer import Observer, hooks_of
from engine.backends.launch_limits import check_bound, check_residency, check_sizes
from engine.backends.restored import not_restored
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_launch
from engine.records import (
    Array,
    Buffer,
    Caveat,
    CompileError,
    Counts,
    HostSum,
    Launch,
    LineCounters,
    NotRunnable,
    Plan,
    Progress,
    Run,
    RunFailed,
    Scalar,
    Source,
    TensorMap,
    Zero,
    dtype_of,
)  # fmt: skip
from engine.records.words import source_lines

_POISON = 0xA5
_WORKSPACE_BYTES = 64
_MOST_BYTES = 1 << 30  # of all variables of a source


def run(
    plan: Plan,
    inputs: Mapping[str, Array],
    *,
    progress: Progress | None = None,
    observers: Sequence[Observer] | None = None,
    schedule: Schedule = LOCKSTEP,
    seconds: float | None = None,
) -> Run:
    """Execute `plan` on the emulator.

    `inputs`: buffer name -> array with the buffer's dtype and at least its count; never changed. `observers`: by
    default every counter and the hazard checks. `seconds`: the limit of processor time. Returns the first
    `plan.result_count` elements of `plan.result` or, if the last step is a HostSum, that one number. Raises RunFailed,
    with the reason in one sentence, or CompileError.
    """
    return execute(plan, inputs, progress, observers, schedule, Options(seconds=seconds))


def execute(
    plan: Plan,
    inputs: Mapping[str, Array],
    progress: Progress | None = None,
    observers: Sequence[Observer] | None = None,
    schedule: Schedule = LOCKSTEP,
    options: Options | None = None,
) -> Run:
    """Execute a plan with the emulator's own options."""
    options = options or Options()
    device = Device()
    for buffer in plan.buffers:
        device.place(buffer, inputs)
    watching = results.usual_observers() if observers is None else observers
    printed: list[str] = []
    programs: dict[Program, Source] = {}
    host_sum: Array | None = None
    for number, step in enumerate(plan.steps):
        if isinstance(step, Launch):
            report = _partial_progress(progress, number, len(plan.steps))
            machine = launch(device, step, watching, schedule, options, report)
            printed += machine.output
            programs[machine.program] = step.source
            host_sum = None
        elif isinstance(step, Zero):
            device.arrays[step.buffer].data[:] = 0
        elif isinstance(step, HostSum):
            host_sum = _host_sum(device, step)
        else:
            raise RunFailed("crashed", f"{step.function} runs on the CPU, not on the emulator.")
    output = host_sum if host_sum is not None else device.read(plan.result, plan.result_count)
    totals = results.totals(watching)
    counts = Counts(totals, *_lines_and_caveats(programs, watching)) if totals else None
    left = not_restored(plan, device.read)
    return Run(output, counts, (*results.findings(watching), *left), tuple("".join(printed).splitlines()))


class Device:
    """The memory of a run: the plan's buffers, and the variables of every launched source."""

    def __init__(self) -> None:
        self.space = AddressSpace()
        self.arrays: dict[str, DeviceArray] = {}
        self.kinds: dict[str, np.dtype[Any]] = {}
        self._loaded: dict[Source, Mapping[str, int]] = {}
        self.launches = 0

    def place(self, buffer: Buffer, inputs: Mapping[str, Array]) -> None:
        """Allocate a buffer and fill it."""
        kind = dtype_of(buffer.dtype)
        if buffer.fill == "input":
            data = np.ascontiguousarray(inputs[buffer.name], kind)[: buffer.count]
            if data.size < buffer.count:
                raise RunFailed("crashed", f"The input `{buffer.name}` has {data.size} of {buffer.count} elements.")
        else:
            data = np.full(buffer.count * kind.itemsize, _POISON if buffer.fill == "poison" else 0, np.uint8).view(kind)
        self.arrays[buffer.name] = self.space.add(buffer.name, data, kind.itemsize)
        self.kinds[buffer.name] = kind

    def read(self, name: str, count: int) -> Array:
        """Return a copy of the first elements of a buffer."""
        kind = self.kinds[name]
        return self.arrays[name].data[: count * kind.itemsize].view(kind).copy()

    def symbols(self, source: Source, program: Program) -> Mapping[str, int]:
        """Return the addresses of the module variables, which keep their values between launches."""
        found = self._loaded.get(source)
        if found is None:
            size = sum(max(v.size, len(v.data)) for v in program.constants.values())
            if size > _MOST_BYTES:
                raise PtxError(
                    f"the variables of {source.name} have {size:,} bytes; at most {_MOST_BYTES:,} are possible here"
                )
            placed = {
                name: self.space.add(name, np.frombuffer(_initial(v), np.uint8), 1, v.space == "const")
                for name, v in program.constants.items()
            }
            found = self._loaded[source] = {name: array.base for name, array in placed.items()}
            pointed = {**found, **code_addresses(program.functions)}
            for name, variable in program.constants.items():
                for offset, target in variable.references:
                    view = placed[name].data[offset : offset + 8].view(np.uint64)
                    view[0] = pointed.get(target, 0)
        return found


def _initial(variable: Variable) -> bytes:
    return variable.data.ljust(variable.size, b"\0") if variable.size else variable.data


def launch(
    device: Device,
    step: Launch,
    observers: Sequence[Observer] = (),
    schedule: Schedule = LOCKSTEP,
    options: Options | None = None,
    progress: Progress | None = None,
) -> Machine:
    """Execute one launch on the buffers of `device`."""
    with explain_errors(step.source.name):
        check_sizes(step)
        compile_launch(step, EMULATED_ARCHITECTURE)
        program = load(step.source, step.kernel)
        arguments = _arguments(device, program, step)
        return _run_launch(device, program, step, arguments, observers, schedule, options, progress)


def launch_with(
    device: Device,
    step: Launch,
    values: Sequence[bytes],
    observers: Sequence[Observer],
    schedule: Schedule = LOCKSTEP,
    options: Options | None = None,
) -> Machine:
    """Execute one launch with `values` as its arguments' bytes; they may contain addresses in `device`."""
    with explain_errors(step.source.name):
        check_sizes(step)
        program = load(step.source, step.kernel)
        arguments = dict(zip([param.name for param in program.params], values, strict=True))
        return _run_launch(device, program, step, arguments, observers, schedule, options, None)


def _run_launch(
    device: Device,
    program: Program,
    step: Launch,
    arguments: Mapping[str, bytes],
    observers: Sequence[Observer],
    schedule: Schedule,
    options: Options | None,
    progress: Progress | None,
) -> Machine:
    check_bound(step)
    check_residency(step)
    if schedule.kind == "independent":
        program = cut_at_atomics(program)
    machine = Machine(
        program, device.space, arguments, device.symbols(step.source, program), step.grid, step.block,
        step.source.name, step.shared_bytes, step.cooperative, _workspace(device, step), device.launches, schedule,
        options or Options(), hooks_of(observers), step.source,
    )  # fmt: skip
    device.launches += 1
    for observer in observers:
        observer.on_launch(machine)
    try:
        chunk.run(machine, progress)
    finally:
        machine.close()
    return machine


@contextmanager
def explain_errors(name: str) -> Iterator[None]:
    """Turn any error inside into RunFailed with one sentence. `name`: the name of the .cu file.

    An internal error of the emulator keeps its cause; its sentence says that the kernel is not at fault.
    """
    try:
        yield
    except (RunFailed, CompileError, NotRunnable):
        raise
    except PtxError as error:
        raise RunFailed("crashed", error.sentence(name), error.line) from None
    except MemoryError:
        raise RunFailed("crashed", f"{name}: the emulator has too little memory for this launch.") from None
    except EmulatorFault as fault:
        raise _fault(name, fault.__cause__ or fault, fault.line) from fault.__cause__
    except Exception as error:
        raise _fault(name, error, 0) from error


def _fault(name: str, cause: BaseException, line: int) -> RunFailed:
    place = f"{name}, line {line}" if line else name
    sentence = (
        f"{place}: this is a fault of the emulator, not of your kernel; please report it together with the kernel "
        f"({type(cause).__name__})."
    )
    return RunFailed("crashed", sentence, line or None)


def _workspace(device: Device, step: Launch) -> int:
    """Return the address of grid.sync()'s counter, 0 if the launch is not cooperative."""
    if not step.cooperative:
        return 0
    return device.space.add("workspace of grid.sync()", np.zeros(_WORKSPACE_BYTES, np.uint8), 4).base


def _arguments(device: Device, program: Program, step: Launch) -> dict[str, bytes]:
    if len(step.args) != len(program.params):
        raise PtxError(f"{step.kernel} takes {len(program.params)} arguments but gets {len(step.args)}")
    made = {}
    for param, argument in zip(program.params, step.args, strict=True):
        if isinstance(argument, Scalar):
            raw = np.array([argument.value], dtype_of(argument.dtype)).tobytes()
        elif isinstance(argument, TensorMap):
            raw = encode_record(argument, device.arrays[argument.buffer].base)
        else:
            raw = device.arrays[argument].base.to_bytes(8, "little")
        if len(raw) != param.size:
            given = argument.buffer if isinstance(argument, TensorMap) else argument
            what = given.dtype if isinstance(given, Scalar) else f"the array `{given}`"
            raise PtxError(f"an argument of {step.kernel} has {param.size} bytes, but {what} is passed for it")
        made[param.name] = raw
    return made


def _host_sum(device: Device, step: HostSum) -> Array:
    values = device.read(step.buffer, step.count)
    return np.add.reduce(values, dtype=values.dtype, keepdims=True)


def _partial_progress(progress: Progress | None, number: int, count: int) -> Progress | None:
    if progress is None:
        return None
    return lambda fraction, text: progress((number + fraction) / count, text)


def lines_of(source: Source, observers: Sequence[Observer]) -> tuple[LineCounters, ...]:
    """Return the counters of the source lines that have any."""
    text = source_lines(source.text)
    made = [LineCounters(line, text[line - 1] if 0 < line <= len(text) else "", totals)
            for line, totals in results.by_line(observers, source.name).items()]  # fmt: skip
    return tuple(made)


def _lines_and_caveats(
    programs: Mapping[Program, Source], observers: Sequence[Observer]
) -> tuple[tuple[LineCounters, ...], tuple[Caveat, ...]]:
    """Return the counted lines of the first source, and the caveats of its programs in the order of lines."""
    main = next(iter(programs.values()), None)
    if main is None:
        return (), ()
    caveats = {caveat for program, source in programs.items() if source == main for caveat in caveats_of(program)}
    return lines_of(main, observers), tuple(sorted(caveats, key=lambda caveat: caveat.line))


__all__ = ["Device", "execute", "explain_errors", "launch", "launch_with", "lines_of", "run"]
