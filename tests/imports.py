"""Import every module of the engine alone, as the first of its process: `python -m tests.imports`; with a number, each
package and one in so many of its modules.

Which circle shows depends on the module that is imported first, so each module is tried in a child of its own. The
parent imports the libraries first, so a child costs milliseconds. Prints what failed; exit status 1 if anything did.
"""

from __future__ import annotations

import os
import sys
import traceback
import zlib
from importlib import import_module
from pathlib import Path

import cupy  # noqa: F401
import numpy  # noqa: F401
import pandas  # noqa: F401

ROOT = Path(__file__).parents[1]


def modules() -> list[str]:
    """Return every module of the engine except the one that runs when it is imported."""
    files = sorted((ROOT / "engine").rglob("*.py"))
    names = [".".join(file.relative_to(ROOT).with_suffix("").parts) for file in files if file.stem != "__main__"]
    return [name.removesuffix(".__init__") for name in names]


def fails(name: str, names: list[str], share: int) -> bool:
    """Whether a module, or one of `names` below it, cannot be the first that is imported; what goes wrong is printed.

    Whoever imports a module imports the packages above it before: those below a package begin where it is imported,
    and what it imports itself has been tried with it.
    """
    child = os.fork()
    if child == 0:
        try:
            import_module(name)
        except BaseException:
            print(f"{name}:\n{traceback.format_exc(limit=-2)}", flush=True)
            os._exit(1)
        below = [other for other in names if other.rpartition(".")[0] == name]
        packages = {other.rpartition(".")[0] for other in names}
        drawn = [other for other in below if other in packages
                 or (other not in sys.modules and zlib.crc32(other.encode()) % share == 0)]  # fmt: skip
        wrong = [fails(other, names, share) for other in drawn]
        os._exit(any(wrong))
    return os.waitpid(child, 0)[1] != 0


if __name__ == "__main__":
    sys.exit(fails("engine", modules(), int(sys.argv[1]) if len(sys.argv) > 1 else 1))
