"""The source of a rung: its lines, and which of them are new since the rung before."""

from __future__ import annotations

import re

import pytest

from engine.catalogue import KERNELS, LADDERS
from views.html.folds import SLIDE
from views.html.source import Difference, difference, header_length, source_html

NEIGHBOURS = [
    (ladder.rungs[i - 1].kernel, ladder.rungs[i].kernel)
    for ladder in LADDERS.values()
    for i in range(1, len(ladder.rungs))
]


@pytest.mark.parametrize(("before", "now"), sorted(set(NEIGHBOURS)))
def test_every_step_marks_changed_lines_below_the_header(before: str, now: str) -> None:
    old, new = KERNELS[before], KERNELS[now]
    changed = difference(new.text, now, old.text, before).changed
    assert changed, "two neighbours without a difference"
    assert min(changed) > header_length(new.text.splitlines())
    html = source_html(new.text, now, old.text, before)
    assert html.count('class="line changed"') == len(changed)
    folded = source_html(new.text, now, old.text, before, room=SLIDE)
    assert folded.count('class="line changed"') == len(changed)


def test_a_name_alone_is_no_change() -> None:
    text = 'extern "C" __global__ void one(int *x)\n{\n    *x = 1;\n}\n'
    assert difference(text.replace("one", "two"), "two", text, "one") == Difference()


def test_lines_keep_their_numbers_and_their_text() -> None:
    text = "// header\nint a = 1; /* two\nlines */ int b = a < 2;\n"
    html = source_html(text, "none")
    numbers = re.findall(r'class="number">(\d+)<', html)
    assert numbers == ["2", "3"]
    plain = re.sub(r"<[^>]+>", "", html)
    assert "lines */ int b = a &lt; 2;" in plain
