"""Bits: logic, shifts, fields, counts, permutations."""

from __future__ import annotations

import numpy as np

from engine.backends.emulator.meanings.registry import BITS, INTEGERS, bit_mask, computes, unsigned
from engine.records import Array

LOGICAL = ("pred", *BITS)
FIELDS = ("u32", "u64", "s32", "s64")
WORDS = ("b32", "b64")
HALF_MASKS = (0x55555555_55555555, 0x33333333_33333333, 0x0F0F0F0F_0F0F0F0F)
NONE = np.uint32(0xFFFFFFFF)  # PTX's answer if there is no such bit


@computes("and.{t}", "t t -> t", t=LOGICAL)
def conjoin(a: Array, b: Array) -> Array:
    """a and b, bit by bit."""
    return a & b


@computes("or.{t}", "t t -> t", t=LOGICAL)
def disjoin(a: Array, b: Array) -> Array:
    """a or b, bit by bit."""
    return a | b


@computes("xor.{t}", "t t -> t", t=LOGICAL)
def differ(a: Array, b: Array) -> Array:
    """a exclusive or b, bit by bit."""
    return a ^ b


@computes("not.{t}", "t -> t", t=LOGICAL)
def invert(a: Array) -> Array:
    """All bits inverted."""
    return ~a


@computes("cnot.{t}", "t -> t", t=BITS)
def logical_not(a: Array) -> Array:
    """1 where a is 0, else 0."""
    result: Array = (a == 0).astype(a.dtype)
    return result


@computes("lop3.b32", "b32 b32 b32 u32 -> b32")
def look_up(a: Array, b: Array, c: Array, table: Array) -> Array:
    """Any function of three bits: bit 4a + 2b + c of the table."""
    result = np.zeros_like(a)
    wanted = int(np.ravel(table)[0])  # an immediate in PTX
    for index in range(8):
        if wanted >> index & 1:
            result = result | (a if index & 4 else ~a) & (b if index & 2 else ~b) & (c if index & 1 else ~c)
    return result


def _count(count: Array, a: Array) -> Array:
    """Return a shift count in a's dtype. PTX clamps counts of the width and above, and NumPy does once they fit the
    type."""
    return np.minimum(count, np.uint32(64)).astype(a.dtype)


@computes("shl.{t}", "t u32 -> t", t=BITS)
def shift_left(a: Array, count: Array) -> Array:
    """a shifted left; zeros come in, and a count of the width or more gives 0."""
    return a << _count(count, a)


@computes("shr.{t}", "t u32 -> t", t=BITS + INTEGERS)
def shift_right(a: Array, count: Array) -> Array:
    """a shifted right; a signed type shifts in its sign bit, and a count of the width or more leaves only that."""
    return a >> _count(count, a)


@computes("shf.{side}.{mode}.b32", "b32 b32 u32 -> b32", side=("l", "r"), mode=("wrap", "clamp"))
def shift_funnel(low: Array, high: Array, count: Array, *, side: str, mode: str) -> Array:
    """32 bits of the 64-bit value high:low, shifted left (the upper word) or right (the lower word)."""
    amount = (count & np.uint32(31) if mode == "wrap" else np.minimum(count, np.uint32(32))).astype(np.uint64)
    both = high.astype(np.uint64) << np.uint64(32) | low
    moved = both << amount >> np.uint64(32) if side == "l" else both >> amount
    return moved.astype(np.uint32)


def _ones(count: Array, dtype: np.dtype[np.generic]) -> Array:
    """Return the lowest `count` bits set, all of them from the width on: NumPy's shift then gives 0, and 0 -
    1 wraps."""
    one = np.array(1, dtype)
    result: Array = (one << np.minimum(count, 64).astype(dtype)) - one
    return result


def _place_of_field(count: Array, a: Array) -> Array:
    """Return the start or length of a field. The 32-bit instruction reads the lowest 8 bits of the count.

    64-bit fields consist of shifts, which clamp; PTX leaves counts above 255 undefined.
    """
    return count & np.uint32(255) if a.dtype.itemsize == 4 else np.minimum(count, np.uint32(64))


