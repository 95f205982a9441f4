"""The parts of the README that grow from the catalogue."""

from __future__ import annotations

from pathlib import Path

from engine.catalogue import LADDERS, TOPICS

README = Path(__file__).parents[2] / "README.md"
BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"


def kernel_table() -> str:
    """The ladders and the kernels as Markdown."""
    lines = ["| ladder | rungs | lecture |", "|---|---|---|"]
    lines += [f"| {ladder.title} | {len(ladder.rungs)} | {ladder.lecture} |" for ladder in LADDERS.values()]
    for topic in TOPICS.values():
        lines += ["", f"| {topic.title.lower()} kernel | what it is | blocks combine by |", "|---|---|---|"]
        lines += [f"| `{k.name}` | {k.title} | {', '.join(k.combines)} |" for k in topic.kernels]
    return "\n".join(lines)


def with_table(text: str) -> str:
    """A README's text with the table between its markers made anew."""
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return f"{head}{BEGIN}\n{kernel_table()}\n{END}{tail}"
