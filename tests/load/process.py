"""What a process takes of the machine, as Linux tells it."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Taken:
    """`cpu_s`: seconds of CPU so far; `memory_kb`: resident; `children`: ids of its processes, theirs included."""

    cpu_s: float
    memory_kb: int
    threads: int
    files: int
    children: tuple[int, ...]


def taken(process: int) -> Taken:
    """Of a process that lives."""
    folder = Path(f"/proc/{process}")
    fields = _fields(process)
    return Taken(
        cpu_s=cpu_s(process),
        memory_kb=int(fields[21]) * os.sysconf("SC_PAGE_SIZE") // 1024,
        threads=int(fields[17]),
        files=len(list((folder / "fd").iterdir())),
        children=children(process),
    )


def cpu_s(process: int) -> float:
    """Seconds of CPU that a process has used, all its threads together."""
    return time.clock_gettime((~process << 3) | 2)  # Linux's name for the clock of a process


def children(process: int) -> tuple[int, ...]:
    """The processes that it started, those that they started, and so on."""
    parents = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                parents[int(folder.name)] = int(_fields(int(folder.name))[1])
            except OSError:
                continue
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return tuple(sorted(found - {process}))


def command(process: int) -> str:
    """Its command line; "" where it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _fields(process: int) -> list[str]:
    """What /proc/PID/stat says after the name, which may hold spaces."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
