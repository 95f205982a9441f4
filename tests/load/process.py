"""The resources of a process, from Linux."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Taken:
    """`cpu_s`: seconds of CPU so far; `memory_kb`: resident; `children`: ids of all descendants."""

    cpu_s: float
    memory_kb: int
    threads: int
    files: int
    children: tuple[int, ...]


def taken(process: int) -> Taken:
    """Return the resources of a living process."""
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
    """Return the seconds of CPU that all threads of a process have used."""
    return time.clock_gettime((~process << 3) | 2)  # Linux's name for the clock of a process


def cpu_of_all_s(process: int) -> float:
    """Return the seconds of CPU that a process, its descendants and those of them that have ended have used."""
    ticks = sum(sum(map(int, _fields(each)[11:15])) for each in (process, *children(process)))
    return ticks / os.sysconf("SC_CLK_TCK")


def children(process: int) -> tuple[int, ...]:
    """Return the ids of all descendants of a process."""
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
    """Return the command line of a process; "" if it has ended."""
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


def _fields(process: int) -> list[str]:
    """Return the fields of /proc/PID/stat after the name, which may contain spaces."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
