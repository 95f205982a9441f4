"""The arrays of a launch's trials, with which a wrong kernel gives a wrong answer: numbers from the whole range of a
type, the smallest or largest number everywhere but at one place, and the bounds of a line.

fitting(setup, made, own, trial) -> Launching
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from engine.lab.arguments import array_names, arrays_and_numbers
from engine.lab.formula import largest_whole, stays_unsigned, value_of
from engine.lab.formula_traits import (
    added_in,
    adds_in,
    array_divisors_in,
    bounds_in,
    compares_plainly,
    comparisons_in,
    counted_in,
    every_name_in,
    exponents_in,
    has_steps,
    inside_indices_in,
    is_decided,
    moved_in,
    names_in,
    powers_in,
    summed_exponents_in,
    wraps_in,
)
from engine.lab.kernel_traits import compared_with, stored_only
from engine.lab.kernels import OwnKernel
from engine.lab.odd_one import ALIKE, numbers_that_decide
from engine.lab.references import reference_named
from engine.lab.setups import Formula, Launching, Right, Setup, least_of
from engine.lab.signatures import bare, ends_with_next, index_arrays
from engine.lab.top_level import uncommented
from engine.lab.trial_arrays import (
    ENDS,
    FOR_MINIMA,
    LARGE,
    ORDERS,
    SEARCHED,
    TIES,
    are_ints,
    are_words,
    beside,
    extremes_like,
    falling,
    for_moves,
    halved_numbers,
    is_narrow,
    is_wider,
    keep_bits,
    large,
    largest,
    of_whole_range,
    with_bounds,
    with_ends_of_type,
    with_extreme,
    with_middle,
    with_powers,
    with_second,
)
from engine.lab.trial_parameters import vary_parameters
from engine.records import Array, NotRunnable

_SECOND = 3  # the trial in which the most frequent number is 1
_FALLING = 7  # the trial of sorts and of prefix maxima in which the numbers fall
_EQUAL = 1  # the trial in which some numbers are equal to the line's bounds
_UNWRITTEN = 1  # the trial in which arrays without a fill do not start with zeros
_SIGNED = 2**63 - 1  # the largest whole number of a formula
_ROOMY, _MOST_BITS = 2.0**29, 20  # a kernel may add two such numbers; bits that the usual numbers leave free
_SAFE = 2**14  # sums of a few squares of such numbers are ints
_BEYOND_SHORT = 2**13  # times 8 and more needs more than 16 bits
_BEYOND_INT = 2**24 + 1  # times 256 and more needs more than 32 bits
# exp() of numbers near these is 0 in every type, and infinite near their opposites; a guess of a maximum is larger.
_SHIFT, _SHIFT_OF_HALF = -2e6, -3e4
_SHIFT_OF_SUM = -300.0  # exp() of such numbers is 0 or infinite in a float, but not in a double
_FAR_POWERS = 8.0  # between exponents
_MOST_HALVED = 12  # times, of numbers that are too large for the bounds of a line


_FINDS = re.compile(
    r"\b(max|min|argmax|argmin|sort|sorted|argsort|median|ptp)\b|\.(reduce|accumulate)\b"
)  # one of many numbers
_FINDS_LEAST = re.compile(r"\b(min|argmin|minimum)\b")
_SORTS_ALL = re.compile(r"(?:np\.)?sort(?:ed)?\(\w+\)")
_SEARCHES = re.compile(r"\b(max|min|argmax|argmin|maximum|minimum|sort|sorted|argsort|median|ptp|softmax)\b")


def searches(right: Right | Formula | None) -> bool:
    """Return whether the answer may be one of the numbers, which a kernel may leave out."""
    if isinstance(right, Formula):
        return is_decided(right.line) or bool(_SEARCHES.search(right.line) or exponents_in(right.line))
    return right is not None and reference_named(right.reference).searches


def ends_for(right: Right | Formula | None) -> tuple[int | None, ...]:
    """Return the trials for the ends of arrays: None, the usual one, in which the largest number is the last one, and
    those in which another number there decides."""
    more = sought(right) != "largest" and _shows_one(right)
    return (None, *(_deciding_ends(right) if more else ()))


def _shows_one(right: Right | Formula | None) -> bool:
    """Return whether an answer may show one number alone: an array that is sorted as a whole shows all of them."""
    return searches(right) and not (isinstance(right, Formula) and _SORTS_ALL.fullmatch(right.line))


def _deciding_ends(right: Right | Formula | None) -> tuple[int, ...]:
    """Return the trials in which the number at an end decides what a search finds."""
    return {"least": ENDS[:1], "largest": ENDS[1:]}.get(sought(right), ENDS)


def searching_trials(right: Right | Formula | None) -> tuple[int, ...]:
    """Return the further trials of a search: a line that looks for the largest number needs none in which all but one
    are the largest of their type, and the other way round."""
    without = {"least": (_SECOND,), "largest": FOR_MINIMA}.get(sought(right), ()) if isinstance(right, Formula) else ()
    return tuple(trial for trial in range(len(ORDERS) + 1, len(SEARCHED) + 1) if trial not in without)


def sought(right: Right | Formula | None) -> str:
    """Return whether a search looks for the "largest" or the "least" of the numbers as they are; "": for neither, or
    both."""
    if not isinstance(right, Formula):
        return "largest" if right is not None and reference_named(right.reference).searches else ""
    if not moved_in(right.line) or is_decided(right.line) or comparisons_in(right.line):
        return ""
    names = {"least" if "min" in name else "largest" if "max" in name else "" for name in _SEARCHES.findall(right.line)}
    return names.pop() if len(names) == 1 else ""


def reading_trials(right: Right | Formula | None) -> tuple[tuple[int, tuple[int, ...]], ...]:
    """Return the trials in which a search has to read every number, each with those in which one number decides."""
    if not _shows_one(right):
        return ()
    decided = isinstance(right, Formula) and is_decided(right.line)
    return tuple((trial, (trial + 1,)) for trial in ALIKE) if decided else ((0, _deciding_ends(right)),)


def trial_of(schedule: str | None) -> int:
    """Return the number of the trial that has this order; 0: the launch that was asked for."""
    return SEARCHED.index(schedule) + 1 if schedule in SEARCHED else 0


def fitting(
    setup: Setup, made: Launching, own: OwnKernel, trial: int = 0, places_of: int | None = None, odd: int | None = None
) -> Launching:  # fmt: skip
    """Return the launch with the arguments that its reference needs: random numbers that are indices of the answer, and
    in further trials other factors, places and numbers. `places_of`: the trial of the places, if it is another one.
    `odd`: where the number stands that decides a search; None: where it belongs in the trial."""
    right = setup.right
    if right is None or len(made.arguments) != len(own.parameters):
        return made
    names = array_names(own.parameters, None)
    filled, indices = (
        {name for name, words in zip(names, setup.arguments, strict=True) if words.endswith(fill)}
        for fill in ("=random", "=indices")
    )
    places = trial if places_of is None else places_of
    passed = vary_parameters(setup, made, own, *((0, 0) if trial in ENDS else (trial, places)))
    if trial == _UNWRITTEN:
        passed |= _without_content(setup, passed, stored_only(own))
    if isinstance(right, Formula):
        floats = {name for name, parameter in zip(names, own.parameters, strict=True) if parameter.kind == "f"}
        passed |= _of_formula(right, passed, filled, indices, floats, trial, own, odd)
    else:
        passed |= _of_reference(right, passed, filled, trial, odd)
    return replace(made, arguments=tuple(passed.values()))


def unset_arrays(setup: Setup, made: Launching, own: OwnKernel) -> dict[str, Array]:
    """Return the arrays without a fill that the kernel may read, but the line does not, each full of `no_number`."""
    passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
    return _without_content(setup, passed, [not stored for stored in stored_only(own)])


def other_ranges(setup: Setup, made: Launching, own: OwnKernel) -> dict[str, Array]:
    """Return for the arrays of a range that the line reads: indices in another order, and other rising numbers; none
    for those that have to rise and are indices, such as the ends of rows."""
    right = setup.right
    passed = dict(zip(array_names(own.parameters, None), made.arguments, strict=True))
    if isinstance(right, Formula):
        read, indices = every_name_in(right.line), inside_indices_in(right.line)
    else:
        read = frozenset(right.given[: len(reference_named(right.reference).reads)] if right else ())
        indices = read if right and reference_named(right.reference).counts else frozenset()
    text, name = uncommented(own.text), bare(own.name)
    indices |= index_arrays(text, list(passed))
    found = dict[str, Array]()
    for (one, array), words in zip(passed.items(), setup.arguments, strict=True):
        if (
            one not in read
            or not words.endswith("=range")
            or not isinstance(array, np.ndarray)
            or array.dtype.kind == "b"
        ):
            continue
        if one not in indices:
            found[one] = (array * 3 + 1).astype(array.dtype)
        elif "searchsorted" not in str(right) and not ends_with_next(own.text, name, one):
            found[one] = np.random.default_rng(array.size).permutation(array.ravel()).reshape(array.shape)
    return found


def _without_content(setup: Setup, passed: Mapping[str, Any], wanted: Sequence[bool]) -> dict[str, Array]:
    """Return the arrays without a fill among those `wanted` that the line does not read, each full of `no_number`."""
    right = setup.right
    used = names_in(right.line) if isinstance(right, Formula) else frozenset(right.given if right else ())
    return {
        name: np.full(array.shape, no_number(array.dtype))
        for (name, array), words, asked in zip(passed.items(), setup.arguments, wanted, strict=False)
        if asked
        and isinstance(array, np.ndarray)
        and array.dtype.kind in "iuf"
        and "=" not in words
        and name not in used
    }


def no_number(dtype: np.dtype[Any]) -> Any:
    """Return what an element holds that nobody has written: NaN, or an odd large integer."""
    return dtype.type(np.nan) if dtype.kind == "f" else np.frombuffer(b"\xb5" * dtype.itemsize, dtype)[0]


def _of_reference(
    right: Right, passed: Mapping[str, Any], filled: set[str], trial: int, odd: int | None
) -> dict[str, Array]:
    """Return the arrays with other numbers, of `filled`: those with random numbers."""
    reference = reference_named(right.reference)
    changed = dict[str, Array]()
    out = passed.get(right.out)
    if reference.wraps and trial == LARGE and isinstance(out, np.ndarray):
        for place, name in enumerate(right.given[: len(reference.reads)]):
            array = passed.get(name)
            if name in filled and isinstance(array, np.ndarray) and are_words(out, array):
                changed[name] = of_whole_range(array, np.random.default_rng([place, trial]))
    name = right.given[0]
    read = passed.get(name)
    if not isinstance(read, np.ndarray) or name not in filled:
        return changed
    if reference.counts and read.dtype.kind in "iu" and isinstance(out, np.ndarray) and out.size:
        changed[name] = (np.abs(read.astype(np.int64)) % out.size).astype(read.dtype)
    if reference.searches and read.dtype.kind in "iuf" and read.size and trial in ENDS:
        changed[name] = with_extreme(read, trial, odd)
    elif reference.searches and read.dtype.kind in "iuf" and read.size and trial > 1 and trial % 2:
        changed[name] = extremes_like(read, trial, 1)
    if reference.moves and trial == LARGE and read.dtype.kind in "iuf":
        changed[name] = of_whole_range(read, np.random.default_rng(trial))
    if reference.adds and trial == LARGE and isinstance(out, np.ndarray):
        if out.dtype == read.dtype:
            changed[name] = large(read)
        elif is_wider(out, read):
            changed[name] = largest(read)
    return changed


def _of_formula(
    right: Formula, passed: Mapping[str, Any], filled: set[str], indices: set[str], floats: set[str], trial: int,
    own: OwnKernel, odd: int | None,
) -> dict[str, Any]:  # fmt: skip
    """Return the arrays with other numbers, of `filled`: those of a line that only moves and compares numbers have any
    number of their type. `indices`: the arrays of indices; `floats`: the parameters that are single floats."""
    out = passed.get(right.out)
    every, numbers = arrays_and_numbers(passed)
    arrays = {name: one for name, one in every.items() if name in filled and one.size}
    used, moved, powers = names_in(right.line), moved_in(right.line), powers_in(right.line, numbers)
    fractions = floats | {name for name, one in every.items() if one.dtype.kind == "f"}
    few = {name for name, one in numbers.items() if isinstance(one, int) and 0 < one < 32}
    wraps = frozenset[str]() if fractions & used else wraps_in(right.line, few)
    if trial == LARGE and not wraps and isinstance(out, np.ndarray):
        wraps = used if _stays_unsigned(right.line, every, numbers, out) else wraps
    decided = [name for name, array in arrays.items() if name in used and array.dtype.kind in "iuf"]
    truths = [name for name, array in arrays.items() if name in used and array.dtype.kind == "b"]
    compared = [*decided, *truths, *(name for name in sorted(indices & used) if every[name].size)]
    divides = array_divisors_in(right.line, numbers)
    if trial >= LARGE and compared and is_decided(right.line):
        near = () if divides else _near(right.line, numbers, own, every[compared[0]].dtype)
        below = least_of(every.values()) if indices & used else None
        found = numbers_that_decide(right.line, every, compared, numbers, near, trial, odd, below)
        if found:
            return _in_signed_words(found)
    if trial == LARGE and not moved and not wraps and adds_in(right.line) and isinstance(out, np.ndarray):
        words = [name for name in arrays if name in used and are_ints(out, arrays[name])]
        found = _as_large_as_fits(right.line, every, words, numbers)
        if found:
            return _in_signed_words(found)
    seeks = _FINDS.search(right.line) is not None
    changed = dict[str, Any]()
    unsigned = {name for name, array in arrays.items() if array.dtype.kind == "u"}
    for name, counted in counted_in(right.line).items() if trial in (*ENDS, _SECOND) and seeks else ():
        if name in indices | unsigned:
            most = least_of(every.values()) if name in indices else None
            changed[name] = _with_frequent(counted, every, name, numbers, trial, most)
    small = (
        _with_small_powers(right.line, every, exponents_in(right.line) & {*arrays}, numbers) if trial == TIES else {}
    )
    summed = _with_finite_sums(right.line, every, exponents_in(right.line) & {*arrays}, numbers, trial)
    halved = _times_halved(right.line, every, decided, numbers) if trial == _EQUAL and not moved else 0
    finds = bool(moved) and seeks  # the largest number has its place in trial _EQUAL
    sorts = re.search(r"sort(ed)?\b", right.line) is not None
    for place, (name, array) in enumerate(arrays.items()):
        if name in small:
            changed[name] = small[name]
        elif trial and name in powers and array.dtype.kind == "f":
            changed[name] = with_powers(array, trial, _SHIFT_OF_HALF if array.itemsize == 2 else _SHIFT)
        elif trial and name in summed and array.dtype.kind == "f":
            changed[name] = with_powers(array, trial, _SHIFT_OF_SUM)
        elif trial == _FALLING and not moved and "accumulate" in right.line and array.dtype.kind in "iuf":
            changed[name] = falling(array)
        elif seeks and name in used and array.dtype.kind in "iuf" and (trial in ENDS or (trial > LARGE and not moved)):
            placed = with_middle if trial in ENDS and "median" in right.line else with_extreme
            changed[name] = placed(array, trial, odd)
        elif name in moved and trial >= LARGE and trial not in ENDS:
            made = falling(array) if sorts and trial == _FALLING else for_moves(array, trial, place)
            if array.dtype.kind == "f" and not finds:
                made = made / array.dtype.type(4)  # a kernel may add a few, as (x + abs(x)) / 2 does
            if finds and trial == LARGE and array.size > 1 and not sorts:
                made = with_second(made, least=_FINDS_LEAST.search(right.line) is not None)
            bounds = finds and trial == TIES and name not in divides and array.dtype.kind in "iuf"
            changed[name] = _with_near(made, right.line, numbers, own, place) if bounds else made
        elif trial == LARGE and name in wraps and isinstance(out, np.ndarray) and keep_bits(out, array):
            changed[name] = with_ends_of_type(of_whole_range(array, np.random.default_rng([place, trial])))
        elif trial == LARGE and name in used and isinstance(out, np.ndarray) and is_narrow(out, array):
            whole = of_whole_range(array, np.random.default_rng([place, trial]))
            changed[name] = np.where(whole == 0, whole.dtype.type(1), whole)  # may be a divisor
        elif trial == LARGE and name in used and isinstance(out, np.ndarray) and is_wider(out, array):
            changed[name] = largest(array)
        elif trial == LARGE and name in used and array.dtype.kind in "iu" and array.itemsize == 8:
            changed[name] = array * array.dtype.type(_BEYOND_INT)
        elif trial == LARGE and name in used and added_in(right.line) and array.dtype in (np.float32, np.float64):
            changed[name] = beside(array, added_in(right.line))
        elif trial == LARGE and name in used and has_steps(right.line) and array.dtype in (np.float32, np.float64):
            changed[name] = _with_large_whole(right.line, every, name, numbers)
        elif trial == _EQUAL and not finds and name in used - divides and array.dtype.kind in "iuf":
            changed[name] = _with_near(array, right.line, numbers, own, place)
            middle = slice(array.size // 4, array.size // 4 * 3)
            if halved:
                changed[name].flat[middle] = halved_numbers(array, halved).flat[middle]
        elif trial == _EQUAL and name in counted_in(right.line):
            changed[name] = np.where(np.arange(array.size).reshape(array.shape) % 5 == 1, 0, array).astype(array.dtype)
    return _in_signed_words(changed)


def _with_frequent(
    counted: str, arrays: Mapping[str, Array], name: str, numbers: Mapping[str, float], trial: int, most: int | None
) -> Array:
    """Return the whole numbers `name`, of which every second one is the same: what a line counts of it is 1, the least
    or the largest one. `most`: what indices are less than."""
    made = arrays[name].copy()
    for place, each in enumerate((1, 0)[: made.size - 1], 1):
        made.flat[place] = each
    made.flat[:1] = made.flat[0] if most is None else most - 1
    try:
        values = value_of(counted, {**arrays, name: made}, numbers).of.ravel()
    except NotRunnable:
        return made
    at = int(values.argmax() if trial % 2 else values.argmin())
    at = int(np.abs(values - 1).argmin()) if trial == _SECOND else at
    made.flat[::2] = made.flat[at]
    return made


def _stays_unsigned(line: str, arrays: Mapping[str, Array], numbers: Mapping[str, float], out: Array) -> bool:
    """Return whether a line has the value of a kernel's unsigned arithmetic for all numbers of its arrays."""
    try:
        return bool(adds_in(line)) and stays_unsigned(line, arrays, numbers, out)
    except NotRunnable:
        return False


