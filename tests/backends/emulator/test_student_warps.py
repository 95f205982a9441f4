# ruff: noqa: E501  (a program in few lines reads better than one in many)
"""Votes, shuffles, reductions, groups and atomics as students write them, on the emulator; NumPy says what comes out.

Every program is compiled for three generations of GPUs. One warp; rows of 32 numbers, one a thread.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import pytest

from tests.backends.emulator.student_rows import T, bits_of, in_groups, rows

pytestmark = pytest.mark.usefixtures("architecture")


# ---- warps


def test_votes_and_matches() -> None:
    made = rows(
        """PUT(0, __ballot_sync(~0u, t % 3 == 0)); PUT(1, __any_sync(~0u, t == 31)); PUT(2, __all_sync(~0u, t < 31));
        PUT(3, __match_any_sync(~0u, t / 5)); PUT(4, __match_any_sync(~0u, (double)(t & 1)));
        int same; PUT(5, __match_all_sync(~0u, 7, &same)); PUT(6, same);
        PUT(7, __match_all_sync(~0u, (unsigned long long)(t == 9) << 40, &same)); PUT(8, same);
        if (t % 4 == 1) PUT(9, __activemask()); else PUT(9, __ballot_sync(~0x22222222u, t & 1));""",
        10,
    )
    assert set(made[0]) == {bits_of(T % 3 == 0)} and set(made[1]) == {1} and set(made[2]) == {0}
    assert made[3].tolist() == in_groups(T // 5) and made[4].tolist() == in_groups(T & 1)
    assert set(made[5]) == {0xFFFFFFFF} and set(made[6]) == {1} and not made[7:9].any()
    assert made[9].tolist() == [0x22222222 if t % 4 == 1 else bits_of((T & 1 == 1) & (T % 4 != 1)) for t in T]


def test_parties_of_a_warp_vote_and_match_among_themselves() -> None:
    made = rows(
        """unsigned party = __match_any_sync(~0u, t % 3); PUT(0, party); PUT(1, __ballot_sync(party, t & 1));
        PUT(2, __all_sync(party, t % 3 == 1)); PUT(3, __any_sync(party, t == 5)); PUT(4, __match_any_sync(party, t & 1));
        int same; __match_all_sync(party, t % 3, &same); PUT(5, same); PUT(6, __shfl_sync(party, t, __ffs(party) - 1));
        #if __CUDA_ARCH__ >= 800
        PUT(7, __reduce_add_sync(party, t)); PUT(8, __reduce_max_sync(party, t));
        #endif""",
        9,
    )
    third = T % 3
    mine = [third == own for own in third]
    assert made[0].tolist() == [bits_of(lanes) for lanes in mine]
    assert made[1].tolist() == [bits_of(lanes & (T & 1 == 1)) for lanes in mine]
    assert made[2].tolist() == (third == 1).tolist() and made[3].tolist() == (third == 2).tolist()
    assert made[4].tolist() == in_groups(third * 2 + (T & 1)) and set(made[5]) == {1}
    assert made[6].tolist() == third.tolist()
    if made[7].any():  # begins with compute_80
        assert made[7].tolist() == [T[lanes].sum() for lanes in mine]
        assert made[8].tolist() == [T[lanes].max() for lanes in mine]


def test_shuffles_of_all_forms_and_types() -> None:
    made = rows(
        """PUT(0, __shfl_sync(~0u, 3 * t, t ^ 5)); PUT(1, __shfl_sync(~0u, t, t + 3, 8)); PUT(2, __shfl_up_sync(~0u, t, 3));
        PUT(3, __shfl_up_sync(~0u, t, 1, 4)); PUT(4, __shfl_down_sync(~0u, t, 5)); PUT(5, __shfl_down_sync(~0u, t, 5, 16));
        PUT(6, __shfl_xor_sync(~0u, t, 9)); PUT(7, __shfl_xor_sync(~0u, t, 4, 8)); PUT(8, __shfl_sync(~0u, 1.5 * t, 3));
        PUT(9, __shfl_down_sync(~0u, (long long)t << 35, 1) >> 35); PUT(10, __shfl_xor_sync(~0u, t * 0.25f, 1) * 4);""",
        11,
        "int",
    )
    segment = T // 8 * 8
    wanted = [
        3 * (T ^ 5), segment + (T + 3) % 8, np.where(T < 3, T, T - 3), np.where(T % 4 < 1, T, T - 1),
        np.where(T > 26, T, T + 5), np.where(T % 16 > 10, T, T + 5), T ^ 9, T ^ 4, np.full(32, 4),
        np.where(T > 30, T, T + 1), T ^ 1,
    ]  # fmt: skip
    for number, row in enumerate(wanted):
        np.testing.assert_array_equal(made[number], row, f"row {number}")


