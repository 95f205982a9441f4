"""One check of a draft, in a worker: its answer, its counts, and marks at its lines. The record holds any failure.

check_rung(choice) -> Checked: a rung's own plan and check, with the draft as its source

check_own(setup, n, text, ...) -> Checked: the user's own launch, against a named reference or none

estimate_own(setup, n, text, ...) -> Estimate: of its time on a GPU

time_own(setup, n, text, ...) -> Measurement: the same on a GPU

debug_rung(choice, ...), debug_own(setup, n, text, ...) -> Debugger: a recorded block
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import cycle, product
from math import prod
from typing import Any

import numpy as np

from engine.backends.backend import backend_named
from engine.backends.emulator.backend import DEVICE, SECONDS
from engine.backends.emulator.instructions.dispatch import not_emulated
from engine.backends.emulator.launch import explain_errors
from engine.backends.emulator.loading import load
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.backends.emulator.watching.races.findings import STARTS_UNDEFINED
from engine.backends.measure import SHOWN, failed, measure, verdict, with_elements
from engine.backends.restored import changed, is_const
from engine.catalogue import kernel_named, topic_of
from engine.compile.nvrtc import EMULATED_ARCHITECTURE, compile_with_log
from engine.lab.arguments import Argument, Structure, array_names, arrays_and_numbers
from engine.lab.compilation import compilation
from engine.lab.debugger import Debugger
from engine.lab.expressions import evaluate
from engine.lab.formula import value_of
from engine.lab.kernel_traits import compared_with, has_atomics, has_variables, waits
from engine.lab.kernels import KernelRun, OwnKernel, Sizes, kernel
from engine.lab.marks import Mark, compiler_marks, error_marks, finding_marks, warning_marks
from engine.lab.recording import record_rung
from engine.lab.references import reference_named
from engine.lab.setups import Formula, Launching, Right, Setup, check_right, launching, too_large_part
from engine.lab.signatures import bare, kernels_in
from engine.lab.top_level import declarations
from engine.lab.trial_parameters import other_numbers
from engine.lab.trials import (
    LARGE,
    ORDERS,
    SEARCHED,
    ends_for,
    fitting,
    no_number,
    reading_trials,
    searches,
    trial_of,
    unset_arrays,
)
from engine.machine.environment import environment
from engine.model.estimate import Estimate
from engine.plan import plan, settle
from engine.records import (
    Array,
    Check,
    Choice,
    CompileError,
    Counts,
    Finding,
    Launch,
    Measurement,
    NotRunnable,
    Progress,
    RunFailed,
    Settled,
    Source,
)

RECORDED_BYTES = 32 << 20  # of a recording for a reader of the dashboard
NOT_TRIED = "A shared GPU runs only texts that ended well on the emulator, and this one did not"


def try_on_emulator(kernel: OwnKernel, grid: Sizes, block: Sizes, args: Sequence[Argument], **more: Any) -> KernelRun:
    """Launch on the emulator; `more` as of `Kernel.run`.

    NotRunnable: the launch met a wild access or a deadlock, took too long, or uses an unsupported instruction.
    """
    with _ended_well():
        check_known([(kernel.source, kernel.symbol)])
        return kernel.run(grid, block, args, **more)


def why_barred(ended: Exception | None, launches: Iterable[tuple[Source, str]]) -> str | None:
    """Return why a shared GPU refuses to run this; None: it runs it.

    `ended`: the exception that ended the emulated run, None if it ended well; `launches`: the source and kernel of
    each.
    """
    try:
        with _ended_well():
            if ended is not None:
                raise ended
            check_known(launches)
    except (NotRunnable, CompileError) as refused:
        return str(refused)
    return None


def check_known(launches: Iterable[tuple[Source, str]]) -> None:
    """Raise NotRunnable for a kernel with an instruction, executed or not, that the emulator does not support."""
    for source, symbol in launches:
        with explain_errors(source.name):
            for item in not_emulated(load(source, symbol)):
                raise NotRunnable(
                    f"{source.name}, line {item.line}: the emulator does not know {item.opcode}, and a shared GPU runs "
                    "only what it has tried.",
                    item.line,
                )


@contextmanager
def _ended_well() -> Iterator[None]:
    try:
        yield
    except RunFailed as error:
        raise NotRunnable(f"{NOT_TRIED}: {error}") from None


_FAILURES = (NotRunnable, CompileError, RunFailed)


@dataclass(frozen=True)
class ArrayShown:
    """An array after a launch: its first elements (None for a value that is not finite), and its number of elements."""

    name: str
    dtype: str
    count: int
    first: tuple[float | int | bool | None, ...]


@dataclass(frozen=True)
class Checked:
    """The result of a draft. `arrays`: those of the user's own launch; without a reference they are the answer.

    `measurement.check` is None if nothing was checked; its status is then "ok" unless there is a finding. `barred`: why
    a shared GPU does not run it; None: it does. `remark`: what another run than the one asked for has shown.
    """

    measurement: Measurement
    marks: tuple[Mark, ...] = ()
    arrays: tuple[ArrayShown, ...] = ()
    remark: str | None = None
    barred: str | None = f"{NOT_TRIED}."


def check_rung(choice: Settled, progress: Progress | None = None) -> Checked:
    """Run `measure`, and if the draft is right, again in other orders and at sizes that blocks do not divide; add the
    compiler's warnings and the marks. `choice` has the draft as its source."""
    found = _checked_rung(choice, progress)
    if not _is_right(found):
        return found
    fewer = _fewer(found, choice.n)
    for order, odd in zip(orders_of(choice), cycle((-1, 1)), strict=False):
        size = _size_in(order, fewer)
        again = replace(choice, schedule=order, n=size + odd)
        other = _checked_rung(again)
        if other.measurement.status == "refused":  # the kernel has no such size
            again = replace(again, n=size)
            other = _checked_rung(again)
        if (
            _is_missed(other)
            and _checked_rung(replace(again, source=None, source_name=None)).measurement.status == "ok"
        ):
            return _differs(found, other, again.n, numbers=False)
    return found


