"""Modules of JavaScript as the one text that Streamlit takes for a component."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def joined(folder: Path, modules: Sequence[str]) -> str:
    """The modules of `folder` as one text, each named after those that it imports; the last one is the component, and
    each of the others becomes a function that gives what it exports."""
    *others, last = (_scoped((folder / f"{name}.js").read_text(encoding="utf-8")) for name in modules)
    made = []
    for name, text in zip(modules, others, strict=False):
        exported = re.findall(r"^export (?:const|class|function|async function) (\w+)", text, flags=re.MULTILINE)
        inner = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        made.append(f"const ${name} = (() => {{\n{inner}\nreturn {{ {', '.join(exported)} }};\n}})();")
    return "\n".join([*made, last])


def _scoped(text: str) -> str:
    """Imports as what they mean here: the names are in the other module's own scope."""
    return re.sub(r"^import (\{.*?\}) from '\./(\w+)\.js';", r"const \1 = $\2;", text, flags=re.MULTILINE)
