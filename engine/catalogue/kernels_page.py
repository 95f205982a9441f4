"""The page that is generated from the catalogue: docs/kernels.md."""

from __future__ import annotations

from pathlib import Path

from engine.catalogue import LADDERS, TOPICS, Kernel

PAGE = Path(__file__).parents[2] / "docs" / "kernels.md"
HEAD = """# Ladders and kernels

Everything that runs, as the catalogue lists it. This page is generated: `python -m engine kernels --page` writes it.
"""


def kernel_table() -> str:
    """Return the ladders and the kernels as Markdown."""
    lines = ["| ladder | rungs | lecture |", "|---|---|---|"]
    lines += [f"| {ladder.title} | {len(ladder.rungs)} | {ladder.lecture} |" for ladder in LADDERS.values()]
    for topic in TOPICS.values():
        has = any(kernel.parameter for kernel in topic.kernels)
        lines += [
            "",
            f"| {topic.title.lower()} kernel | what it is | blocks combine by |{' its parameter |' if has else ''}",
        ]
        lines += ["|---|---|---|---|" if has else "|---|---|---|"]
        lines += [
            f"| `{k.name}` | {k.title} | {', '.join(k.combines)} |{_macro(k) if has else ''}" for k in topic.kernels
        ]
    return "\n".join(lines)


def _macro(kernel: Kernel) -> str:
    """Return the cell of a kernel's own parameter: its label, the range of its values, and the default."""
    own = kernel.parameter
    if own is None:
        return " |"
    return f" {own.label}: {min(own.values):,} to {max(own.values):,}, default {own.default:,} |"


def page() -> str:
    """Return the whole page."""
    return f"{HEAD}\n{kernel_table()}\n"