def check_own(
    setup: Setup, n: int, text: str, file_name: str, schedule: str | None = None, again: bool = True
) -> Checked:
    """Launch the kernel that `setup` names, and compare the result with the setup's reference. `again`: if it is right,
    launch it with other numbers in other orders, and at sizes that blocks do not divide."""
    found = _checked_own(setup, n, text, file_name, schedule)
    if again and schedule is None and found.measurement.status == "deadlock":
        alone = _checked_own(setup, n, text, file_name, ORDERS[0])
        return replace(found, remark=RIGHT_SINCE_VOLTA) if _is_right(alone) else found
    if not again or not _is_right(found):
        return found
    fewer = _fewer(found, n) if setup.sized else n
    for order, trial in _tries(setup, kernel(f"{text}\n", setup.kernel, called=file_name)):
        size = _size_in(order, fewer) if setup.sized else n
        other = _checked_own(setup, size, text, file_name, order, trial)
        if other.measurement.status == "out-of-bounds":  # a counting sort uses its numbers as indices
            other = _checked_own(setup, size, text, file_name, order, trial=0, places=trial_of(order))
        finishes = other.measurement.status != "deadlock" or not (schedule or "").startswith("independent")
        if not finishes and _checked_own(setup, size, text, file_name, None).measurement.status == "deadlock":
            continue  # not for the order of blocks: lanes of a warp wait for each other
        if _is_missed(other, setup.sized):
            unwritten = _unwritten(setup, other)
            if unwritten is not None:
                return replace(other, remark=unwritten)
            if size < n and _is_missed(at_size := _checked_own(setup, size, text, file_name, schedule)):
                return _only_here(found, at_size, size)
            return _differs(found, other, size if setup.sized else None, numbers=True, asked=schedule)
    several = _several_passes(setup, n, _size_in(ORDERS[LARGE - 1], fewer))
    if several is not None:
        other = _checked_own(setup, several, text, file_name, schedule, LARGE)
        if _is_missed(other):
            return _differs(found, other, several, numbers=True, asked=schedule)
    for size, end in product(_sizes_near(fewer, setup) if setup.sized else (), ends_for(setup.right)):
        other = _checked_own(setup, size, text, file_name, schedule, end)
        if _is_missed(other) and (end is None or other.measurement.status == "wrong"):
            return _only_here(found, other, size)
    unread = (
        _unread(setup, fewer, text, file_name)
        or _left_out(setup, fewer, text, file_name)
        or _at_constants(setup, fewer, text, file_name)
    )
    if unread is not None:
        return _differs(found, unread, fewer if setup.sized else None, numbers=True)
    left = (
        _left_behind(setup, fewer, text, file_name)
        or _read_unset(setup, fewer, text, file_name)
        or _ignored(setup, fewer, text, file_name, schedule)
    )
    return found if left is None else replace(found, remark=left)