def test_reductions_of_a_warp(architecture: str) -> None:
    if architecture == "compute_75":
        pytest.skip("begins with compute_80")
    made = rows(
        """PUT(0, __reduce_add_sync(~0u, t)); PUT(1, __reduce_min_sync(~0u, 5 - t)); PUT(2, __reduce_max_sync(~0u, (unsigned)-t));
        PUT(3, __reduce_and_sync(~0u, t | 8)); PUT(4, __reduce_or_sync(~0u, t)); PUT(5, __reduce_xor_sync(~0u, t * 7));""",
        6,
        "int",
    )
    exclusive = reduce(int.__xor__, (7 * T).tolist())
    assert [set(row.tolist()) for row in made] == [{496}, {-26}, {-1}, {8}, {31}, {exclusive}]


@pytest.mark.thorough
def test_cooperative_groups() -> None:
    made = rows(
        """namespace cg = cooperative_groups;
        auto block = cg::this_thread_block(); auto warp = cg::tiled_partition<32>(block);
        auto eight = cg::tiled_partition<8>(block);
        PUT(0, cg::reduce(warp, t, cg::plus<int>())); PUT(1, cg::reduce(eight, t, cg::greater<int>()));
        PUT(2, cg::inclusive_scan(eight, t)); PUT(3, cg::exclusive_scan(warp, t, cg::plus<int>()));
        if (t % 3 == 0) { auto some = cg::coalesced_threads(); PUT(4, some.size() * 100 + some.thread_rank()); }
        PUT(5, eight.shfl_down(t, 1)); PUT(6, eight.meta_group_rank()); PUT(7, warp.ballot(t & 1));
        auto label = cg::labeled_partition(warp, t % 5); PUT(8, cg::reduce(label, t, cg::plus<int>()));
        block.sync(); PUT(9, block.thread_rank() + block.size());""",
        10,
        "int",
        "#include <cooperative_groups.h>\n#include <cooperative_groups/reduce.h>\n#include <cooperative_groups/scan.h>",
    )
    eights = T.reshape(4, 8)
    wanted = [
        np.full(32, 496), np.repeat(eights.max(axis=1), 8), eights.cumsum(axis=1).ravel(), T.cumsum() - T,
        np.where(T % 3 == 0, 1100 + T // 3, 0), np.where(T % 8 == 7, T, T + 1), T // 8,
        np.full(32, np.uint32(0xAAAAAAAA).view(np.int32)), [T[t % 5 == T % 5].sum() for t in T], T + 32,
    ]  # fmt: skip
    for number, row in enumerate(wanted):
        np.testing.assert_array_equal(made[number], row, f"row {number}")


# ---- atomics


def test_atomics_of_every_kind() -> None:
    made = rows(
        """int *a = (int *)out; unsigned long long *u = (unsigned long long *)(out + 32);
        atomicAdd(a, t); atomicSub(a + 1, t); atomicMin(a + 2, -t); atomicMax(a + 3, t); atomicInc(out + 4, 20u);
        atomicDec(out + 5, 7u); atomicAnd(out + 6, 0u); atomicOr(out + 7, 1u << t); atomicXor(out + 8, t * 3u);
        atomicExch(out + 9, 5u); atomicCAS(out + 10, 0u, 77u); atomicAdd((float *)(out + 11), 0.5f);
        atomicAdd_block(out + 12, 2u); atomicAdd_system(out + 13, 3u); PUT(3, atomicAdd(out + 14, 1u));
        atomicAdd(u, 1ull << 33); atomicMin(u + 1, (unsigned long long)t); atomicMax(u + 2, (unsigned long long)t << 33);
        atomicMax((long long *)u + 3, (long long)(5 - t)); atomicOr(u + 4, 1ull << (t + 10)); atomicCAS(u + 5, 0ull, 7ull);
        atomicExch(u + 6, 9ull); atomicAdd((double *)(u + 7), 0.25); atomicXor(u + 8, 1ull << 40);""",
        4,
    )
    words = made[0]
    assert words[:2].view(np.int32).tolist() == [496, -496] and words[2:4].view(np.int32).tolist() == [-31, 31]
    inc = reduce(lambda now, _: 0 if now >= 20 else now + 1, range(32), 0)
    dec = reduce(lambda now, _: 7 if now == 0 or now > 7 else now - 1, range(32), 0)
    assert words[4:11].tolist() == [inc, dec, 0, 0xFFFFFFFF, reduce(int.__xor__, (3 * T).tolist()), 5, 77]
    assert words[11:12].view(np.float32)[0] == 16 and words[12:15].tolist() == [64, 96, 32]
    wide = made[1].view(np.uint64)
    assert wide[:9].tolist() == [
        1 << 38, 0, 31 << 33, 5, sum(1 << (t + 10) for t in range(32)), 7, 9, np.float64(8).view(np.uint64), 0
    ]  # fmt: skip
    assert sorted(made[3].tolist()) == list(range(32))


def test_atomics_on_shared_words_of_both_widths() -> None:
    made = rows(
        """__shared__ unsigned long long wide[4]; __shared__ unsigned narrow[2]; __shared__ double sum; __shared__ float part;
        if (t < 4) wide[t] = t; if (t < 2) narrow[t] = 0; if (t == 0) sum = part = 0; __syncthreads();
        unsigned long long old = atomicAdd(&wide[t & 3], (unsigned long long)t << 33); atomicAdd(&narrow[t & 1], 3u);
        if (t % 2) atomicMax(&wide[1], 5ull); atomicAdd(&sum, 1.5); atomicAdd(&part, 2.f); __syncthreads();
        if (t < 4) { PUT(0, wide[t] >> 33); PUT(1, (unsigned)wide[t]); } if (t < 2) PUT(2, narrow[t]);
        PUT(3, sum + part); PUT(4, old >> 33);""",
        5,
    )
    sums = [T[lane == T % 4].sum() for lane in range(4)]
    assert made[0, :4].tolist() == sums and made[1, :4].tolist() == [0, 1, 2, 3]
    assert made[2, :2].tolist() == [48, 48] and set(made[3]) == {48 + 64}
    assert made[4].tolist() == [T[(t % 4 == T % 4) & (t > T)].sum() for t in T]


def test_atomic_sums_of_half_precision() -> None:
    made = rows(
        """__half *h = (__half *)out; __half2 *pair = (__half2 *)(out + 4); __nv_bfloat16 *b = (__nv_bfloat16 *)(out + 8);
        __nv_bfloat162 *two = (__nv_bfloat162 *)(out + 12); __shared__ __half s[2]; if (t < 2) s[t] = 0; __syncthreads();
        atomicAdd(&h[t & 3], __float2half(1.5f)); atomicAdd(pair, __floats2half2_rn(1.f, -2.f));
        atomicAdd(&b[t & 3], __float2bfloat16(0.5f)); atomicAdd(two, __floats2bfloat162_rn(1.f, 4.f));
        __half old = atomicAdd(&s[t & 1], __float2half(1.f)); PUT(1, (unsigned)__half2float(old));""",
        2,
        before="#include <cuda_fp16.h>\n#include <cuda_bf16.h>",
    )
    halves = made[0].view(np.float16)
    assert halves[:4].tolist() == [12] * 4 and halves[8:10].tolist() == [32, -64]
    brains = (made[0].view(np.uint16).astype(np.uint32) << 16).view(np.float32)
    assert brains[16:20].tolist() == [4] * 4 and brains[24:26].tolist() == [32, 128]
    assert made[1].tolist() == (T // 2).tolist()


def test_loops_around_compare_and_swap() -> None:
    made = rows(
        """unsigned long long *p = (unsigned long long *)out, old = *p, seen;
        do { seen = old; old = atomicCAS(p, seen, __double_as_longlong(fmax(t * 1.5, __longlong_as_double(seen)))); }
        while (seen != old);
        int *q = (int *)(out + 2), before = *q, now;
        do { now = before; before = atomicCAS(q, now, __float_as_int(__int_as_float(now) + 1.f)); } while (now != before);
        unsigned short *s = (unsigned short *)(out + 3), mine = *s, last;
        do { last = mine; mine = atomicCAS(s, last, (unsigned short)(last + t)); } while (last != mine);""",
        1,
    )
    assert made[0, :2].view(np.float64)[0] == 46.5 and made[0, 2:3].view(np.float32)[0] == 32 and made[0, 3] == 496
