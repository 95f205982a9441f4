"""How much faster a sweep is on all GPUs of this computer than on one of them.

    python -m tests.benchmark.benchmark_gpus [--passes 3]

The sweep is the page's own: the same object asks for the runs, takes them in and writes them down. It runs in a process
that sees one GPU, then in one that sees them all: once untimed, so that every worker has compiled, and so many times
timed. Exit status 1 where all of them together are less than 0.95 times their number as fast (1.9 times for two).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median

from engine.catalogue import TOPICS, default_choice
from engine.machine.devices import gpus
from engine.plan import settle
from engine.records import Settled
from engine.service import service
from tests.home import places
from views.shared.work import POLL_S, MeasurementWork

ROOT = Path(__file__).parents[2]
SIZES = (2**20, 2**24)
BLOCK_SIZES = (64, 128, 256, 512, 1024)
SCALES = 0.95  # of the number of GPUs


def sweep() -> list[Settled]:
    """Every reduction that a GPU runs, at two sizes and five block sizes."""
    return [
        settle(replace(default_choice(kernel.name), n=n, block_size=block_size, device="gpu"))
        for kernel in TOPICS["reduction"].kernels
        if kernel.runs_on("gpu") and kernel.expect == "ok"
        for n in SIZES
        for block_size in BLOCK_SIZES
    ]


def timed(passes: int) -> dict[str, object]:
    """Seconds that each pass took here, and how the runs of the last one ended."""
    choices, seconds, results = sweep(), [], []
    for _ in range(passes + 1):
        work = MeasurementWork(choices, [choice.kernel for choice in choices], "sweep", fresh=True)
        began = time.perf_counter()
        while not work.finished:
            work.advance(POLL_S)
        seconds.append(time.perf_counter() - began)
        results = work.results
    service.disconnect()
    return {"gpus": len(gpus()), "seconds": seconds[1:], "ended": Counter(found.status for found in results)}


def in_a_process(visible: str, passes: int) -> dict:
    """The same in a process that sees these GPUs, and that keeps what it measures from the user's own history."""
    with tempfile.TemporaryDirectory() as home:
        environment = {**os.environ, **places(Path(home)), "CUDA_VISIBLE_DEVICES": visible}
        command = [sys.executable, "-m", "tests.benchmark.benchmark_gpus", "--here", "--passes", str(passes)]
        asked = subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(asked.stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--here", action="store_true", help="time it in this very process, on the GPUs that it sees")
    options = parser.parse_args()
    if options.here:
        print(json.dumps(timed(options.passes)))
        return 0
    found = [gpu.uuid for gpu in gpus()]
    if len(found) < 2:
        print(f"This computer has {len(found)} GPU: there is nothing to compare.", file=sys.stderr)
        return 2
    runs = len(sweep())
    rows = [in_a_process(",".join(seen), options.passes) for seen in (found[:1], found)]
    for row in rows:
        took = median(row["seconds"])
        print(f"{row['gpus']} GPU: {runs} runs in {took:.2f} s, {runs / took:.1f} a second; {row['ended']}")
    ratio = median(rows[0]["seconds"]) / median(rows[1]["seconds"])
    print(f"all over one: {ratio:.2f}")
    return 0 if ratio >= SCALES * len(found) else 1


if __name__ == "__main__":
    sys.exit(main())