def _tries(setup: Setup, own: OwnKernel) -> list[tuple[str, int]]:
    """Return the further orders, with the trial of the numbers of each: more orders for searches, and for threads that
    wait for each other."""
    if searches(setup.right):
        return [(order, trial_of(order)) for order in SEARCHED]
    more = SEARCHED[len(ORDERS) :] if waits(own) else ()
    return [(order, trial_of(order)) for order in ORDERS] + [(order, trial_of(ORDERS[0])) for order in more]


def _left_behind(setup: Setup, n: int, text: str, file_name: str) -> str | None:
    """Return a sentence if a second launch gives a wrong answer, as the first one has left its numbers in a variable of
    the file, such as a counter of the blocks that are done."""
    own, made = _prepared(setup, n, text, file_name)
    if not has_variables(own):
        return None
    launch = partial(_launcher(setup, own, made), made.arguments)
    sentence = "Right at the first launch only: a second one starts with the numbers that the first has left in "
    try:
        first = launch()
        if not _agrees(setup, first):
            return None
    except _FAILURES:
        return None
    try:
        second = launch(symbols=first.symbols)
        if _agrees(setup, second):
            return None
    except _FAILURES:
        return f"{sentence}the file's variables."
    names = [name for name, before in first.symbols.items() if not np.array_equal(before, second.symbols[name])]
    return f"{sentence}`{names[0]}`." if len(names) == 1 else f"{sentence}the file's variables."


def _unread(setup: Setup, n: int, text: str, file_name: str) -> Checked | None:
    """Return a run that is wrong because an element that no thread reads decides."""
    for reading, deciding in reading_trials(setup.right):
        own, made = _prepared(setup, n, text, file_name, reading)
        found = _wrong_at(setup, n, text, file_name, _unread_places(setup, own, made).values(), deciding)
        if found is not None:
            return found
    return None


def _wrong_at(
    setup: Setup, n: int, text: str, file_name: str, places: Iterable[int], trials: Iterable[int]
) -> Checked | None:
    """Return a run of these trials that is wrong, with the deciding number at one of these places."""
    for place, trial in product(places, trials):
        other = _checked_own(setup, n, text, file_name, None, trial, odd=place)
        if other.measurement.status == "wrong":
            return other
    return None


def _unread_places(setup: Setup, own: OwnKernel, made: Launching) -> dict[str, int]:
    """Return the first element that no thread reads of each array of random numbers or indices; none if the run
    fails."""
    try:
        places = own.first_unread(
            made.grid, made.block, made.arguments, shared=made.shared, cooperative=setup.cooperative, seconds=SECONDS
        )
    except _FAILURES:
        return {}
    named = zip(array_names(own.parameters, None), setup.arguments, strict=True)
    given = {name for name, words in named if words.endswith(("=random", "=indices"))}
    return {name: place for name, place in places.items() if name in given}


_NEXT, _MOST_VALUES = 3, 16  # elements of a row that is left out; other numbers of the array in their place


