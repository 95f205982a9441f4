"""A source in colours: every line is whole, and only what has a colour is an element."""

from __future__ import annotations

import re
from html import unescape

import pytest

from engine.catalogue import KERNELS
from views.html.source import coloured_lines
from views.server.entry import STYLES

LONGEST = max(KERNELS.values(), key=lambda kernel: len(kernel.text))


@pytest.mark.parametrize("name", ["reduce_interleaved", LONGEST.name])
def test_a_source_is_whole_and_only_words_with_a_colour_are_elements(name: str) -> None:
    text = KERNELS[name].text
    lines = coloured_lines(text)
    assert [unescape(re.sub(r"<[^>]*>", "", line)) for line in lines] == text.splitlines()
    used = set(re.findall(r'<span class="(\w+)">', "".join(lines)))
    assert used >= {"k", "kt", "nb"}
    assert all(re.search(rf"\.source \.{one}\b[^{{]*\{{[^}}]*color:", STYLES[0].read_text()) for one in used)
