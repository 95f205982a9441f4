"""The source of a rung: its lines, and which of them are new since the rung before."""

from __future__ import annotations

import re

import pytest

from engine.catalogue import KERNELS, LADDERS
from views.html.source import SLIDE_ROWS, Difference, difference, header_length, source_html, source_rows

NEIGHBOURS = [
    (ladder.rungs[i - 1].kernel, ladder.rungs[i].kernel)
    for ladder in LADDERS.values()
    for i in range(1, len(ladder.rungs))
]


@pytest.mark.sampled(quick=4)
@pytest.mark.parametrize(("before", "now"), sorted(set(NEIGHBOURS)))
def test_every_step_marks_changed_lines_below_the_header(before: str, now: str) -> None:
    old, new = KERNELS[before], KERNELS[now]
    changed = difference(new.text, now, old.text, before).changed
    assert changed, "two neighbours without a difference"
    assert min(changed) > header_length(new.text.splitlines())
    html = source_html(new.text, now, old.text, before)
    assert html.count('class="line changed"') == len(changed)
    slide = source_html(new.text, now, old.text, before, slide=True)
    seen = re.sub('<details class="fold">.*?</details>', "", slide)
    assert seen.count('class="line changed"') == len(changed), "a changed line is never folded"
    assert "__global__" in re.sub("<[^>]*>", "", seen)
    assert slide.count('class="number"') == html.count('class="number"'), "a folded line is lost"


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


def test_a_slide_folds_what_is_far_from_a_change_and_says_how_much() -> None:
    before = 'extern "C" __global__ void k(int *x)\n{\n' + "".join(f"    x[{i}] = {i};\n" for i in range(60)) + "}\n"
    now = before.replace("x[40] = 40;", "x[40] = 41;")
    html = source_html(now, "k", before, "k", slide=True)
    assert source_rows(now, difference(now, "k", before, "k")) > SLIDE_ROWS
    assert re.findall("⋯<span> (\\d+) lines? as before</span>", html) == ["37", "17"]
    numbers = re.findall('number">(\\d+)<', re.sub('<details class="fold">.*?</details>', "", html))
    assert numbers == ["1", "2", *map(str, range(40, 47))]
    assert "<details" not in source_html(now, "k", before, "k") and "<details" not in source_html(now, "k", slide=True)


def test_many_old_lines_unfold() -> None:
    text = "int a;\n" * 3
    html = source_html(text, "k", text + "int b;\n" * 9, "k")
    assert html.count('<details class="gone fold"') == 1 and html.count("line gone") == 9