def _times_halved(line: str, arrays: Mapping[str, Array], names: Sequence[str], numbers: Mapping[str, float]) -> int:
    """Return how often the numbers of the arrays `names` are halved until what a line computes is about as often larger
    as smaller than what it compares it with."""
    comparisons = [] if compares_plainly(line) else comparisons_in(line)

    def rarer(times: int) -> float:
        """Return the share of the rarer truth."""
        made = {**arrays, **{name: halved_numbers(arrays[name], times) for name in names}}
        shares = [float(np.mean(value_of(each, made, numbers).of)) for each in comparisons]
        return min(min(share, 1 - share) for share in shares)

    try:
        return max(range(_MOST_HALVED), key=rarer) if comparisons else 0
    except NotRunnable:
        return 0


def _with_finite_sums(
    line: str, arrays: Mapping[str, Array], names: Collection[str], numbers: Mapping[str, float], trial: int
) -> Collection[str]:
    """Return the arrays `names` if a line has a finite value also of the powers of their numbers."""
    made = {name: with_powers(arrays[name], trial, _SHIFT_OF_SUM) for name in names if arrays[name].dtype.kind == "f"}
    try:
        return names if made and np.isfinite(value_of(line, {**arrays, **made}, numbers).of).all() else ()
    except NotRunnable:
        return ()