def _left_out(setup: Setup, n: int, text: str, file_name: str) -> Checked | None:
    """Return a run that is wrong because the line has another value with another number in an element that no thread
    reads, such as the last edge of a graph whose nodes other edges reach, too."""
    right = setup.right
    if not isinstance(right, Formula):
        return None
    own, made = _prepared(setup, n, text, file_name)
    passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
    arrays, numbers = arrays_and_numbers(passed)
    for name, first in _unread_places(setup, own, made).items():
        array, values = arrays[name], dict.fromkeys(arrays[name].ravel()[:_MOST_VALUES].tolist())
        for place, value in product(range(first, min(first + _NEXT, array.size)), values):
            other = array.copy()
            other.flat[place] = value
            try:
                before, after = (value_of(right.line, {**arrays, name: one}, numbers).of for one in (array, other))
            except NotRunnable:
                break
            if not np.array_equal(before, after, equal_nan=True):
                found = _checked_own(setup, n, text, file_name, None, 0, instead={name: other})
                if found.measurement.status == "wrong":
                    return found
    return None


_MOST_PLACES = 4  # at which the deciding number stands, of those that a kernel compares with


def _at_constants(setup: Setup, n: int, text: str, file_name: str) -> Checked | None:
    """Return a run that is wrong because the element decides whose number is a constant of the kernel, as 37 in
    `if (x[i] < 0 && i % 64 != 37)`: a kernel may read an element and drop it."""
    if len(ends_for(setup.right)) == 1:  # no number decides alone
        return None
    own, made = _prepared(setup, n, text, file_name)
    most = max((one.size for one in made.arguments if isinstance(one, np.ndarray)), default=0)
    places = [int(number) for number in compared_with(own, "i") if 0 < number < most]
    trials = dict.fromkeys(trial for _, deciding in reading_trials(setup.right) for trial in deciding)
    return _wrong_at(setup, n, text, file_name, places[:_MOST_PLACES], trials)


def _read_unset(setup: Setup, n: int, text: str, file_name: str) -> str | None:
    """Return a sentence if the answer is right only because arrays without a fill start with zeros."""
    own, made = _prepared(setup, n, text, file_name)
    unset = unset_arrays(setup, made, own)
    launch = _launcher(setup, own, made)
    for name in unset if setup.right and not has_atomics(own) else ():  # of atomics the host clears the array
        try:
            if _agrees(setup, launch(_exchanged(own, made, name, unset[name]))):
                continue
        except _FAILURES:
            continue
        return (
            f"Right only because `{name}` starts with zeros here: the kernel reads an element of it before it writes "
            "it. If the host clears the array before the launch, fill it with zeros here, too."
        )
    return None


def _ignored(setup: Setup, n: int, text: str, file_name: str, schedule: str | None) -> str | None:
    """Return a sentence if a number of the launch decides what is right, but not what the kernel computes."""
    own, made = _prepared(setup, n, text, file_name)
    others = other_numbers(setup, made, own)
    launch = partial(_launcher(setup, own, made), schedule=schedule)
    names = array_names(own.parameters, None)
    first = launch(made.arguments) if others else None
    for name, other in others.items():
        try:
            second = launch(_exchanged(own, made, name, other))
        except _FAILURES:
            continue
        if first and all(first.arrays[each].tobytes() == one.tobytes() for each, one in second.arrays.items()):
            passed = made.arguments[names.index(name)]
            return (
                f"With {name} = {other:,} the kernel computes the same numbers as with {name} = {passed:,}, but "
                f"{setup.right} does not: the kernel may ignore `{name}`."
            )
    return None


def _launcher(setup: Setup, own: OwnKernel, made: Launching) -> Callable[..., KernelRun]:
    """Return what launches on the emulator, with other arguments than those of `made`."""
    return partial(own.run, made.grid, made.block, shared=made.shared, cooperative=setup.cooperative, seconds=SECONDS)