@computes("bfe.{t}", "t u32 u32 -> t", t=FIELDS)
def extract_field(a: Array, start: Array, length: Array) -> Array:
    """`length` bits from `start`. A signed field continues with its top bit, even beyond the register's top."""
    start, length = _place_of_field(start, a), _place_of_field(length, a)
    width = a.dtype.itemsize * 8
    field = shift_right(unsigned(a), start)
    if a.dtype.kind == "u":
        return field & _ones(length, a.dtype)
    top = np.minimum(start + length - np.uint32(1), np.uint32(width - 1))
    negative = (shift_right(unsigned(a), top) & np.array(1, field.dtype)).astype(bool) & (length > 0)
    inside = np.minimum(length, np.uint32(width) - np.minimum(start, np.uint32(width)))
    kept = _ones(inside, field.dtype)
    return ((field & kept) | (bit_mask(negative, field.dtype) & ~kept)).view(a.dtype)


@computes("bfi.{t}", "t t u32 u32 -> t", t=WORDS)
def insert_field(a: Array, b: Array, start: Array, length: Array) -> Array:
    """b with `length` of its bits from `start` replaced by the low bits of a."""
    start, length = _place_of_field(start, a), _place_of_field(length, a)
    place = shift_left(_ones(length, a.dtype), start)
    return b ^ ((shift_left(a, start) ^ b) & place)


@computes("bmsk.{mode}.b32", "u32 u32 -> b32", mode=("wrap", "clamp"))
def make_mask(start: Array, width: Array, *, mode: str) -> Array:
    """`width` ones from bit `start`; both modulo 32, or clamped to 32."""
    if mode == "wrap":
        start, width = start & np.uint32(31), width & np.uint32(31)
    return shift_left(_ones(width, np.dtype("u4")), start)


@computes("szext.{mode}.{t}", "t u32 -> t", mode=("wrap", "clamp"), t=("u32", "s32"))
def extend(a: Array, width: Array, *, mode: str) -> Array:
    """The low `width` bits of a, extended by zeros or by their top bit. Clamped widths of 32 and more give all of a."""
    width = width & np.uint32(31) if mode == "wrap" else np.minimum(width, np.uint32(32))
    kept = _ones(width, np.dtype("u4"))
    low = unsigned(a) & kept
    if a.dtype.kind == "u":
        return low
    top = (width - np.uint32(1)) & np.uint32(31)
    negative = (low >> top & np.uint32(1)).astype(bool)
    return (low | (bit_mask(negative, "u4") & ~kept)).view(np.int32)


@computes("popc.{t}", "t -> u32", t=WORDS)
def count_ones(a: Array) -> Array:
    """The number of set bits."""
    return np.bitwise_count(a).astype(np.uint32)


@computes("clz.{t}", "t -> u32", t=WORDS)
def count_leading_zeros(a: Array) -> Array:
    # The exponent of a float64 is the position of the top bit. Clearing the bit below it keeps rounding from raising
    # it.
    """The number of zeros above the top bit; the width for 0."""
    exponent = (a & ~(a >> a.dtype.type(1))).astype(np.float64).view(np.uint64) >> np.uint64(52)
    width = a.dtype.itemsize * 8
    result: Array = np.minimum(np.uint32(1022 + width) - exponent.astype(np.uint32), np.uint32(width))
    return result


@computes("bfind.shiftamt?.{t}", "t -> u32", t=FIELDS)
def find_top(a: Array, *, shiftamt: bool) -> Array:
    """The position of the top bit other than the sign, or the shift that moves it to the top; all ones if there is
    none."""
    bits = unsigned(a ^ a >> a.dtype.type(a.dtype.itemsize * 8 - 1)) if a.dtype.kind == "i" else a
    zeros = count_leading_zeros(bits)
    top = np.uint32(a.dtype.itemsize * 8 - 1)
    return (zeros if shiftamt else top - zeros) | bit_mask(bits == 0, "u4")


