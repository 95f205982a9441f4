"""Multiply-adds that are executed as one give the same bits as one by one."""

from __future__ import annotations

import numpy as np
import pytest

from engine.backends.emulator.instructions.arithmetic import batch_instructions, fused_each, fused_in_turn
from engine.backends.emulator.meanings.rounding import fused
from engine.backends.emulator.ptx.parser import parse
from engine.backends.emulator.ptx.program import link
from engine.backends.emulator.watching.observer import Observer
from tests.backends.emulator import emulated

HEAD = """.version 8.0
.target sm_90
.address_size 64
.visible .entry f(.param .u64 p)
{
.reg .f32 %f<16>; .reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x; mul.wide.u32 %rd2, %r1, 32; add.s64 %rd3, %rd1, %rd2;
ld.global.f32 %f1, [%rd3]; ld.global.f32 %f2, [%rd3+4]; ld.global.f32 %f3, [%rd3+8];
"""
# Each line: a multiply-add, or what stands between two. Members of a batch may write what others of it read.
BODIES = {
    "independent": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f5, %f2, %f3, %f1", "fma.rn.f32 %f6, %f3, %f1, %f2"),
    "one after the other": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f4, %f4, %f2, %f3",
                            "fma.rn.f32 %f5, %f4, %f1, %f2", "mov.f32 %f6, %f5"),
    "written after it is read": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f1, %f2, %f2, %f3",
                                 "fma.rn.f32 %f2, %f3, %f3, %f3", "mov.f32 %f5, %f1", "mov.f32 %f6, %f2"),
    "written twice": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f4, %f3, %f2, %f1", "mov.f32 %f5, %f4",
                      "fma.rn.f32 %f6, %f5, %f5, %f4"),
    "a load between that changes an operand": (
        "fma.rn.f32 %f4, %f1, %f2, %f3", "ld.global.f32 %f2, [%rd3+12]", "fma.rn.f32 %f5, %f1, %f2, %f3",
        "add.f32 %f4, %f4, %f5", "fma.rn.f32 %f6, %f4, 0f40000000, %f2",
    ),
    "a load between that has nothing to do with it": (
        "fma.rn.f32 %f4, %f1, %f2, %f3", "ld.global.f32 %f7, [%rd3+12]", "fma.rn.f32 %f5, %f1, %f3, %f3",
        "fma.rn.f32 %f6, %f7, %f1, %f2",
    ),
    "a chain": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f5, %f2, %f3, %f4", "fma.rn.f32 %f4, %f3, %f1, %f5",
                "mov.f32 %f6, %f4"),
    "a chain that multiplies its first sum": (
        "fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f5, %f2, %f3, %f4", "fma.rn.f32 %f6, %f4, %f1, %f5",
    ),
    "two chains in turn": ("fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f5, %f2, %f2, %f3",
                           "fma.rn.f32 %f4, %f1, %f2, %f4", "fma.rn.f32 %f5, %f2, %f2, %f5", "mov.f32 %f6, %f4"),
    "a chain that an operand of its own interrupts": (
        "fma.rn.f32 %f4, %f1, %f2, %f3", "fma.rn.f32 %f4, %f2, %f3, %f4", "mul.f32 %f2, %f1, %f1",
        "fma.rn.f32 %f4, %f2, %f3, %f4", "mov.f32 %f5, %f2", "mov.f32 %f6, %f3",
    ),
}  # fmt: skip
BATCHES = (3, 1, 3, 2, 1, 3, 3, 2, 2, 2)  # the multiply-adds of the largest one


SHAPES = [((64, 4),) * 3, ((64, 1), (1, 4), (64, 4)), ((1, 1), (64, 4), (64, 1)), ((1, 1),) * 3]


class Listener(Observer):
    """Observes every result, so the emulator forms no batches."""

    def on_result(self, *given: object) -> None:
        """An instruction has written its registers."""


@pytest.mark.parametrize(("what", "largest"), list(zip(BODIES, BATCHES, strict=True)))
def test_batches_change_nothing(what: str, largest: int) -> None:
    stores = "".join(f"st.global.f32 [%rd3+{4 * at + 16}], %f{4 + at}; " for at in range(3))
    text = HEAD + ";\n".join(BODIES[what]) + ";\n" + stores + "ret;\n}"
    values = np.random.default_rng(1).uniform(-2, 2, 64 * 8).astype(np.float32)
    found = [
        emulated.run(text, "f", (1, 1, 1), (64, 1, 1), [bytearray(values.tobytes())], observers=observers)[0]
        for observers in ((), (Listener(),))
    ]
    assert found[0] == found[1]
    program = link(parse(text, "probe.cu"), "f")
    singles = [[(item,) for item in block.body] for block in program.blocks]
    sizes = [len(items) for body in singles for items in batch_instructions(program, body, chains=True)]
    assert max(sizes) == largest and sum(sizes) == sum(len(block.body) for block in program.blocks)


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", SHAPES)
def test_the_same_bits_of_awkward_numbers(kind: type, shapes: tuple[tuple[int, int], ...]) -> None:
    make = np.random.default_rng(2)
    awkward = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1 + 2**-20, 3e-39, 1e38], kind)
    many = [[make.choice(awkward, shape) * kind(make.uniform(0.5, 2)) for _ in range(70)] for shape in shapes]
    with np.errstate(all="ignore"):
        together, apart = fused_each(*many), [fused(*each) for each in zip(*many, strict=True)]
    assert [each.tobytes() for each in together] == [each.tobytes() for each in apart]
    assert [each.shape for each in together] == [each.shape for each in apart]


@pytest.mark.parametrize("kind", [np.float32, np.float64])
@pytest.mark.parametrize("shapes", SHAPES)
def test_the_same_bits_of_a_chain(kind: type, shapes: tuple[tuple[int, int], ...]) -> None:
    make = np.random.default_rng(3)
    awkward = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 1 + 2**-20, 3e-39, 1e38], kind)
    a, b, (c,) = ([make.choice(awkward, shape) * kind(make.uniform(0.5, 2)) for _ in range(count)]
                  for shape, count in zip(shapes, (21, 21, 1), strict=True))  # fmt: skip
    with np.errstate(all="ignore"):
        together, apart = fused_in_turn(a, b, c), []
        for left, right in zip(a, b, strict=True):
            c = fused(left, right, c)
            apart.append(c)
    for one, other in zip(together, apart, strict=True):
        assert one.tobytes() == np.broadcast_to(other, one.shape).tobytes()