def _with_small_powers(
    line: str, arrays: Mapping[str, Array], names: Collection[str], numbers: Mapping[str, float]
) -> dict[str, Array]:
    """Return the floats `names`, so often halved that no power of e of a sum is far larger than the others: else the
    largest alone decides."""
    floats = [name for name in names if arrays[name].dtype.kind == "f"]
    try:
        for times in range(_MOST_HALVED if floats else 0):
            made = {name: halved_numbers(arrays[name], times) for name in floats}
            exponents = [value_of(part, {**arrays, **made}, numbers).of for part in summed_exponents_in(line)]
            if all(np.ptp(one) < _FAR_POWERS for one in exponents):
                return made
    except NotRunnable:
        pass  # the line has no value
    return {}


def _as_large_as_fits(
    line: str, arrays: Mapping[str, Array], names: Sequence[str], numbers: Mapping[str, float]
) -> dict[str, Array]:
    """Return the arrays `names` with numbers as large as leave room in 32 bits for all parts of a line, every second
    one of any size; none if those are hardly larger than usual. If the line looks for the smallest or the largest, all
    are far above or below what a kernel may start from."""
    whole, least = dict[str, Array](), _FINDS_LEAST.search(line) is not None
    for place, name in enumerate(names):
        make = np.random.default_rng([place, LARGE])
        whole[name] = of_whole_range(arrays[name], make)
        if _FINDS.search(line) or least:
            whole[name] = np.abs(whole[name]) if least or whole[name].dtype.kind == "u" else -np.abs(whole[name])
        else:
            whole[name].flat[1::2] >>= make.integers(0, 24, whole[name].flat[1::2].size).astype(whole[name].dtype)
    for bits in range(0, _MOST_BITS if names else 0, 2):
        made = {name: one >> bits for name, one in whole.items()}
        made = {name: np.where(one == 0, one.dtype.type(1), one) for name, one in made.items()}  # may be a divisor
        try:
            if largest_whole(line, {**arrays, **made}, numbers) < _ROOMY:
                return made
        except NotRunnable:
            return {}
    return {}


