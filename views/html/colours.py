"""The lines of a CUDA source in C++ colours, as HTML."""

from __future__ import annotations

import re
from functools import lru_cache
from html import escape
from pathlib import Path

from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import CppLexer
from pygments.token import STANDARD_TYPES, Keyword, Name, Text

_CUDA_NAMES = {"threadIdx", "blockIdx", "blockDim", "gridDim", "warpSize"}
_CUDA_KEYWORDS = {"__global__", "__shared__", "__device__", "__restrict__", "__launch_bounds__", "__forceinline__"}
_STYLED = set(re.findall(r"\.source \.(\w+)", Path(__file__).with_name("style.css").read_text()))
# An element for every other word as well would be more than half of what a browser gets, and takes a third of its time
# for a step to a long source.
_COLOURED = {token for token, name in STANDARD_TYPES.items() if name in _STYLED}


class CudaLexer(CppLexer):
    """C++ with CUDA's own words."""

    def get_tokens_unprocessed(self, text, stack=("root",)):
        """The tokens of C++, CUDA's words among them renamed; what the style sheet has no colour for is text."""
        for index, token, value in super().get_tokens_unprocessed(text, stack):
            if value in _CUDA_KEYWORDS:
                token = Keyword
            elif value in _CUDA_NAMES:
                token = Name.Builtin
            elif token in Name and (value.startswith("__") or value.startswith("atomic")):
                token = Name.Function
            yield index, token if token in _COLOURED else Text, value


@lru_cache(maxsize=256)
def coloured_lines(text: str) -> list[str]:
    """The lines of a source as HTML, in C++ colours."""
    lexer = CudaLexer(stripnl=False, ensurenl=False)
    html = highlight(text, lexer, HtmlFormatter(nowrap=True))
    lines = html.splitlines()
    if len(lines) != len(text.splitlines()):  # a token over several lines: colours are not worth a wrong number
        return [escape(line) for line in text.splitlines()]
    return _closed(lines)


def _closed(lines: list[str]) -> list[str]:
    """Pygments closes its spans at line ends only outside of multi-line comments."""
    closed, open_tag = [], ""
    for line in lines:
        line = open_tag + line
        opened = re.findall(r"<span[^>]*>|</span>", line)
        stack: list[str] = []
        for tag in opened:
            if tag == "</span>":
                if stack:
                    stack.pop()
            else:
                stack.append(tag)
        open_tag = "".join(stack)
        closed.append(line + "</span>" * len(stack))
    return closed