def _exchanged(own: OwnKernel, made: Launching, name: str, other: Argument) -> list[Argument | Structure]:
    """Return the arguments of a launch with another one for the parameter `name`."""
    names = array_names(own.parameters, None)
    return [other if each == name else one for each, one in zip(names, made.arguments, strict=True)]


def _agrees(setup: Setup, run: KernelRun) -> bool:
    """Return whether a run ends well and with the right answer, if there is one."""
    found = _check(setup, run)
    return not run.findings and (found is None or found.ok)


def _unwritten(setup: Setup, other: Checked) -> str | None:
    """Return a sentence if the first wrong element of a further run is one that the kernel does not write."""
    check, right = other.measurement.check, setup.right
    kind = next((np.dtype(one.dtype) for one in other.arrays if right is not None and one.name == right.out), None)
    if check is None or check.ok or right is None or kind is None or kind.kind not in "iuf":
        return None
    if not np.array_equal(check.result, no_number(kind), equal_nan=kind.kind == "f") or np.isnan(check.expected):
        return None
    return (
        f"The run that you asked for was right, because arrays start with zeros there. The kernel does not write this "
        f"element of `{right.out}`. If the host clears the array before the launch, fill it with zeros here, too."
    )


def _several_passes(setup: Setup, n: int, tried: int) -> int | None:
    """Return a size up to n at which some threads of a grid that does not grow have three elements: sums of a thread
    are large only there. None if the grid grows, or `tried` is as large."""
    sizes = (*setup.grid, *setup.block)
    if not setup.sized or any(re.search(r"\bn\b", words) for words in sizes):
        return None
    made = launching(setup, n)
    size = min(n, 2 * prod(made.grid) * prod(made.block) + 1)
    return size if size > tried else None


