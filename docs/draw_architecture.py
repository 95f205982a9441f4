"""Draw the floors of the engine from its imports:  python -m docs.draw_architecture

A room is a folder or a module of engine/. It stands one floor above the highest room that it imports, so that whatever
a room uses lies below it. The sentence in a room is the first of its own docstring.
"""

from __future__ import annotations

import ast
from collections import defaultdict
from functools import cache
from graphlib import TopologicalSorter
from html import escape
from pathlib import Path
from textwrap import wrap

ROOT = Path(__file__).parents[1]
PICTURE = ROOT / "docs" / "images" / "architecture.svg"
PACKAGES = ("engine", "views")
WIDTH, GAP, LEFT, LINE = 1200, 10, 34, 15
LETTER = 6.3  # the width of one, at 12 pixels


def room_of(module: str) -> str:
    """ "engine.backends.timing.gpu" -> "engine/backends"; all of views is one room."""
    parts = module.split(".")
    return "views" if parts[0] == "views" else "/".join(parts[:2])


def imports() -> dict[str, set[str]]:
    """room -> the rooms that it imports."""
    found: dict[str, set[str]] = defaultdict(set)
    for file in sorted(file for package in PACKAGES for file in (ROOT / package).rglob("*.py")):
        module = ".".join(file.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        if module in PACKAGES:
            continue
        room = room_of(module)
        found[room] |= set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] in PACKAGES:
                names = [f"{node.module}.{alias.name}" for alias in node.names] if node.module in PACKAGES else []
                found[room] |= {room_of(name) for name in names or [node.module]} - {room}
    return found


@cache
def floors() -> list[list[str]]:
    """The rooms, from the ground up. graphlib.CycleError where rooms import each other."""
    below = imports()
    level: dict[str, int] = {}
    for room in TopologicalSorter(below).static_order():
        level[room] = 1 + max((level[other] for other in below[room]), default=-1)
    return [sorted(room for room, at in level.items() if at == floor) for floor in range(max(level.values()) + 1)]


def sentence_of(room: str) -> str:
    """The first sentence of its docstring."""
    file = ROOT / room / "__init__.py" if (ROOT / room).is_dir() else ROOT / f"{room}.py"
    text = ast.get_docstring(ast.parse(file.read_text(encoding="utf-8"))) or ""
    return text.split("\n")[0].partition(". ")[0].rstrip(".:")


def svg() -> str:
    """The picture: a row of boxes a floor, the highest first."""
    parts = []
    y = 1
    for floor, rooms in reversed(list(enumerate(floors()))):
        width = (WIDTH - 1 - LEFT - GAP * (len(rooms) - 1)) / len(rooms)
        texts = {room: wrap(sentence_of(room), int((width - 20) / LETTER)) for room in rooms}
        height = 34 + LINE * max(map(len, texts.values()))
        parts.append(f'<text class="floor" x="8" y="{y + 22}">{floor}</text>')
        for number, room in enumerate(rooms):
            x = LEFT + number * (width + GAP)
            parts.append(f'<rect x="{x:.0f}" y="{y}" width="{width:.0f}" height="{height}" rx="5"/>')
            parts.append(f'<text class="room" x="{x + 10:.0f}" y="{y + 20}">{room.removeprefix("engine/")}</text>')
            for line, words in enumerate(texts[room]):
                parts.append(f'<text x="{x + 10:.0f}" y="{y + 38 + LINE * line}">{escape(words)}</text>')
        y += height + GAP
    style = (
        "text{font:12px sans-serif;fill:#14181f}.room{font:bold 14px sans-serif}.floor{fill:#697586}"
        "rect{fill:#f3f5f8;stroke:#9aa7b8}"
    )
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {y}" width="{WIDTH}" height="{y}">'
    back = f'<rect width="{WIDTH}" height="{y}" style="fill:#fff;stroke:none"/>'
    return "\n".join([head, f"<style>{style}</style>", back, *parts, "</svg>"]) + "\n"


if __name__ == "__main__":
    PICTURE.write_text(svg(), encoding="utf-8")
