"""Import every module of the engine alone, as the first of its process: `python -m tests.imports`.

Whoever imports a module first decides which circle shows, so each is tried in a child of its own. The libraries are
imported before, by the parent, so that a child costs milliseconds. Prints what failed; exit status 1 if anything did.
"""

from __future__ import annotations

import os
import sys
import traceback
from importlib import import_module
from pathlib import Path

import cupy  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401

ROOT = Path(__file__).parents[1]


def modules() -> list[str]:
    """Every module of the engine but the one that runs when it is imported."""
    files = sorted((ROOT / "engine").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__main__"]
    return [name.removesuffix(".__init__") for name in names]


def alone(name: str) -> bool:
    """Whether a module can be the first that is imported; what went wrong is printed."""
    child = os.fork()
    if child == 0:
        try:
            import_module(name)
        except BaseException:
            print(f"{name}:\n{traceback.format_exc(limit=-2)}", flush=True)
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


if __name__ == "__main__":
    failed = [name for name in modules() if not alone(name)]
    sys.exit(1 if failed else 0)