def _sizes_near(n: int, setup: Setup) -> tuple[int, ...]:
    """Return the sizes at which a right launch is repeated: one more and one less, and the last one that blocks divide,
    with one more than it. At these the last block is full, or has one element. At half of it a loop that halves takes
    one step less."""
    block = max(1, evaluate(setup.block[0], {"n": n}))
    full = n - n % block
    written = re.findall(r"\b\d+", f"{setup.arguments} {setup.right}")
    half = [n // 2] if sum(map(int, written)) <= n // 2 else []  # else a part that they name may not fit
    return tuple(
        size for size in dict.fromkeys((n - 1, n + 1, *((full + 1, full) if full else ()), *half)) if size not in (0, n)
    )


RIGHT_SINCE_VOLTA = (
    f"In the order {ORDERS[0]} this launch ends and is right: since Volta the lanes of a warp go on by themselves. On "
    "a GPU up to Pascal it never ends. Choose that order to check it."
)
_MOST_AGAIN = 16  # power of two of warp instructions, up to which a run is repeated at the same size
_MOST_IN_WAVES = 2048  # elements that are not reduced for a run whose blocks take turns, which is slow


def orders_of(choice: Choice) -> tuple[str, ...]:
    """Return the other orders in which a kernel of the catalogue is tried: more, if its data depend on the order."""
    usual, other = (
        topic_of(kernel_named(choice.kernel)).input_recipe(replace(choice, schedule=schedule, n=min(choice.n, 1000)))
        for schedule in (None, ORDERS[0])
    )
    return ORDERS if all(other[name][0] is numbers for name, (numbers, _) in usual.items()) else SEARCHED


def _is_right(found: Checked) -> bool:
    return found.measurement.status == "ok" and found.measurement.counters is not None


def _is_missed(other: Checked, sized: bool = True) -> bool:
    """Return whether a further run shows that a draft is wrong. A refused size shows nothing, and neither does a run
    that has more blocks than time, or that can have no fewer: only a short one that stays at a line may never end."""
    measurement = other.measurement
    slow = measurement.status == "timeout" and not (measurement.line and sized)
    return measurement.status not in ("ok", "refused") and not slow


def _fewer(found: Checked, n: int) -> int:
    """Return the size at which a run is repeated: `n`, or the part of it that costs as much as a short run."""
    counters = found.measurement.counters or {}
    return max(1, n >> max(0, int(counters.get("warp_instructions", 0)).bit_length() - _MOST_AGAIN))


def _size_in(order: str, size: int) -> int:
    """Return the size at which a run is repeated in an order; `size` is for orders in which blocks run together."""
    return max(size >> 3, min(size, _MOST_IN_WAVES)) if order.startswith("waves") else size


def _differs(found: Checked, other: Checked, n: int | None, numbers: bool, asked: str | None = None) -> Checked:
    """Return a further run in place of the first one, `found`, without counts, which belong to the run that was asked
    for, in the order `asked`. `n`: None if the launch has sizes of its own."""
    measurement = other.measurement
    what = " and ".join(["with other numbers"] * numbers + ([] if n is None else [f"at N = {n:,}"]))
    if measurement.choice.schedule != asked:
        what += f" in another order ({schedule_line(parse_schedule(measurement.choice.schedule))})"
    was, is_now = ("was right", "was not") if found.measurement.check else ("showed no fault", "has one")
    remark = f"The run that you asked for {was}. This one, {what}, {is_now}."
    return replace(other, measurement=replace(measurement, counts=None), remark=remark)


def _only_here(found: Checked, other: Checked, n: int) -> Checked:
    where = (
        f"Right at this N, but not at N = {n:,}." if found.measurement.check
        else f"No fault showed at this N, but one does at N = {n:,}."
    )  # fmt: skip
    return replace(found, remark=f"{where} {other.measurement.reason}")


def _checked_rung(choice: Settled, progress: Progress | None = None) -> Checked:
    name = choice.source_name or choice.kernel
    try:
        measurement = measure(choice, progress)
        launches = [step for step in plan(choice).steps if isinstance(step, Launch)]
    except _FAILURES as error:
        return _failed(choice, error, name)
    refused = why_barred(None, [(step.source, step.kernel) for step in launches])
    marks = (*_warnings_of(launches, name), *finding_marks(measurement.findings))
    return Checked(measurement, marks, barred=refused)


def _warnings_of(launches: Sequence[Launch], file_name: str) -> tuple[Mark, ...]:
    """Return the compiler's warnings for the sources of these launches. CompileError: one does not compile."""
    sources = dict.fromkeys(step.source for step in launches)
    logs = "\n".join(compile_with_log(source, EMULATED_ARCHITECTURE).warnings for source in sources)
    return compiler_marks(file_name, logs)


def _checked_own(
    setup: Setup, n: int, text: str, file_name: str, schedule: str | None, trial: int | None = None,
    places: int | None = None, odd: int | None = None, instead: Mapping[str, Array] | None = None,
) -> Checked:  # fmt: skip
    """Check a launch in an order. `trial`: of the numbers; None: those that belong to the order. `places`: the trial of
    the parameters that are places, if it is another one. `odd`: where the number stands that decides a search.
    `instead`: arrays in place of the trial's."""
    asked = Choice(setup.kernel, n, 1, device="emulator", schedule=schedule, source=text, source_name=file_name)
    try:
        trial = trial_of(schedule) if trial is None else trial
        made = launching(setup, n, trial)
        asked = _sized(asked, made)
        own = kernel(f"{text}\n", setup.kernel, called=file_name)
        made = fitting(setup, made, own, trial, places, odd)
        if instead:
            named = zip(array_names(own.parameters, None), made.arguments, strict=True)
            made = replace(made, arguments=tuple(instead.get(name, one) for name, one in named))
        run = own.run(
            made.grid, made.block, made.arguments, shared=made.shared, cooperative=setup.cooperative,
            schedule=schedule, seconds=SECONDS,
        )  # fmt: skip
        found = _check(setup, run)
    except _FAILURES as error:
        return _failed(asked, error, file_name)
    made_of = _record(asked, own, run, found, _changed_inputs(setup, made, own, run))
    too_large = _too_large(setup, run, found) if found else None
    if too_large:
        measured = made_of.measurement
        made_of = replace(made_of, measurement=replace(measured, reason=f"{measured.reason} {too_large}"))
    return replace(made_of, barred=why_barred(None, [(own.source, own.symbol)]))


def _too_large(setup: Setup, run: KernelRun, found: Check) -> str | None:
    """Return a sentence if a number is wrong for being infinite or no number, and a part of the line is too large for
    the type of the answer."""
    right = setup.right
    if found.ok or np.isfinite(found.result) or not np.isfinite(found.expected) or not isinstance(right, Formula):
        return None
    kind = run.arrays[right.out].dtype
    part = too_large_part(right, run.passed, kind)
    return part and f"`{part}` is too large for a {kind} in this run: the kernel has to do without it."


def _prepared(setup: Setup, n: int, text: str, file_name: str, trial: int = 0) -> tuple[OwnKernel, Launching]:
    """Return the compiled kernel, and its launch with the arguments that the reference needs."""
    made = launching(setup, n, trial)
    own = kernel(f"{text}\n", setup.kernel, called=file_name)
    return own, fitting(setup, made, own, trial)


def estimate_own(setup: Setup, n: int, text: str, file_name: str) -> Estimate:
    """Estimate the time of a reader's own launch on the H200. NotRunnable, CompileError, RunFailed."""
    own, made = _prepared(setup, n, text, file_name)
    return own.estimate(made.grid, made.block, made.arguments, shared=made.shared, cooperative=setup.cooperative,
                        seconds=SECONDS)  # fmt: skip


def debug_rung(choice: Settled, block: int, launch: int, element: tuple[str, int] | None) -> Debugger:
    """Record a block of a rung's draft for the debugger, or the block that writes an element last. It may raise."""
    return record_rung(choice, block, launch, element, RECORDED_BYTES)


def debug_own(
    setup: Setup, n: int, text: str, file_name: str, schedule: str | None, block: int, element: tuple[str, int] | None
) -> Debugger:
    """Record a block of a reader's own launch, as `debug_rung` does. It may raise."""
    own, made = _prepared(setup, n, text, file_name)
    return own.record(made.grid, made.block, made.arguments, number=block, element=element, shared=made.shared,
                      cooperative=setup.cooperative, schedule=schedule, seconds=SECONDS,
                      most_bytes=RECORDED_BYTES)  # fmt: skip


def time_own(setup: Setup, n: int, text: str, file_name: str) -> Measurement:
    """Launch on this computer's GPU: check the answer again, and time it unless it is wrong.

    For a launch that was checked on the emulator before. NotRunnable, CompileError, RunFailed.
    """
    own, made = _prepared(setup, n, text, file_name)
    asked = _sized(Choice(setup.kernel, n, 1, device="gpu", source=text, source_name=file_name), made)
    sizes, together = (made.grid, made.block, made.arguments), setup.cooperative
    run = own.run(*sizes, shared=made.shared, cooperative=together, device="gpu")
    found = _check(setup, run)
    status, reason = verdict(found, ()) if found else ("ok", None)
    right = status == "ok"
    timing = own.time(*sizes, shared=made.shared, cooperative=together) if right else None
    device = backend_named("gpu").describe()
    return Measurement(asked, device, status, reason, None, asked.grid_size, found, timing, environment=environment())


def _sized(asked: Choice, made: Launching) -> Choice:
    return replace(asked, block_size=prod(made.block), grid_size=prod(made.grid))


def _check(setup: Setup, run: KernelRun) -> Check | None:
    """Compare the answer with what is right of the arguments as they were passed; None if nothing says that."""
    right = setup.right
    if right is None:
        return None
    found = check_right(right, run.passed, run.arrays)
    return with_elements(run.arrays[right.out], found)


def _changed_inputs(setup: Setup, made: Launching, own: OwnKernel, run: KernelRun) -> tuple[Finding, ...]:
    """Return a finding for a const array that the reference reads and the kernel has changed."""
    if not isinstance(setup.right, Right):
        return ()
    named = zip(array_names(own.parameters, None), made.arguments, strict=True)
    passed = {name: array for name, array in named if isinstance(array, np.ndarray)}
    given = setup.right.given[: len(reference_named(setup.right.reference).reads)]
    written = ";".join(kernels_in(own.text)[bare(own.name)].written)
    return changed(passed, run.arrays, [name for name in given if name in passed and is_const(name, written)])


_UNSET = "is used before its value is set"  # the compiler's words


def _unset_variables(own: OwnKernel, found: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return a finding for each line of the kernel where the compiler sees a variable that is not set, unless the run
    has found one: the compiler may drop all that is computed from it, so that the run cannot."""
    kind = "uninitialised-variable"
    if any(one.kind == kind for one in found):
        return ()
    spans = [one for one in declarations(own.text) if one.body and bare(own.name) in one.words]
    lines = {line for one in spans for line in range(own.text.count("\n", 0, one.start) + 1,
                                                     own.text.count("\n", 0, one.end) + 2)}  # fmt: skip
    unset = {one.line: re.search(r'"(\w+)"', one.message) for one in own.made.warnings if _UNSET in one.message}
    return tuple(
        Finding(kind, line, None, f"Line {line}: `{name[1]}` {_UNSET}; {STARTS_UNDEFINED}")
        for line, name in unset.items() if name and line in lines
    )  # fmt: skip


def _record(
    asked: Choice, own: OwnKernel, run: KernelRun, found: Check | None, changed_inputs: Sequence[Finding]
) -> Checked:
    unset = _unset_variables(own, run.findings)
    findings = (*run.findings, *changed_inputs, *unset)
    status, reason = verdict(found, findings) if found else ("hazard" if findings else "ok", None)
    if found is None and findings:
        reason = findings[0].message
    measurement = Measurement(
        asked,
        DEVICE,
        status,
        reason,
        grid_size=asked.grid_size,
        check=found,
        counts=Counts(run.counters, run.lines),
        findings=findings,
        printed=run.printed,
        environment=environment(),
    )
    told = {one.line for one in unset}
    warnings = [one for one in own.made.warnings if one.line not in told or _UNSET not in one.message]
    marks = (*warning_marks(warnings), *finding_marks(findings))
    return Checked(measurement, marks, tuple(_shown(name, array) for name, array in run.arrays.items()))


def _failed(asked: Choice, error: Exception, file_name: str) -> Checked:
    measurement = failed(asked, error)
    marks = finding_marks(measurement.findings)
    if isinstance(error, CompileError):
        marks = error_marks(file_name, error, str(asked.source or ""))
    if not marks and measurement.line and not isinstance(error, NotRunnable):
        marks = (Mark(measurement.line, "finding", str(error)),)
    return Checked(measurement, marks, barred=why_barred(error, ()))


def compiled_marks(text: str, file_name: str, choice: Choice | None) -> tuple[Mark, ...]:
    """Compile a text without running it, and return the compiler's errors and warnings.

    `choice`: of the rung in whose place the text stands; None: a kernel of one's own. NotRunnable: there is no such
    choice, or the text cannot be read.
    """
    try:
        if choice is None:
            return warning_marks(compilation(file_name, f"{text}\n", every=True).warnings)
        made = plan(settle(replace(choice, source=text, source_name=file_name)))
        return _warnings_of([step for step in made.steps if isinstance(step, Launch)], file_name)
    except CompileError as error:
        return error_marks(file_name, error, text) or (Mark(1, "error", str(error)),)


def _shown(name: str, array: Array) -> ArrayShown:
    first = array.ravel()[:SHOWN]
    plain = first.dtype.kind in "biuf"
    values = tuple(value if np.isfinite(value) else None for value in first.tolist()) if plain else ()
    return ArrayShown(name, str(array.dtype), int(array.size), values)
