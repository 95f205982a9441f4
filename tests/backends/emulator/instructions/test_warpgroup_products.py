"""wgmma: every layout of its operands in shared memory and registers, its options, and the rule of its groups."""

import numpy as np
import pytest

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Buffer, Launch, RunFailed, Scalar, Source

N, BYTES = 16, 8192  # columns of B; of A's part of shared memory, and of B's
TEXT = """typedef unsigned long long u64;
extern "C" __global__ void f(const unsigned *in, const unsigned *held, const u64 *bits, float *out, int add) {
    extern __shared__ __align__(1024) unsigned memory[];
    int t = threadIdx.x;
    for (int i = t; i < 4096; i += 128) memory[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    u64 start = (unsigned)__cvta_generic_to_shared(memory) >> 4, m = bits[0] + start, n = bits[1] + start + 512;
    float d[8];
    for (int i = 0; i < 8; ++i) d[i] = i;
    unsigned a0 = held[t], a1 = held[128 + t], a2 = held[256 + t], a3 = held[384 + t];
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %10, 0; "
                 "wgmma.mma_async.sync.aligned.m64n16k16.f32.KIND.KIND {%0, %1, %2, %3, %4, %5, %6, %7}, LEFT, %9, "
                 "p, FACTORS; }" : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]),
                 "+f"(d[7]) : "l"(m), "l"(n), "r"(add), "r"(a0), "r"(a1), "r"(a2), "r"(a3));
    asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
    WAIT
    for (int i = 0; i < 8; ++i)
        out[(t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8) * 16 + i / 4 * 8 + t % 4 * 2 + i % 2] = d[i];
}"""
WAITED = 'asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");'
RNG = np.random.default_rng(7)
A, B = RNG.integers(-8, 9, (64, 16)), RNG.integers(-8, 9, (N, 16))  # exact in both types; B by its columns
START = np.zeros((64, N), np.float32)  # the number of its register stands in each sum
for _i in range(8):
    _t = np.arange(128)
    START[_t // 32 * 16 + _t % 32 // 4 + _i // 2 % 2 * 8, _i // 4 * 8 + _t % 4 * 2 + _i % 2] = _i


def bits(values: np.ndarray, kind: str) -> np.ndarray:
    if kind == "f16":
        return values.astype(np.float16).view(np.uint16)
    return (values.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)


def laid_out(lines: np.ndarray, span: int, along: bool) -> tuple[np.ndarray, int]:
    """The canonical layout of the PTX manual: the 16-bit words of a part of shared memory, and the description."""
    words, wide = np.zeros(BYTES // 2, np.uint16), span // 2
    leading, stride = (2048, 8 * span) if span else (1024, 128) if along else (256, 1024)
    if span and not along:
        leading, stride = 16 * span, 8 * span
    for line, k in np.ndindex(lines.shape):
        if along and span:
            place = line % 8 * span + line // 8 * stride + 2 * k
        elif along:
            place = line % 8 * 16 + line // 8 * stride + k // 8 * leading + k % 8 * 2
        elif span:
            place = line % wide * 2 + line // wide * leading + k % 8 * span + k // 8 * stride
        else:
            place = line % 8 * 2 + line // 8 * stride + k % 8 * 16 + k // 8 * leading
        if span:
            place ^= ((place >> 7) & (span // 16 - 1)) << 4
        words[place // 2] = lines[line, k]
    mode = {0: 0, 128: 1, 64: 2, 32: 3}[span]
    return words, leading >> 4 << 16 | stride >> 4 << 32 | mode << 62


def multiplied(span=128, along=(True, True), kind="bf16", factors=(1, 1), add=0, held=False, wait=WAITED, observers=(),
               threads=128, text=TEXT):  # fmt: skip
    """D by the emulator: `held`: A is in registers."""
    a, b = bits(A, kind), bits(B, kind)
    (left, m), (right, n) = laid_out(a, span, along[0]), laid_out(b, span, along[1])
    lane = np.arange(128)
    row, column = lane // 32 * 16 + lane % 32 // 4, lane % 4 * 2
    pairs = [np.stack([a[row + down, column + right_ + one] for one in (0, 1)], 1).copy().view(np.uint32).ravel()
             for right_ in (0, 8) for down in (0, 8)]  # fmt: skip
    flags = [*factors, *([] if held else [int(not along[0])]), int(not along[1])]
    text = text.replace("KIND", kind).replace("FACTORS", ", ".join(map(str, flags))).replace("WAIT", wait)
    text = text.replace("LEFT", "{%11, %12, %13, %14}" if held else "%8")
    device, passed = Device(), {"in": np.concatenate([left, right]), "held": np.concatenate(pairs),
                                "bits": np.array([m, n], np.uint64)}  # fmt: skip
    for name, data in passed.items():
        device.place(Buffer(name, "int32", data.nbytes // 4, "input"), {name: data.view(np.int32)})
    device.place(Buffer("out", "float32", 64 * N, "poison"), {})
    launch(device, Launch("f", Source("f.cu", text, "", capability="90a"), (1, 1, 1), (threads, 1, 1),
                          (*passed, "out", Scalar("int32", add)), shared_bytes=2 * BYTES), observers)  # fmt: skip
    return device.read("out", 64 * N).reshape(64, N)


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize("along", [(True, True), (True, False), (False, True)])
def test_operands_are_found_in_every_layout_of_shared_memory(span: int, along: tuple[bool, bool]) -> None:
    np.testing.assert_array_equal(multiplied(span, along), A @ B.T)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize(("kind", "factors", "add"), [("f16", (1, -1), 1), ("bf16", (-1, 1), 0), ("f16", (-1, -1), 1)])
def test_factors_the_added_sum_and_registers(kind: str, factors: tuple[int, int], add: int, held: bool) -> None:
    wanted = factors[0] * factors[1] * (A @ B.T) + add * START
    np.testing.assert_array_equal(multiplied(kind=kind, factors=factors, add=add, held=held), wanted)


OVERWRITE = "__syncthreads(); memory[t] = 0;"


@pytest.mark.parametrize(("wait", "races"), [(f"{WAITED} {OVERWRITE}", False), (f"{OVERWRITE} {WAITED}", True)])
def test_nobody_may_overwrite_an_operand_before_the_wait(wait: str, races: bool) -> None:
    hazards = Hazards()
    multiplied(wait=wait, observers=[hazards])
    assert bool(hazards.findings()) == races


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"text": TEXT.replace("m64n16k16", "m64n20k16")}, "is not emulated"),
        ({"text": TEXT.replace("f32.KIND", "f16.KIND")}, "is not emulated"),
        ({"text": TEXT.replace("m = bits[0] + start", "m = bits[0] + start + 8")}, "within the pattern"),
        ({"text": TEXT.replace("m = bits[0] + start", "m = bits[0] + start + t % 2")}, "different descriptions"),
        ({"text": TEXT.replace("m = bits[0] + start", "m = bits[0] + start + 8192 - 64")}, "reads element"),
        ({"threads": 96}, "four neighbouring warps"),
        ({"wait": ""}, "wait_group"),
        ({"wait": WAITED.replace(" 0", " 1")}, "wait_group"),
        ({"wait": "d[0] += 1;" + WAITED}, "wait_group"),
    ],
)
def test_what_is_not_emulated_or_not_allowed_is_refused_with_its_line(change: dict, words: str) -> None:
    with pytest.raises(RunFailed, match=f"line [12][0-9].*{words}"):
        multiplied(**change)
