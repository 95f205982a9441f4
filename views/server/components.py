"""Parts of our components: their JavaScript modules as one text, and the addresses of their libraries."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

_VIEWS = Path(__file__).parents[1]
# The server sends these beside Streamlit's own scripts; as parts of a component they would be sent again with every
# message.
LIBRARIES = {
    file.name: file for file in (_VIEWS / "editor" / "codemirror.min.js", _VIEWS / "chart" / "plotly-basic.min.js")
}


@lru_cache(maxsize=8)
def library(name: str) -> str:
    """Return the address of one of LIBRARIES, relative to a page. It has a digest, as browsers keep the file
    for good."""
    return f"./static/{name}?{hashlib.sha256(LIBRARIES[name].read_bytes()).hexdigest()[:16]}"


def joined(folder: Path, modules: Sequence[str]) -> str:
    """Return the modules of `folder` as the one text that Streamlit takes for a component.

    Each module is named after those that it imports. The last one is the component; each of the others becomes a
    function that returns its exports.
    """
    *others, last = (_scoped((folder / f"{name}.js").read_text(encoding="utf-8")) for name in modules)
    made = []
    for name, text in zip(modules, others, strict=False):
        exported = re.findall(r"^export (?:const|class|function|async function) (\w+)", text, flags=re.MULTILINE)
        inner = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        made.append(f"const ${name} = (() => {{\n{inner}\nreturn {{ {', '.join(exported)} }};\n}})();")
    return "\n".join([*made, last])


def _scoped(text: str) -> str:
    """Return the text with each import as a constant, taken from the function that the other module became."""
    return re.sub(r"^import (\{.*?\}) from '\./(\w+)\.js';", r"const \1 = $\2;", text, flags=re.MULTILINE)
