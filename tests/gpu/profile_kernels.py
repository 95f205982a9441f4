"""Record the hardware's counters of every kernel of the catalogue, with Nsight Compute, on a GPU.

    python tests/gpu/profile_kernels.py tests/golden/catalogue.json

The launches are small, because only small ones are free of arbitration noise. Every launch of a plan is profiled; the
counters of a plan are the sums over its launches, as on the emulator. tests/ptx/test_catalogue_counters.py compares.
"""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from collections import defaultdict
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from engine.catalogue import KERNELS, default_choice, topic_of  # noqa: E402
from engine.plan import plan as plan_of  # noqa: E402
from engine.records import Choice, Launch  # noqa: E402

N, WIDTH = 20_011, 77  # ragged on purpose
METRICS = {
    "global_load_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
    "global_load_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
    "global_store_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
    "global_store_sectors": "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
    "global_red_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
    "global_atom_requests": "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
    "shared_load_requests": "smsp__inst_executed_op_shared_ld_pred_on_any.sum",
    "shared_load_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_ld.sum",
    "shared_load_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_ld.sum",
    "shared_store_requests": "smsp__inst_executed_op_shared_st_pred_on_any.sum",
    "shared_store_wavefronts": "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_st.sum",
    "shared_store_conflicts": "l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_st.sum",
    "warp_instructions": "smsp__inst_executed.sum",
    "thread_instructions": "smsp__thread_inst_executed_pred_on.sum",
    "branches": "smsp__sass_branch_targets.sum",
    "divergent_branches": "smsp__sass_branch_targets_threads_divergent.sum",
}


def choices() -> list[Choice]:
    """Every kernel at two block sizes; kernels that run on no GPU are left out."""
    made = []
    for kernel in KERNELS.values():
        n = WIDTH if "width" in topic_of(kernel).size_label else N
        middle = kernel.block_sizes[len(kernel.block_sizes) // 2 - 1]
        for block_size in sorted({middle, kernel.block_sizes[-1]}):
            choice = replace(default_choice(kernel.name), n=n, block_size=block_size)
            if any(isinstance(step, Launch) for step in plan_of(choice).steps):
                made.append(choice)
    return made


def run_all() -> None:
    """Run every choice once: what the profiler watches."""
    from engine import gpu

    for choice in choices():
        gpu.run(plan_of(choice), topic_of(choice.kernel).input_recipe(choice))


def profile(target: Path) -> None:
    """Profile `run_all` and write the counters of each choice."""
    names = "|".join(dict.fromkeys(
        step.kernel for choice in choices() for step in plan_of(choice).steps if isinstance(step, Launch)
    ))  # fmt: skip
    done = subprocess.run(
        ["ncu", "--clock-control", "none", "--csv", "--page", "raw", "--print-units", "base",
         "--kernel-name", f"regex:^({names})$", "--metrics", ",".join(METRICS.values()),
         sys.executable, __file__, "--run"],
        capture_output=True, text=True, cwd=ROOT, check=False,
    )  # fmt: skip
    lines = done.stdout.splitlines()
    try:
        head = next(i for i, line in enumerate(lines) if line.startswith('"ID"'))
    except StopIteration:
        sys.exit(f"ncu gave no table:\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}")
    rows = [row for row in csv.DictReader(io.StringIO("\n".join(lines[head:]))) if row["ID"]]
    kernels = []
    position = 0
    for choice in choices():
        totals: dict[str, int] = defaultdict(int)
        for step in plan_of(choice).steps:
            if isinstance(step, Launch):
                row = rows[position]
                position += 1
                assert row["Kernel Name"].partition("(")[0] == step.kernel, (row["Kernel Name"], step.kernel)
                for name, metric in METRICS.items():
                    totals[name] += int(float(row[metric].replace(",", "") or 0))
        kernels.append(
            {"kernel": choice.kernel, "n": choice.n, "block_size": choice.block_size, "dtype": choice.dtype, **totals}
        )
    assert position == len(rows), f"{len(rows)} launches were profiled, {position} were planned"
    from engine.environment import device, environment

    about = {"device": device("gpu")["name"], "driver": environment()["driver"], "profiler": "ncu --clock-control none",
             "date": datetime.now(UTC).date().isoformat(), "metrics": METRICS}  # fmt: skip
    target.write_text(json.dumps({**about, "kernels": kernels}, indent=0) + "\n", encoding="utf-8")
    print(f"{len(kernels)} plans, {len(rows)} launches -> {target}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--run"]:
        run_all()
    else:
        profile(Path(sys.argv[1]))
