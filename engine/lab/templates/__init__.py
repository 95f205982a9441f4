"""Kernels to start from: one .cu file each, its launch, and its reference."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.lab.setups import Setup, setup_of


@dataclass(frozen=True)
class Template:
    """`n`: the initial size; `call`, `right`: as `engine.lab.setups` reads them."""

    name: str
    title: str
    n: int
    call: str
    right: str

    @property
    def file_name(self) -> str:
        """The file beside this one."""
        return f"{self.name}.cu"

    @cached_property
    def text(self) -> str:
        """The source."""
        return (Path(__file__).parent / self.file_name).read_text(encoding="utf-8")

    @property
    def setup(self) -> Setup:
        """The launch and its reference."""
        return setup_of(self.call, self.right)


TEMPLATES: dict[str, Template] = {
    one.name: one
    for one in (
        Template("saxpy", "saxpy: a·x + y", 1 << 16,
                 "saxpy<<<(n + block - 1) / block, 256>>>(2, float32[n]=random, float32[n]=random, n)",
                 "y = saxpy(x, y, a)"),
        Template("reduction", "reduction: a sum", 1 << 16,
                 "reduction<<<(n + block - 1) / block, 256, 4 * block>>>(int32[n]=random, int32[1]=zeros, n)",
                 "out = sum(in)"),
        Template("tile", "tile: a matrix product", 64,
                 "tile<<<dim3(n / 16, n / 16), dim3(16, 16)>>>"
                 "(float32[n, n]=random, float32[n, n]=random, float32[n, n], n)",
                 "C = matrix-product(A, B)"),
        Template("stencil", "stencil: neighbours", 1 << 16,
                 "stencil<<<(n + block - 1) / block, 256>>>(int32[n]=random, int32[n], n)",
                 "out = stencil(in, 3)"),
        Template("empty", "empty: a copy", 1 << 16,
                 "mine<<<(n + block - 1) / block, 256>>>(float32[n]=random, float32[n], n)",
                 "out = copy(in)"),
    )
}  # fmt: skip
