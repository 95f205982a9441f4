"""The cores are those that this process may use, not those that the computer has."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from engine.machine.devices import cores, memory_bytes
from engine.service.worker_slot import ROOT


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux binds a process to cores")
def test_a_process_bound_to_one_core_has_one() -> None:
    code = (
        "import os; from engine.machine.devices import cores; os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})"
    )
    answer = subprocess.check_output([sys.executable, "-c", f"{code}; print(cores())"], cwd=ROOT, text=True)
    assert answer == "1\n"
    assert 1 <= cores() <= (os.cpu_count() or 1)


def test_the_memory_is_that_of_a_computer() -> None:
    assert memory_bytes() > 1 << 28
