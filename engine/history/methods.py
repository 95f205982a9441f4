"""The digest of how times are measured: of the functions that enqueue, sample and reduce.

Recorded times depend on these functions and on their kernel. The digest is taken from the functions' syntax trees: to
move or rename a module, an import, a comment or a docstring leaves every recorded run valid; a changed statement or
constant does not.
"""

from __future__ import annotations

import ast
import hashlib
import sys
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

from engine.catalogue.libraries import PEERS

# A method -> the names, by module, that decide what its samples mean. A missing name raises KeyError, so moved code
# cannot be forgotten.
METHODS: dict[str, dict[str, tuple[str, ...]]] = {
    "gpu": {
        "engine.backends.timing.gpu": (
            "PRECISION", "MAX_SAMPLES", "MIN_SAMPLES", "LEAST_BUDGETS", "BATCH_US", "HOST_MARGIN", "_sampled",
            "_event_batch", "_host_batch", "_delay_ns", "_host_us", "_flush_us", "_floor_us",
        ),
        "engine.backends.timing.probes": (
            "SOURCE", "FLUSH_FILL", "READ_THREADS", "_flush_buffer", "flush", "reader", "wake",
        ),
        "engine.backends.gpu.launches": ("_as_one", "launcher", "_fetcher"),
        "engine.backends.gpu.memory": ("ALIGNMENT", "GUARD_BYTES"),
        "engine.backends.timing.statistics": ("median", "median_interval", "_interval_rank", "half_width"),
    },
    "peers": {
        "engine.backends.gpu.peers": ("_cub", "_cublas", "_cublas_handle"),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "libraries": {
        "engine.backends.gpu.cupy_peers": ("reduced", "scanned", "copied", "integrated", "_evaluate"),
        "engine.backends.gpu.nvcc_peers": ("built", "macros", "_call"),
        "engine.backends.gpu.torch_peers": ("shared", "_torch", "_by_column", "_WORK"),
        "engine.backends.gpu.peers": ("_gemv", "_cublas_handle"),
        "engine.compile.nvcc": ("OPTIONS",),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "copy of a slice": {
        "engine.backends.gpu.cupy_peers": ("cut",),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "transpose": {
        "engine.backends.gpu.cupy_peers": ("transposed",),
        "engine.backends.gpu.torch_peers": ("further", "_torch", "_turned"),
        "engine.backends.gpu.peers": ("_geam", "_cublas_handle"),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "argmax": {
        "engine.backends.gpu.cupy_peers": ("placed",),
        "engine.backends.gpu.nvcc_peers": ("placed", "macros", "_call"),
        "engine.backends.gpu.torch_peers": ("further", "_torch", "_placed"),
        "engine.compile.nvcc": ("OPTIONS",),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "sum of a slice": {
        "engine.backends.gpu.peers": ("_of_slice", "_cub"),
        "engine.backends.gpu.nvcc_peers": ("built", "macros", "_call"),
        "engine.backends.gpu.torch_peers": ("shared", "_torch", "_WORK"),
        "engine.compile.nvcc": ("OPTIONS",),
        "engine.backends.timing.statistics": ("paired_ratio",),
    },
    "cpu": {
        "engine.backends.cpu": ("OPTIONS", "PRECISION", "BUDGET_S", "MAX_SAMPLES", "time_plan", "_seconds", "_library"),
        "engine.backends.timing.statistics": ("median", "median_interval", "_interval_rank", "half_width"),
    },
}  # fmt: skip

FIRST_PEERS = (
    "sum",
    "matrix product",
    "bfloat16 product",
)  # the operations whose libraries are timed by the method "peers"


def method_of_peers(operation: str) -> str:
    """Return the method that times an operation's libraries, "" if it has none."""
    if not PEERS.get(operation):
        return ""
    if operation in METHODS:  # an operation that was added later; the digests of the others stay as they were
        return operation
    return "peers" if operation in FIRST_PEERS else "libraries"


@lru_cache(maxsize=1)
def methods() -> dict[str, str]:
    """Return each method's digest of the present code."""
    return {name: digest_of({text_of(module): names for module, names in parts.items()})
            for name, parts in METHODS.items()}  # fmt: skip


def digest_of(parts: dict[str, tuple[str, ...]]) -> str:
    """Return a digest of the named definitions of each module's text. KeyError: a name is missing."""
    code = (dumped for text, names in parts.items() for dumped in _definitions(text, names))
    return hashlib.sha256("\n".join(code).encode()).hexdigest()[:16]


def text_of(module: str) -> str:
    """Return the text of a module without importing it, because the modules that time need a GPU."""
    found = find_spec(module)
    assert found is not None and found.origin is not None
    return Path(found.origin).read_text(encoding="utf-8")


def _definitions(text: str, names: tuple[str, ...]) -> list[str]:
    """Return the definitions as syntax trees in the given order, without docstrings."""
    found: dict[str, str] = {}
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            for inner in ast.walk(node):
                if isinstance(inner, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(inner) is not None:
                    inner.body = inner.body[1:]
            found[node.name] = _dump(node)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            found[node.target.id] = _dump(node)
        elif isinstance(node, ast.Assign):
            for target in node.targets:
                words = target.elts if isinstance(target, ast.Tuple) else [target]
                found.update({word.id: _dump(node) for word in words if isinstance(word, ast.Name)})
    return [found[name] for name in names]


def _dump(node: ast.AST) -> str:
    """Return a syntax tree as Python 3.11 writes it, so the digest is the same under later versions."""
    if sys.version_info >= (3, 13):
        text = ast.dump(node, show_empty=True)
    else:
        text = ast.dump(node)
    return text.replace(", type_params=[]", "")
