"""Boxes of a matrix that the copy engine brings: the swizzle, elements outside the matrix, the barrier's bytes."""

import numpy as np
import pytest

from engine.backends.emulator.launch import Device, launch
from engine.backends.emulator.watching.races.hazards import Hazards
from engine.records import Buffer, Launch, RunFailed, Scalar, Source, TensorMap

TEXT = """typedef unsigned long long u64;
struct alignas(64) Map { u64 words[16]; };
extern "C" __global__ void f(const __grid_constant__ Map M, unsigned short *out, int bytes, int x, int y, int waits) {
    extern __shared__ __align__(1024) unsigned short box[];
    __shared__ u64 full;
    unsigned at = __cvta_generic_to_shared(&full), to = __cvta_generic_to_shared(box);
    if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(at));
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(at), "r"(bytes) : "memory");
        asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], "
                     "[%1, {%2, %3}], [%4];" :: "r"(to), "l"(&M), "r"(x), "r"(y), "r"(at) : "memory");
    }
    if (waits) asm volatile("{ .reg .pred done; again: mbarrier.try_wait.parity.shared::cta.b64 done, [%0], 0; "
                            "@!done bra again; }" :: "r"(at) : "memory");
    for (int i = threadIdx.x; i < bytes / 2; i += 32) out[i] = box[i];
}"""
WIDTH = 72
MATRIX = np.arange(1, WIDTH**2 + 1, dtype=np.uint16).reshape(WIDTH, WIDTH)


def copied(map_, x=0, y=0, bytes_=None, waits=1, observers=(), text=TEXT):
    count = map_.rows * map_.columns
    device = Device()
    device.place(Buffer("M", "bfloat16", WIDTH**2, "input"), {"M": MATRIX.ravel()})
    device.place(Buffer("out", "bfloat16", count, "zero"), {})
    numbers = (Scalar("int32", value) for value in (bytes_ or 2 * count, x, y, waits))
    launch(device, Launch("f", Source("f.cu", text, "", capability="90a"), (1, 1, 1), (32, 1, 1),
                          (map_, "out", *numbers), shared_bytes=2 * count), observers)  # fmt: skip
    return device.read("out", count).reshape(map_.rows, map_.columns)


@pytest.mark.parametrize("span", [0, 32, 64, 128])
@pytest.mark.parametrize(("x", "y"), [(8, 3), (-5, -2), (50, 66), (200, 0)])
def test_a_box_is_swizzled_and_zero_outside_the_matrix(span: int, x: int, y: int) -> None:
    columns = span // 2 or 24
    padded = np.zeros((3 * WIDTH + 200, 3 * WIDTH + 300), np.uint16)
    padded[WIDTH : 2 * WIDTH, WIDTH : 2 * WIDTH] = MATRIX
    wanted = padded[WIDTH + y : WIDTH + y + 16, WIDTH + x : WIDTH + x + columns]
    found = copied(TensorMap("M", WIDTH, 16, columns, swizzle=span), x, y)
    if span:  # CUTLASS: Swizzle<3, 4, 3>, <2, 4, 3> and <1, 4, 3> of the bytes
        places = np.arange(found.size) * 2
        bits = {128: 3, 64: 2, 32: 1}[span]
        places ^= ((places >> 7) & ((1 << bits) - 1)) << 4
        found = found.ravel()[places // 2].reshape(wanted.shape)
    np.testing.assert_array_equal(found, wanted)


MAP = TensorMap("M", WIDTH, 16, 64)


def test_a_barrier_that_expects_more_bytes_never_ends_its_phase() -> None:
    with pytest.raises(RunFailed) as failure:
        copied(MAP, bytes_=4096)
    assert failure.value.status == "deadlock" and "2048 of the expected bytes" in str(failure.value)


def test_a_box_that_nobody_waits_for_has_not_arrived() -> None:
    hazards = Hazards()
    assert (copied(MAP, waits=0, observers=[hazards]) == 0).all()
    assert hazards.findings()
    waited = Hazards()
    copied(MAP, observers=[waited])
    assert not waited.findings()


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ('"l"(&M)', '"l"(out)', "no tensor map"),
        ('"r"(to)', '"r"(to - 64)', "multiple of 128"),
        (".tile", ".im2col", "not emulated"),
        ("{%2, %3}", "{%2}", "takes 2 coordinates"),
        ("tensor.2d", "tensor.1d", "copy engine.* not emulated"),
    ],
)
def test_what_is_no_copy_of_a_box_is_refused_with_its_line(old: str, new: str, words: str) -> None:
    with pytest.raises(RunFailed, match=f"line 1[012].*{words}"):
        copied(MAP, text=TEXT.replace(old, new))
