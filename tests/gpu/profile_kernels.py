"""Record the hardware's counters of every kernel of the catalogue, with Nsight Compute, on a GPU: about two minutes.

    python tests/gpu/profile_kernels.py recorded/counters/nvidia-h200.json [TOPIC ...]

Every kernel runs at two block sizes, at the first of them also in float64, and with several values of its parameter.
The launches are small, because only small ones are free of arbitration noise. Every launch of a plan is profiled; the
counters of a plan are the sums over its launches, as on the emulator. The emulator's test_catalogue_counters.py
compares.

Each topic is a run of the profiler of its own. With TOPIC only those are recorded anew, and the others stay as they
are in the file, if the same GPU and driver recorded them. Exit status 1: a topic could not be recorded, and its rows
are missing.
"""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from engine.backends.backend import backend_named, quiet  # noqa: E402
from engine.catalogue import TOPICS, Kernel, Topic, default_choice  # noqa: E402
from engine.machine.environment import environment  # noqa: E402
from engine.plan import plan, settle  # noqa: E402
from engine.records import Choice, Launch, NotRunnable  # noqa: E402

# Ragged on purpose. Threads that wait for a lock are few: the emulator watches each of them wait.
SIZES = {"matmul": 77, "matrix_sums": 77, "transpose": 77, "volta": 1_000, "tensor": 256}
N = 20_011
# The values of each parameter that are recorded besides its default: both ends, what a power of two hides, and few or
# many lanes at one address. Of a parameter that is not named here: both ends and the middle.
PARAMETERS: dict[str, tuple[int, ...]] = {
    "STRIDE": (1, 2, 3, 4, 8, 16, 17, 31, 32, 33),
    "OFFSET": (0, 1, 4, 8, 31),
    "WORDS": (1, 2, 3, 8, 32),
    "WAYS": (1, 2, 3, 8, 32),
    "ADDRESSES": (1, 32, 4096, 2**20),
    "BINS": (1, 32, 256),
    "SPLIT": (1, 4, 16, 31),
    "TILE": (1, 4, 8, 32),
    "LANE": (0, 31),
}
LONGEST_S = 240  # of one topic under the profiler
NO_PROFILER = "There is no ncu on the path: install Nsight Compute, or add its folder to PATH."
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_red_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
    "global_atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "global_atom_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld_pred_on_any.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st_pred_on_any.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "shared_atomic_requests": "smsp__inst_executed_op_shared_atom.sum",
    "shared_atomic_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_atom.sum",
    "shared_atomic_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_atom.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed_pred_on.sum",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
}
# What not every version of the profiler offers: left out, with a word, where it is not there.
OPTIONAL = ("global_red_sectors", "global_atom_sectors", "shared_atomic_requests", "shared_atomic_wavefronts",
            "shared_atomic_conflicts")  # fmt: skip


@cache
def metrics() -> dict[str, str]:
    """METRICS without those optional ones that this machine's profiler does not know."""
    asked = subprocess.run(["ncu", "--query-metrics"], capture_output=True, text=True, check=False, timeout=120)
    offered = {line.split()[0] for line in asked.stdout.splitlines() if line.strip()}
    missing = [name for name in OPTIONAL if METRICS[name].removesuffix(".sum") not in offered]
    if len(missing) == len(OPTIONAL):  # the list is no list: let the profiler itself complain
        return METRICS
    for name in missing:
        print(f"This ncu has no {METRICS[name]}: {name} is left out.", file=sys.stderr, flush=True)
    return {name: metric for name, metric in METRICS.items() if name not in missing}


def choices(topic: Topic) -> list[Choice]:
    """What is recorded of a topic; kernels that run on no GPU are left out."""
    return [choice for kernel in topic.kernels for choice in _choices_of(kernel, topic)]