@computes("brev.{t}", "t -> t", t=WORDS)
def reverse_bits(a: Array) -> Array:
    """Bit 0 becomes the top bit."""
    kind = a.dtype.type
    for step, mask in zip((1, 2, 4), HALF_MASKS, strict=True):
        keep = kind(mask & (2 ** (8 * a.dtype.itemsize) - 1))
        a = (a >> kind(step) & keep) | (a & keep) << kind(step)
    return a.byteswap()


@computes("fns.b32", "b32 u32 s32 -> u32")
def find_nth_set(mask: Array, base: Array, offset: Array) -> Array:
    """The |offset|-th set bit of the mask from `base`, upwards or downwards; with offset 0 `base` itself if set.

    The lowest offset has no absolute value; the GPU returns 0 for it.
    """
    mask, base, offset = np.broadcast_arrays(mask, base, offset)
    found = np.full(mask.shape, NONE)
    seen = np.zeros(mask.shape, dtype=np.int64)
    target = np.maximum(np.abs(offset.astype(np.int64)), 1)
    step = np.sign(offset.astype(np.int64))
    for distance in range(32):
        place = base.astype(np.int64) + distance * step
        inside = (base < 32) & (place >= 0) & (place < 32) & ((step != 0) | (distance == 0))
        is_set = inside & ((mask >> (place & 31).astype(np.uint32) & np.uint32(1)) > 0)
        seen += is_set
        hit = bit_mask(is_set & (seen == target), "u4")
        found = found ^ ((found ^ place.astype(np.uint32)) & hit)
    return found & ~bit_mask(offset == np.iinfo(np.int32).min, "u4")


def _selectors(mode: str, select: Array) -> list[Array]:
    """The four byte selectors of a special mode of prmt, byte 0 first."""
    which = select & np.uint32(3)
    numbers = [np.uint32(index) for index in range(4)]
    match mode:
        case "f4e":
            return [which + index for index in numbers]
        case "b4e":
            return [(which - index) & np.uint32(7) for index in numbers]
        case "rc8":
            return [which for _ in numbers]
        case "ecl":
            return [np.maximum(which, index) for index in numbers]
        case "ecr":
            return [np.minimum(which, index) for index in numbers]
        case _:
            low = (which & np.uint32(1)) * np.uint32(2)
            return [low + (index & np.uint32(1)) for index in numbers]


@computes("prmt.b32.{mode?}", "b32 b32 u32 -> b32", mode=("f4e", "b4e", "rc8", "ecl", "ecr", "rc16"))
def permute_bytes(a: Array, b: Array, select: Array, *, mode: str) -> Array:
    """Any four of the eight bytes of b:a; in the plain mode bit 3 of a selector repeats the byte's sign instead."""
    if not mode and select.size == 1:
        return _permuted(a, b, int(select.item()))
    if mode:
        chosen = _selectors(mode, select)
    else:
        chosen = [select >> np.uint32(4 * index) & np.uint32(15) for index in range(4)]
    both = b.astype(np.uint64) << np.uint64(32) | a
    result = np.zeros_like(a)
    for index, selector in enumerate(chosen):
        byte = (both >> ((selector & np.uint32(7)) * np.uint32(8)).astype(np.uint64)).astype(np.uint32) & np.uint32(255)
        if not mode and (selector & np.uint32(8)).any():
            spread = bit_mask(byte >= 128, "u4") & np.uint32(255)
            byte = byte ^ ((byte ^ spread) & bit_mask((selector & np.uint32(8)) > 0, "u4"))
        result = result | byte << np.uint32(8 * index)
    return result


def _permuted(a: Array, b: Array, select: int) -> Array:
    """Permute bytes with one selector for all lanes: whole words are shifted and masked, without lookups."""
    a, b = np.broadcast_arrays(a, b)
    result = np.zeros_like(a)
    for index in range(4):
        wanted = select >> 4 * index & 15
        word, place = (b if wanted & 4 else a), wanted & 3
        moved = word >> np.uint32(8 * (place - index)) if place > index else word << np.uint32(8 * (index - place))
        if wanted & 8:
            spread = (word << np.uint32(24 - 8 * place)).view(np.int32) >> np.int32(31)
            moved = spread.view(np.uint32)
        result = result | moved & np.uint32(255 << 8 * index)
    return result
