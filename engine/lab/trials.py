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

from engine.catalogue.data import extremes, turned_place
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
from engine.lab.odd_one import ALIKE, numbers_that_decide, place_of
from engine.lab.references import reference_named
from engine.lab.setups import Formula, Launching, Right, Setup, least_of
from engine.lab.signatures import bare, ends_with_next, index_arrays
from engine.lab.top_level import uncommented
from engine.lab.trial_parameters import vary_parameters
from engine.records import Array, NotRunnable

ORDERS = ("independent:1", "waves:1")  # beside the one that was asked for
# For searches: in each order the number searched for stands elsewhere, as a kernel may leave out any element.
SEARCHED = (*ORDERS, *(f"independent:{seed}" for seed in range(2, 7)))
LARGE = 1 + ORDERS.index("waves:1")  # the trial in which numbers are large
# The trials in which the largest or the smallest number is the last one, or the last one decides.
ENDS = (len(SEARCHED) + 1, len(SEARCHED) + 2)
TIES = 4  # the trial in which few numbers differ, and those by little
_SECOND = 3  # the trial in which the most frequent number is 1
_FOR_MINIMA = (5, 6)  # the trials in which all numbers but one are the largest of their type
_FALLING = 7  # the trial of sorts and of prefix maxima in which the numbers fall
_EQUAL = 1  # the trial in which some numbers are equal to the line's bounds
_UNWRITTEN = 1  # the trial in which arrays without a fill do not start with zeros
_EXACT = 2.0**53  # up to which a double has all whole numbers
_ENDS_OF_TYPE = 19  # every so many numbers of the whole range are the smallest and the largest one
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
    without = {"least": (_SECOND,), "largest": _FOR_MINIMA}.get(sought(right), ()) if isinstance(right, Formula) else ()
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
            if name in filled and isinstance(array, np.ndarray) and _are_words(out, array):
                changed[name] = _of_whole_range(array, np.random.default_rng([place, trial]))
    name = right.given[0]
    read = passed.get(name)
    if not isinstance(read, np.ndarray) or name not in filled:
        return changed
    if reference.counts and read.dtype.kind in "iu" and isinstance(out, np.ndarray) and out.size:
        changed[name] = (np.abs(read.astype(np.int64)) % out.size).astype(read.dtype)
    if reference.searches and read.dtype.kind in "iuf" and read.size and trial in ENDS:
        changed[name] = _with_extreme(read, trial, odd)
    elif reference.searches and read.dtype.kind in "iuf" and read.size and trial > 1 and trial % 2:
        changed[name] = _extremes(read, trial, 1)
    if reference.moves and trial == LARGE and read.dtype.kind in "iuf":
        changed[name] = _of_whole_range(read, np.random.default_rng(trial))
    if reference.adds and trial == LARGE and isinstance(out, np.ndarray):
        if out.dtype == read.dtype:
            changed[name] = _large(read)
        elif _is_wider(out, read):
            changed[name] = _largest(read)
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
        words = [name for name in arrays if name in used and _are_ints(out, arrays[name])]
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
            changed[name] = _powers(array, trial, _SHIFT_OF_HALF if array.itemsize == 2 else _SHIFT)
        elif trial and name in summed and array.dtype.kind == "f":
            changed[name] = _powers(array, trial, _SHIFT_OF_SUM)
        elif trial == _FALLING and not moved and "accumulate" in right.line and array.dtype.kind in "iuf":
            changed[name] = _falling(array)
        elif seeks and name in used and array.dtype.kind in "iuf" and (trial in ENDS or (trial > LARGE and not moved)):
            placed = _with_middle if trial in ENDS and "median" in right.line else _with_extreme
            changed[name] = placed(array, trial, odd)
        elif name in moved and trial >= LARGE and trial not in ENDS:
            made = _falling(array) if sorts and trial == _FALLING else _moved(array, trial, place)
            if array.dtype.kind == "f" and not finds:
                made = made / array.dtype.type(4)  # a kernel may add a few, as (x + abs(x)) / 2 does
            if finds and trial == LARGE and array.size > 1 and not sorts:
                made = _with_second(made, least=_FINDS_LEAST.search(right.line) is not None)
            bounds = finds and trial == TIES and name not in divides and array.dtype.kind in "iuf"
            changed[name] = _with_near(made, right.line, numbers, own, place) if bounds else made
        elif trial == LARGE and name in wraps and isinstance(out, np.ndarray) and _keep_bits(out, array):
            changed[name] = _with_ends_of_type(_of_whole_range(array, np.random.default_rng([place, trial])))
        elif trial == LARGE and name in used and isinstance(out, np.ndarray) and _is_narrow(out, array):
            whole = _of_whole_range(array, np.random.default_rng([place, trial]))
            changed[name] = np.where(whole == 0, whole.dtype.type(1), whole)  # may be a divisor
        elif trial == LARGE and name in used and isinstance(out, np.ndarray) and _is_wider(out, array):
            changed[name] = _largest(array)
        elif trial == LARGE and name in used and array.dtype.kind in "iu" and array.itemsize == 8:
            changed[name] = array * array.dtype.type(_BEYOND_INT)
        elif trial == LARGE and name in used and added_in(right.line) and array.dtype in (np.float32, np.float64):
            changed[name] = _beside(array, added_in(right.line))
        elif trial == LARGE and name in used and has_steps(right.line) and array.dtype in (np.float32, np.float64):
            changed[name] = _with_large_whole(right.line, every, name, numbers)
        elif trial == _EQUAL and not finds and name in used - divides and array.dtype.kind in "iuf":
            changed[name] = _with_near(array, right.line, numbers, own, place)
            middle = slice(array.size // 4, array.size // 4 * 3)
            if halved:
                changed[name].flat[middle] = _halved(array, halved).flat[middle]
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
        made = {**arrays, **{name: _halved(arrays[name], times) for name in names}}
        shares = [float(np.mean(value_of(each, made, numbers).of)) for each in comparisons]
        return min(min(share, 1 - share) for share in shares)

    try:
        return max(range(_MOST_HALVED), key=rarer) if comparisons else 0
    except NotRunnable:
        return 0


def _halved(numbers: Array, times: int) -> Array:
    made: Array = numbers / 2**times if numbers.dtype.kind == "f" else numbers >> times
    return made.astype(numbers.dtype)


def _with_finite_sums(
    line: str, arrays: Mapping[str, Array], names: Collection[str], numbers: Mapping[str, float], trial: int
) -> Collection[str]:
    """Return the arrays `names` if a line has a finite value also of the powers of their numbers."""
    made = {name: _powers(arrays[name], trial, _SHIFT_OF_SUM) for name in names if arrays[name].dtype.kind == "f"}
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
            made = {name: _halved(arrays[name], times) for name in floats}
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
        whole[name] = _of_whole_range(arrays[name], make)
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


def _beside(numbers: Array, added: float) -> Array:
    """Return numbers whose squares are about as large as what a line adds, if that is small: it shows only there."""
    size = float(np.abs(numbers).max())
    made: Array = numbers * numbers.dtype.type(min(1.0, 2.0 ** np.rint(np.log2(np.sqrt(added) / size))))
    return made if size else numbers


def _powers(numbers: Array, trial: int, shift: float) -> Array:
    """Return numbers of which exp() is 0, or infinite for one in each row, unless the largest is subtracted."""
    made, count = numbers.astype(np.float64), numbers.shape[-1]
    if trial == LARGE:
        made += shift
    else:
        made[..., count - 1 if trial in ENDS else turned_place(count, trial)] -= shift
    return made.astype(numbers.dtype)


def _with_near(array: Array, line: str, numbers: Mapping[str, float], own: OwnKernel, place: int) -> Array:
    """Return numbers of which some are near those with which a line and its kernel compare. `place`: of the array
    among several, as each has them elsewhere. The smallest numbers are
    among them only if the line itself compares with 0: a function such as powf does so, too."""
    near = _near(line, numbers, own, array.dtype)
    beside = [one for one in near if one or 0 in bounds_in(line, numbers)]
    return _with_bounds(array, near, beside, place)


def _with_bounds(numbers: Array, bounds: Sequence[float], beside: Sequence[float], own: int) -> Array:
    """Return numbers of which some are equal to these bounds, one more and one less, and the next ones of their type to
    those of `beside`, as far as their type has them."""
    made = numbers.copy()
    values = np.array([bound + more for bound in bounds for more in (0, 1, -1)], np.float64)
    fit = [value for value in values if abs(value) < _EXACT and (value >= 0 or made.dtype.kind != "u")]
    with np.errstate(invalid="ignore", over="ignore"):
        fit = [value for value in fit if value.astype(made.dtype) == value]
    if made.dtype.kind == "f":
        kind, least = made.dtype.type, np.finfo(made.dtype).tiny  # instructions may flush smaller numbers
        near = np.array(beside).astype(kind)
        following = (np.nextafter(near, kind(np.inf)), np.nextafter(near, kind(-np.inf)))
        fit += [np.copysign(max(abs(value), least), value) for value in np.concatenate(following)]
    for place, value in enumerate(fit, 1):
        made.flat[place :: 2 + len(fit) + own] = value
    last = made.flat[-(made.size // 4) :] if fit else made[:0]
    if last.size:  # there they are neighbours, each of each other
        made.flat[-last.size :] = np.random.default_rng([last.size, own]).permutation(last)
    return made


def _moved(numbers: Array, trial: int, place: int) -> Array:
    """Return numbers for a line that only moves and compares them. `place`: of the array among several."""
    if numbers.dtype.kind not in "iuf":
        return numbers
    make = np.random.default_rng([place, trial])
    if trial == LARGE:
        return _of_whole_range(numbers, make)
    if trial == TIES:
        few = make.integers(0, 4, numbers.shape)
        return (few / 4 if numbers.dtype.kind == "f" else few).astype(numbers.dtype)
    return _extremes(numbers, trial, -1 if trial in _FOR_MINIMA else 1)


def _with_second(numbers: Array, least: bool) -> Array:
    """Return numbers of which the second one is the least or the largest: a search that begins one too far misses
    it."""
    made, at = numbers.copy(), int(numbers.argmin() if least else numbers.argmax())
    made.flat[[1, at]] = made.flat[[at, 1]]
    return made


def _with_extreme(numbers: Array, trial: int, odd: int | None) -> Array:
    """Return numbers of which the largest, in even trials the smallest, is at an end or at a border; if it is at an
    end, the smallest or the largest is at the other one."""
    made, place = numbers.copy(), place_of(numbers.size, trial) if odd is None else min(odd, numbers.size - 1)
    other = {0: numbers.size - 1, numbers.size - 1: 0}.get(place)
    for to, largest in ((other, not trial % 2), (place, bool(trial % 2))):
        at = int(made.argmax() if largest else made.argmin())
        if to is not None:
            made.flat[[to, at]] = made.flat[[at, to]]
    return made


def _with_middle(numbers: Array, trial: int, odd: int | None) -> Array:
    """Return numbers of which the median is at an end or at a border."""
    made, place = numbers.copy(), place_of(numbers.size, trial) if odd is None else min(odd, numbers.size - 1)
    at = int(np.argsort(made, axis=None)[made.size // 2])
    made.flat[[place, at]] = made.flat[[at, place]]
    return made


def _falling(numbers: Array) -> Array:
    """Return the numbers in falling order: a sort needs all of its steps for them."""
    made: Array = np.sort(numbers, axis=None)[::-1].reshape(numbers.shape)
    return made


def _of_whole_range(numbers: Array, make: np.random.Generator) -> Array:
    """Return random numbers, with all bits of their type in use: integers from its whole range, floats of very
    different sizes."""
    if numbers.dtype.kind == "f":
        most = 6 if numbers.dtype.itemsize == 2 else 60
        sizes = np.ldexp(make.uniform(-1, 1, numbers.shape), make.integers(-most, most, numbers.shape))
        return sizes.astype(numbers.dtype)
    info = np.iinfo(str(numbers.dtype))
    return make.integers(info.min, info.max, numbers.shape, numbers.dtype, endpoint=True)


def _with_ends_of_type(numbers: Array) -> Array:
    """Return numbers of which some are the smallest and the largest ones of their type."""
    made, info = numbers.copy(), np.iinfo(str(numbers.dtype))
    made.flat[_ENDS_OF_TYPE::_ENDS_OF_TYPE] = info.max
    made.flat[_ENDS_OF_TYPE + 1 :: _ENDS_OF_TYPE] = info.min
    return made


def _extremes(numbers: Array, trial: int, sign: int) -> Array:
    """Return `extremes` in the shape of `numbers`: the other number stands elsewhere in each trial, in the last two
    nowhere."""
    place = turned_place(numbers.size, trial) if trial < len(SEARCHED) - (sign < 0) else None
    return extremes(numbers.size, numbers.dtype, place, sign).reshape(numbers.shape)


def _large(numbers: Array) -> Array:
    """Return integers of 32 or 64 bits as many times as large as their sum allows in as many bits: sums in a narrower
    type, or in floats, are wrong answers."""
    if numbers.dtype.kind not in "iu" or numbers.itemsize < 4:
        return numbers
    return _times(numbers, int(np.abs(numbers.astype(np.int64)).sum()), 8 * numbers.itemsize)


def _largest(numbers: Array) -> Array:
    """Return integers as many times as large as 32 bits allow, at least half of them positive, so that they do not
    cancel: a product or a sum in a type as narrow is a wrong answer."""
    if numbers.itemsize != 4:
        return numbers
    made = _times(numbers, int(np.abs(numbers.astype(np.int64)).max()))
    made.flat[::2] = np.abs(made.flat[::2])
    return made


def _times(numbers: Array, most: int, bits: int = 32) -> Array:
    """Return integers as many times as large as leaves `most` in so many bits."""
    made: Array = numbers * numbers.dtype.type(max(1, (2 ** (bits - 1) - 1) // max(1, most)))
    return made


def _is_wider(out: Array, read: Array) -> bool:
    """Return whether the answer is made of wider integers than those that are read."""
    return out.dtype.kind in "iu" and read.dtype.kind in "iu" and out.itemsize > read.itemsize


def _keep_bits(out: Array, read: Array) -> bool:
    """Return whether the answer has the low bits of what a kernel computes in the 32 or 64 bits of what it reads, or
    fractions of it."""
    return (
        out.dtype.kind == "f"
        or _are_ints(out, read)
        or (read.itemsize == 8 and all(each.dtype.kind in "iu" for each in (out, read)))
    )


def _is_narrow(out: Array, read: Array) -> bool:
    """Return whether fractions or longs are made of whole numbers that are narrower than an int: it holds all."""
    wide = out.itemsize > (2 if out.dtype.kind == "f" else 4)
    return wide and read.dtype.kind in "iu" and read.itemsize < 4


def _are_ints(out: Array, read: Array) -> bool:
    """Return whether a kernel computes the answer, and what it reads, as integers of 32 bits."""
    return all(each.dtype.kind in "iu" and each.itemsize in (2, 4) for each in (out, read))


def _are_words(out: Array, read: Array) -> bool:
    """Return whether the answer and what is read are integers of 32 bits."""
    return all(each.dtype.kind in "iu" and each.itemsize == 4 for each in (out, read))
