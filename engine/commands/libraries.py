"""The command `peers`: the libraries that this computer can measure the kernels against."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from dataclasses import asdict

from engine.history.recordings import NEEDS_GPU
from engine.machine.environment import has_gpu
from engine.records import NotRunnable


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `peers`."""
    peers = commands.add_parser("peers", help="the libraries that the kernels are measured against: built, and tried")
    peers.add_argument("--json", action="store_true")
    peers.set_defaults(command=_peers)


def _peers(options: argparse.Namespace) -> int:
    if not has_gpu():
        raise NotRunnable(NEEDS_GPU.replace("Recording", "A library beside a kernel"))
    trial = importlib.import_module("engine.backends.gpu.peer_trial")  # CuPy is imported only if a GPU is used
    for refused in trial.build():
        print(refused, file=sys.stderr)
    found = list(trial.tried())
    if options.json:
        print(json.dumps([asdict(each) for each in found]))
    else:
        for each in found:
            print(f"{each.operation} {each.dtype}: {each.peer}: {each.missing or 'ok'}")
    return 0
