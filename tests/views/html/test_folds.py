"""What a slide shows of a source that is longer than it has room for."""

from __future__ import annotations

import pytest

from engine.catalogue import KERNELS, LADDERS
from tests.cases import case
from views.html.folds import BLANK, SLIDE, STRIP, Room, Shown, rows_of, runs, unfolded
from views.html.source import difference, header_length, source_html
from views.ladder.slide import SourcePlace, room_of

STEPS = [
    (name, position) for name, ladder in LADDERS.items() for position in range(1, len(ladder.rungs))
]  # fmt: skip


def shown_of(before: str, now: str, room: Room) -> tuple[Shown, list[str], int, frozenset[int]]:
    old, new = KERNELS[before], KERNELS[now]
    lines = new.text.splitlines()
    since = difference(new.text, now, old.text, before)
    start = header_length(lines)
    return unfolded(lines, start, since.changed, since.gone, room), lines, start, since.changed


@pytest.mark.parametrize(
    ("name", "position"), [case(*step, quick=step[0] in ("harris", "tensor-cores")) for step in STEPS]
)
def test_what_is_shown_fits_names_the_kernel_and_has_something_new(name: str, position: int) -> None:
    ladder = LADDERS[name]
    room = room_of(ladder, position, "N = 4,194,304: 16,384 blocks of 256 threads", SourcePlace(680, (1280, 720)))
    shown, lines, start, changed = shown_of(ladder.rungs[position - 1].kernel, ladder.rungs[position].kernel, room)
    hidden = runs(sorted(set(range(start + 1, len(lines) + 1)) - shown.lines))
    seen = sum(BLANK if not lines[n - 1].strip() else rows_of([lines[n - 1]], room.columns) for n in shown.lines)
    assert seen + len(hidden) <= shown.rows <= room.rows
    assert any("__global__" in lines[n - 1] for n in shown.lines)
    assert len(shown.lines & changed) >= min(len(changed), 5)


def test_a_source_that_fits_is_shown_whole_with_what_is_gone() -> None:
    shown, lines, start, _ = shown_of("copy_offset", "copy_strided", SLIDE)
    assert shown.lines == set(range(start + 1, len(lines) + 1)) and shown.places


def test_what_is_folded_unfolds_and_says_how_much_of_it_is_new() -> None:
    old, new = KERNELS["reduce_first_add"], KERNELS["reduce_unroll_volatile"]
    html = source_html(new.text, new.name, old.text, old.name, room=Room(14, 64))
    assert "of them new" in html or "more new line" in html
    every = source_html(new.text, new.name, old.text, old.name)
    assert html.count('class="line changed"') == every.count('class="line changed"')


def test_more_room_shows_no_less() -> None:
    rows = [shown_of("matmul_naive", "matmul_tiled", Room(rows, 67))[0].rows for rows in (12, 16, 21, 30, 60)]
    assert rows == sorted(rows) and rows[-1] < 60


def test_places_of_folded_lines_that_are_gone_take_half_a_row() -> None:
    lines = [f"line {i};" for i in range(10)]
    gone = {5: tuple(f"old {i};" for i in range(9))}
    assert unfolded(lines, 0, (), gone, Room(11, 64)).rows == 10 + STRIP


@pytest.mark.parametrize(
    ("before", "now", "lines"),
    [
        ("tensor_mma", "tensor_wgmma", ("tensor_wgmma(", "multiply(sum, ")),
        ("reduce_max", "reduce_max_vectorized", ("reduce_max_vectorized(", "Vector d = ")),
    ],
)
def test_where_all_is_new_the_loops_of_the_kernel_are_shown_before_its_constants(
    before: str, now: str, lines: tuple[str, ...]
) -> None:
    shown, text, _, _ = shown_of(before, now, SLIDE)
    seen = "\n".join(text[number - 1] for number in shown.lines)
    assert all(line in seen for line in lines) and "constexpr int ROWS" not in seen