def _choices_of(kernel: Kernel, topic: Topic) -> Iterator[Choice]:
    if kernel.capability.endswith("a"):  # the emulator counts no passes of their copies and products
        return
    sizes = sorted({kernel.block_sizes[len(kernel.block_sizes) // 2 - 1], kernel.block_sizes[-1]})
    first = replace(default_choice(kernel.name), n=SIZES.get(topic.name, N), block_size=sizes[0])
    asked = [replace(first, block_size=size) for size in sizes]
    if "float64" in kernel.dtypes and first.dtype != "float64":
        asked.append(replace(first, dtype="float64"))
    if kernel.parameter is not None:
        offered = kernel.parameter.values
        wanted = PARAMETERS.get(kernel.parameter.name, (offered[0], offered[len(offered) // 2], offered[-1]))
        others = [value for value in dict.fromkeys(wanted) if value in offered and value != kernel.parameter.default]
        asked += [replace(first, parameter=value) for value in others]
    for choice in asked:
        try:  # as the emulator will be asked: it refuses what it could not count in good time
            steps = plan(replace(choice, device="emulator")).steps
        except NotRunnable:
            continue
        if any(isinstance(step, Launch) for step in steps):
            yield choice


def launches(choice: Choice) -> list[Launch]:
    """The launches of a choice, in their order."""
    return [step for step in plan(choice).steps if isinstance(step, Launch)]


def run_all(topic: Topic) -> None:
    """Run every choice of a topic once: what the profiler watches."""
    for choice in choices(topic):
        backend_named("gpu").run(plan(settle(choice)), quiet)


def profile(topic: Topic) -> list[dict[str, Any]]:
    """One row of counters a choice of the topic. RuntimeError, with what the profiler said, if there are none."""
    planned = choices(topic)
    names = dict.fromkeys(launch.kernel for choice in planned for launch in launches(choice))
    return _totals(planned, watched(names, [__file__, "--run", topic.name]))


def watched(kernels: Iterable[str], arguments: Sequence[str]) -> list[dict[str, str]]:
    """One row a launch of these kernels while Python runs with `arguments`. RuntimeError: what the profiler said."""
    done = subprocess.run(
        ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
         "--kernel-name", f"regex:^({'|'.join(kernels)})$", "--metrics", ",".join(metrics().values()),
         sys.executable, *arguments],
        capture_output=True, text=True, cwd=ROOT, check=False, timeout=LONGEST_S,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    head = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if head is None or done.returncode:
        raise RuntimeError(f"ncu ended with {done.returncode}:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    return [row for row in csv.DictReader(io.StringIO("\n".join(lines[head:]))) if row["ID"]]


def counted(row: Mapping[str, str]) -> dict[str, int]:
    """What the profiler counted in one launch, by the counters' names."""
    return {name: int(float(row[metric].replace(",", "") or 0)) for name, metric in metrics().items()}


def _totals(planned: Sequence[Choice], rows: Sequence[Mapping[str, str]]) -> list[dict[str, Any]]:
    """The rows of the profiler, one a launch, added up choice by choice."""
    left = iter(rows)
    made = []
    for choice in planned:
        totals: dict[str, int] = defaultdict(int)
        for launch in launches(choice):
            row = next(left, None)
            if row is None or row["Kernel Name"].partition("(")[0] != launch.kernel:
                raise RuntimeError(f"{choice}: {launch.kernel} was planned, the profiler saw {row}")
            for name, count in counted(row).items():
                totals[name] += count
        asked = {name: getattr(choice, name) for name in ("kernel", "n", "block_size", "dtype", "parameter")}
        made.append({**asked, **totals})
    unplanned = len(list(left))
    if unplanned:
        raise RuntimeError(f"{unplanned} launches more than planned were profiled")
    return made


def record(target: Path, topics: Sequence[str]) -> bool:
    """Profile these topics and write the file anew after each; the rows of other topics stay. True: all went well."""
    gpu, driver = backend_named("gpu").describe()["name"], environment()["driver"]
    before = json.loads(target.read_text(encoding="utf-8")) if target.exists() else {}
    same = (before.get("device"), before.get("driver")) == (gpu, driver)
    known = before["kernels"] if same else []  # one file, one origin
    of_topic = {name: {kernel.name for kernel in topic.kernels} for name, topic in TOPICS.items()}
    rows = {name: [row for row in known if row["kernel"] in kernels and name not in topics]
            for name, kernels in of_topic.items()}  # fmt: skip
    well = True
    for name in topics:
        began = time.monotonic()
        try:
            rows[name] = profile(TOPICS[name])
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{name}: NOT RECORDED. {error}", file=sys.stderr, flush=True)
            well = False
        print(f"{name}: {len(rows[name])} plans in {time.monotonic() - began:.0f} s", flush=True)
        write(target, [row for kept in rows.values() for row in kept])
    return well


def recorded(record: Callable[[Path], None], target: Path) -> None:
    """Record into a file. SystemExit with the reason where nothing was recorded."""
    if shutil.which("ncu") is None:
        sys.exit(NO_PROFILER)
    try:
        record(target)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"NOT RECORDED. {error}")


def write(target: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """The rows, and with them who counted what, when and on which GPU."""
    versions = environment()
    about = {"device": backend_named("gpu").describe()["name"], "driver": versions["driver"],
             "profiler": "ncu --clock-control none", "nvrtc": versions["nvrtc"],
             "date": datetime.now(UTC).date().isoformat(), "metrics": metrics()}  # fmt: skip
    head = json.dumps(about, indent=0).removesuffix("\n}")
    body = ",\n".join(json.dumps(row) for row in rows)
    target.write_text(f'{head},\n"kernels": [\n{body}\n]\n}}\n', encoding="utf-8")


if __name__ == "__main__":
    if sys.argv[1] == "--run":
        run_all(TOPICS[sys.argv[2]])
    elif shutil.which("ncu") is None:
        sys.exit(NO_PROFILER)
    else:
        sys.exit(0 if record(Path(sys.argv[1]), sys.argv[2:] or tuple(TOPICS)) else 1)