def _with_large_whole(line: str, arrays: Mapping[str, Array], name: str, numbers: Mapping[str, float]) -> Array:
    """Return the floats `name`, of which every second one has a whole part that needs more than 16 bits, if the line's
    value is an int then: a kernel that cuts fractions may make a short of it."""
    made = arrays[name].copy()
    made.flat[1::2] *= made.dtype.type(_BEYOND_SHORT)
    try:
        largest = np.abs(value_of(line, {**arrays, name: made}, numbers).of).max(initial=0)
    except NotRunnable:
        return arrays[name]
    return made if largest < _ROOMY else arrays[name]


def _in_signed_words(changed: Mapping[str, Array]) -> dict[str, Array]:
    """Return arrays of which no number is larger than those of a formula."""
    return {name: one & one.dtype.type(_SIGNED) if one.dtype == np.uint64 else one for name, one in changed.items()}


def _near(line: str, numbers: Mapping[str, float], own: OwnKernel, kind: np.dtype[Any]) -> tuple[float, ...]:
    """Return the numbers with which a line and its kernel compare others, but for those to which the kernel's type
    rounds one of the line. If it computes before it compares, they are so small that no int
    overflows. `numbers`: the parameters."""
    bounds, plainly = bounds_in(line, numbers), compares_plainly(line)
    shows = plainly and (is_decided(line) or bool(moved_in(line)))  # any number of a kernel
    compared = compared_with(own, kind.kind) if plainly or kind.kind != "f" else ()
    rounded = {kind.type(bound) for bound in bounds if kind.kind == "f"} - {*bounds}
    near = tuple(bound for bound in bounds if plainly or abs(bound) <= _SAFE)
    own_ones = (number for number in compared if shows or abs(number) <= _SAFE)
    return (*near, *(number for number in own_ones if kind.kind != "f" or kind.type(number) not in rounded))


def _with_near(array: Array, line: str, numbers: Mapping[str, float], own: OwnKernel, place: int) -> Array:
    """Return numbers of which some are near those with which a line and its kernel compare. `place`: of the array
    among several, as each has them elsewhere. The smallest numbers are
    among them only if the line itself compares with 0: a function such as powf does so, too."""
    near = _near(line, numbers, own, array.dtype)
    beside = [one for one in near if one or 0 in bounds_in(line, numbers)]
    return with_bounds(array, near, beside, place)
