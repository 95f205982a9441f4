"""The further runs of a draft whose answer was right: a wrong kernel may be right in one order, at one size or with one
set of numbers.

run_further(draft, n, found, schedule) -> Checked: `found`, a run that is wrong in its place, or `found` with a remark
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import product
from math import prod

import numpy as np

from engine.backends.emulator.backend import SECONDS
from engine.backends.emulator.state.schedule import parse_schedule, schedule_line
from engine.lab.arguments import Argument, Structure, array_names, arrays_and_numbers
from engine.lab.expressions import evaluate
from engine.lab.formula import value_of
from engine.lab.formula_traits import moved_in
from engine.lab.kernel_traits import compared_with, has_atomics, has_variables, waits
from engine.lab.kernels import KernelRun, OwnKernel
from engine.lab.own_launch import FAILURES, Checked, Draft, check_answer, check_launch, prepare
from engine.lab.setups import Formula, Launching, Setup, launching
from engine.lab.ties import tied_arguments
from engine.lab.trial_arrays import LARGE, ORDERS, SEARCHED, TIES
from engine.lab.trial_parameters import numbers_of_other_signs, other_numbers
from engine.lab.trials import (
    ends_for,
    no_number,
    other_ranges,
    reading_trials,
    searches,
    searching_trials,
    trial_of,
    unset_arrays,
)
from engine.records import NotRunnable

# Powers of two up to which a run is repeated at the same size; few warps of many steps cost as much as many warps.
_MOST_AGAIN = {"warp_instructions": 16, "busiest_warp_instructions": 11}
_FEWEST = 128
_FEW_BLOCKS, _MOST_IN_TURN = 4, 2048  # blocks that take turns; steps of all of them together
_MOST_IN_WAVES = 2048  # elements that are not reduced for a run whose blocks take turns, which is slow
_NEXT, _MOST_VALUES = 3, 16  # elements of a row that is left out; other numbers of the array in their place
_MOST_PLACES = 4  # at which the deciding number stands, of those that a kernel compares with


@dataclass(frozen=True, eq=False)
class _Asked:
    """The launch that was asked for: at the size `n`, in the order `schedule`, with the right answer `found`. `size`:
    the one at which a run is repeated. Compared by identity, so it can be a cache key."""

    draft: Draft
    n: int
    schedule: str | None
    found: Checked
    size: int

    @property
    def setup(self) -> Setup:
        return self.draft.setup

    @property
    def shown_size(self) -> int | None:
        """Return `size` for a sentence; None if the launch has sizes of its own."""
        return self.size if self.setup.sized else None


def run_further(draft: Draft, n: int, found: Checked, schedule: str | None) -> Checked:
    """Launch a kernel again whose answer was right, with other numbers in other orders, and at sizes that blocks do not
    divide."""
    asked = _Asked(draft, n, schedule, found, repeated_size(found, n) if draft.setup.sized else n)
    return next((other for further in _FURTHER if (other := further(asked))), found)


# ---- runs that are wrong


def _in_orders(asked: _Asked) -> Checked | None:
    """Return a run that is wrong in another order, with other numbers."""
    setup, draft = asked.setup, asked.draft
    for order, trial in _tries(asked):
        size = _size_of(asked, order)
        other = check_launch(draft, size, order, trial)
        if other.measurement.status == "out-of-bounds":  # a counting sort uses its numbers as indices
            other = check_launch(draft, size, order, trial=0, places=trial)
        finishes = other.measurement.status != "deadlock" or not (asked.schedule or "").startswith("independent")
        if not finishes and check_launch(draft, size, None).measurement.status == "deadlock":
            continue  # not for the order of blocks: lanes of a warp wait for each other
        if not is_missed(other, setup.sized):
            continue
        unwritten = _unwritten(setup, other)
        if unwritten is not None:
            return replace(other, remark=unwritten)
        if size < asked.n and is_missed(at_size := check_launch(draft, size, asked.schedule)):
            return _only_here(asked.found, at_size, size)
        return differs(asked.found, other, size if setup.sized else None, numbers=True, asked=asked.schedule)
    return None


def _size_of(asked: _Asked, order: str | None) -> int:
    """Return the size at which a run is repeated in an order: with few blocks if they take turns and each has many
    steps."""
    size = size_in(order, asked.size) if asked.setup.sized else asked.n
    steps = (asked.found.measurement.counters or {}).get("busiest_warp_instructions", 0)
    while asked.setup.sized and order and order.startswith("waves") and size >= 2 * _FEW_BLOCKS:
        blocks = prod(launching(asked.setup, size).grid)
        if blocks < 2 * _FEW_BLOCKS or blocks * steps <= _MOST_IN_TURN:
            break
        size //= 2
    return size


def _tries(asked: _Asked) -> list[tuple[str | None, int]]:
    """Return the further orders, with the trial of the numbers of each: more trials for searches, and more orders for
    threads that wait for each other. Which of equal numbers is found depends on the order."""
    usual = [(order, trial_of(order)) for order in ORDERS]
    more = SEARCHED[len(ORDERS) :]
    if searches(asked.setup.right):
        trials = [(SEARCHED[trial - 1], trial) for trial in searching_trials(asked.setup.right)]
        return [*usual, *((order if trial == TIES else asked.schedule, trial) for order, trial in trials)]
    return [*usual, *((order, trial_of(ORDERS[0])) for order in more if waits(asked.draft.compiled()))]


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


def _with_other_arguments(asked: _Asked) -> Checked | None:
    """Return a run that is wrong with other ranges, with a factor with which the line chooses something else, or with
    numbers of which the sides of a comparison are equal."""
    own, made = prepare(asked.draft, asked.size)
    ranges = [{name: one} for name, one in other_ranges(asked.setup, made, own).items()]
    tied = tied_arguments(asked.setup, made, own)
    others: list[Mapping[str, Argument]] = [
        *ranges,
        *numbers_of_other_signs(asked.setup, made, own),
        *[tied] * bool(tied),
    ]
    runs = (check_launch(asked.draft, asked.size, asked.schedule, 0, instead=other) for other in others)
    return next((_instead(asked, other) for other in runs if other.measurement.status == "wrong"), None)


def _in_several_passes(asked: _Asked) -> Checked | None:
    """Return a run that is wrong at a size at which a thread has several elements, so that its sums are large."""
    right = asked.setup.right
    if isinstance(right, Formula) and moved_in(right.line):
        return None
    size = _several_passes(asked.setup, asked.n, size_in(ORDERS[LARGE - 1], asked.size))
    other = check_launch(asked.draft, size, asked.schedule, LARGE) if size else None
    if size is None or other is None or not is_missed(other):
        return None
    return differs(asked.found, other, size, numbers=True, asked=asked.schedule)


def _several_passes(setup: Setup, n: int, tried: int) -> int | None:
    """Return a size up to n at which some threads of a grid that does not grow have three elements: sums of a thread
    are large only there. None if the grid grows, or `tried` is as large."""
    if not setup.sized or _grows(setup):
        return None
    made = launching(setup, n)
    size = min(n, 2 * prod(made.grid) * prod(made.block) + 1)
    return size if size > tried else None


def _grows(setup: Setup) -> bool:
    """Return whether a larger n has more threads."""
    return any(re.search(r"\b(n|block)\b", words) for words in (*setup.grid, *setup.block))


def _at_sizes_near(asked: _Asked) -> Checked | None:
    """Return the first run with a remark that names a size near N at which the kernel is wrong; of a launch with sizes
    of its own, a run that is wrong with a number at an end that decides."""
    setup = asked.setup
    if not setup.sized:
        return _wrong_at(asked, (None,), filter(None, ends_for(setup.right)))
    for size, end in product(_sizes_near(asked.size, setup), ends_for(setup.right)):
        other = check_launch(asked.draft, size, asked.schedule, end)
        if is_missed(other) and (end is None or other.measurement.status == "wrong") and _has_value(asked, size):
            return _only_here(asked.found, other, size)
    return None


def _has_value(asked: _Asked, size: int) -> bool:
    """Return whether the line has a value at a size: x[np.arange(n) ^ 1] has none if n is odd."""
    right = asked.setup.right
    if not isinstance(right, Formula):
        return True
    try:
        own, made = prepare(asked.draft, size)
        passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
        value_of(right.line, *arrays_and_numbers(passed))
    except NotRunnable:
        return False
    return True


def _sizes_near(n: int, setup: Setup) -> tuple[int, ...]:
    """Return the sizes at which a right launch is repeated: one more and one less, and the last one that blocks divide,
    with one more than it. At these the last block is full, or has one element. At half of it a loop that halves takes
    one step less. A fixed number of threads that are enough for n elements need not be enough for more."""
    block = max(1, evaluate(setup.block[0], {"n": n}))
    full = n - n % block
    written = re.findall(r"\b\d+", f"{setup.arguments} {setup.right}")
    half = [n // 2] if sum(map(int, written)) <= n // 2 else []  # else a part that they name may not fit
    sizes = dict.fromkeys((n - 1, n + 1, *((full + 1, full) if full else ()), *half))
    threads = n + 1 if _grows(setup) else prod(evaluate(words, {}) for words in (*setup.grid, *setup.block))
    most = threads if threads >= n else n + 1
    return tuple(size for size in sizes if size not in (0, n) and size <= most)


def _where_unread_decides(asked: _Asked) -> Checked | None:
    """Return a run that is wrong because an element that no thread reads decides."""
    found = (
        _wrong_at(asked, _unread_places(asked, reading).values(), deciding)
        for reading, deciding in reading_trials(asked.setup.right)
    )
    return next((other for other in found if other), None)


def _wrong_at(asked: _Asked, places: Iterable[int | None], trials: Iterable[int]) -> Checked | None:
    """Return a run of these trials that is wrong, with the deciding number at one of these places; None: where it
    belongs in the trial."""
    runs = (check_launch(asked.draft, asked.size, None, trial, odd=place) for place, trial in product(places, trials))
    return next((_instead(asked, other) for other in runs if other.measurement.status == "wrong"), None)


def _instead(asked: _Asked, other: Checked) -> Checked:
    return differs(asked.found, other, asked.shown_size, numbers=True)


@lru_cache(maxsize=4)
def _unread_places(asked: _Asked, trial: int) -> dict[str, int]:
    """Return the first element that no thread reads of each array of random numbers or indices; none if the run
    fails."""
    own, made = prepare(asked.draft, asked.size, trial)
    try:
        places = own.first_unread(
            made.grid, made.block, made.arguments, shared=made.shared, cooperative=asked.setup.cooperative,
            seconds=SECONDS,
        )  # fmt: skip
    except FAILURES:
        return {}
    named = zip(array_names(own.parameters, None), asked.setup.arguments, strict=True)
    given = {name for name, words in named if words.endswith(("=random", "=indices"))}
    return {name: place for name, place in places.items() if name in given}


def _where_unread_counts(asked: _Asked) -> Checked | None:
    """Return a run that is wrong because the line has another value with another number in an element that no thread
    reads, such as the last edge of a graph whose nodes other edges reach, too."""
    right = asked.setup.right
    if not isinstance(right, Formula):
        return None
    own, made = prepare(asked.draft, asked.size)
    passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
    arrays, numbers = arrays_and_numbers(passed)
    for name, first in _unread_places(asked, 0).items():
        array, values = arrays[name], dict.fromkeys(arrays[name].ravel()[:_MOST_VALUES].tolist())
        for place, value in product(range(first, min(first + _NEXT, array.size)), values):
            other = array.copy()
            other.flat[place] = value
            try:
                before, after = (value_of(right.line, {**arrays, name: one}, numbers).of for one in (array, other))
            except NotRunnable:
                break
            if not np.array_equal(before, after, equal_nan=True):
                found = check_launch(asked.draft, asked.size, None, 0, instead={name: other})
                if found.measurement.status == "wrong":
                    return _instead(asked, found)
    return None


def _at_constants(asked: _Asked) -> Checked | None:
    """Return a run that is wrong because the element decides whose number is a constant of the kernel, as 37 in
    `if (x[i] < 0 && i % 64 != 37)`: a kernel may read an element and drop it."""
    trials = dict.fromkeys(trial for _, deciding in reading_trials(asked.setup.right) for trial in deciding)
    if not trials:  # no number decides alone
        return None
    own, made = prepare(asked.draft, asked.size)
    most = max((one.size for one in made.arguments if isinstance(one, np.ndarray)), default=0)
    places = [int(number) for number in compared_with(own, "i") if 0 < number < most]
    return _wrong_at(asked, places[:_MOST_PLACES], trials)


# ---- remarks on a run that is right


def _left_behind(asked: _Asked) -> Checked | None:
    """Return a remark if a second launch gives a wrong answer, as the first one has left its numbers in a variable of
    the file, such as a counter of the blocks that are done."""
    own, made = prepare(asked.draft, asked.size)
    if not has_variables(own):
        return None
    launch = partial(_launcher(asked.setup, own, made), made.arguments)
    sentence = "Right at the first launch only: a second one starts with the numbers that the first has left in "
    try:
        first = launch()
        if not _agrees(asked.setup, first):
            return None
    except FAILURES:
        return None
    names = list[str]()
    try:
        second = launch(symbols=first.symbols)
        if _agrees(asked.setup, second):
            return None
        names = [name for name, before in first.symbols.items() if not np.array_equal(before, second.symbols[name])]
    except FAILURES:
        pass  # the second launch itself fails
    where = f"`{names[0]}`" if len(names) == 1 else "the file's variables"
    return replace(asked.found, remark=f"{sentence}{where}.")


def _read_unset(asked: _Asked) -> Checked | None:
    """Return a remark if the answer is right only because arrays without a fill start with zeros."""
    own, made = prepare(asked.draft, asked.size)
    if not asked.setup.right or has_atomics(own):  # of atomics the host clears the array
        return None
    launch = _launcher(asked.setup, own, made)
    for name, array in unset_arrays(asked.setup, made, own).items():
        try:
            if _agrees(asked.setup, launch(_exchanged(own, made, name, array))):
                continue
        except FAILURES:
            continue
        remark = (
            f"Right only because `{name}` starts with zeros here: the kernel reads an element of it before it writes "
            "it. If the host clears the array before the launch, fill it with zeros here, too."
        )
        return replace(asked.found, remark=remark)
    return None


def _ignored(asked: _Asked) -> Checked | None:
    """Return a remark if a number of the launch decides what is right, but not what the kernel computes."""
    own, made = prepare(asked.draft, asked.size)
    others = other_numbers(asked.setup, made, own)
    launch = partial(_launcher(asked.setup, own, made), schedule=asked.schedule)
    names = array_names(own.parameters, None)
    first = launch(made.arguments) if others else None
    for name, other in others.items():
        try:
            second = launch(_exchanged(own, made, name, other))
        except FAILURES:
            continue
        if first and all(first.arrays[each].tobytes() == one.tobytes() for each, one in second.arrays.items()):
            passed = made.arguments[names.index(name)]
            remark = (
                f"With {name} = {other:,} the kernel computes the same numbers as with {name} = {passed:,}, but "
                f"{asked.setup.right} does not: the kernel may ignore `{name}`."
            )
            return replace(asked.found, remark=remark)
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
    found = check_answer(setup, run)
    return not run.findings and (found is None or found.ok)


# In this order: the sentence of an earlier one says more.
_FURTHER: tuple[Callable[[_Asked], Checked | None], ...] = (
    _in_orders,
    _with_other_arguments,
    _in_several_passes,
    _at_sizes_near,
    _where_unread_decides,
    _where_unread_counts,
    _at_constants,
    _left_behind,
    _read_unset,
    _ignored,
)


# ---- also for the drafts of a rung


def is_missed(other: Checked, sized: bool = True) -> bool:
    """Return whether a further run shows that a draft is wrong. A refused size shows nothing, and neither does a run
    that has more blocks than time, or that can have no fewer: only a short one that stays at a line may never end."""
    measurement = other.measurement
    slow = measurement.status == "timeout" and not (measurement.line and sized)
    return measurement.status not in ("ok", "refused") and not slow


def repeated_size(found: Checked, n: int) -> int:
    """Return the size at which a run is repeated: `n`, or the part of it that costs as much as a short run, unless it
    has less than a few warps and less than all indices."""
    counters = found.measurement.counters or {}
    powers = (int(counters.get(name, 0)).bit_length() - most for name, most in _MOST_AGAIN.items())
    return max(min(n, _FEWEST), n >> max(0, *powers))


def size_in(order: str | None, size: int) -> int:
    """Return the size at which a run is repeated in an order; `size` is for orders in which blocks run together."""
    return max(size >> 3, min(size, _MOST_IN_WAVES)) if order and order.startswith("waves") else size


def differs(found: Checked, other: Checked, n: int | None, numbers: bool, asked: str | None = None) -> Checked:
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
