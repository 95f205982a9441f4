"""Record compute-sanitizer's verdict on every planted bug and every kernel of the catalogue, on a GPU.

    python tests/gpu/sanitize.py                       # -> tests/golden/sanitizer.json
    python tests/gpu/sanitize.py --dry-run             # what would run, on any machine
    python tests/gpu/sanitize.py --only barrier_half_warp reduce_racy --tools racecheck synccheck

Every run is a process of its own, because an illegal address or a deadlock leaves nothing behind that could go on.
The file is written after every run; a second call does only what is missing, or whose code or size has changed.
With 16 cores the whole takes about three minutes. Its buffers have exactly the size of their arrays (no memory pool),
so that memcheck sees the first byte behind them; results are left uninitialised, so that initcheck sees who reads them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from engine.catalogue import KERNELS, default_choice, topic_of  # noqa: E402
from engine.history.recordings import digest_of_code  # noqa: E402
from engine.plan import plan  # noqa: E402
from engine.records import Choice, HostRun, Launch, NotRunnable, Plan, Scalar, Source, Zero  # noqa: E402
from tests.backends.emulator.planted import Planted, planted  # noqa: E402

GOLDEN = ROOT / "tests" / "golden" / "sanitizer.json"
TOOLS = ("racecheck", "synccheck", "memcheck", "initcheck")
N, SMALLER_N, WIDTH = 5_003, 4_001, 45  # ragged, and small: the tools slow a kernel down a hundredfold
MESSAGES = 6  # kept of one run

# What each tool calls its findings. The rest of its output is addresses, backtraces and summaries.
FINDINGS = re.compile(
    r"^========= (?:(?:Error|Warning): |)"
    r"((?:Race reported|Potential \w+ hazard|Barrier error|Invalid |Misaligned |Uninitialized |Out-of-range|"
    r"Address .* out of bounds|Stack overflow|Malloc|Fatal|Unsupported).*)$",
    re.MULTILINE,
)
SUMMARY = re.compile(
    r"(?:ERROR SUMMARY|RACECHECK SUMMARY): (\d+) (?:errors?|hazards? displayed \((\d+) errors?, (\d+) w)"
)
LINE = re.compile(r"[\w/]+\.cu:(\d+)")


@dataclass(frozen=True)
class Job:
    """One subject under one tool. `subject`: "bug" or "kernel"; `seconds`: how long it may take."""

    name: str
    subject: str
    tool: str
    seconds: int
    n: int
    block_size: int


@dataclass(frozen=True)
class Verdict:
    """What a tool said. `verdict`: "clean", "error", "warning", "timeout", or "failed" (it did not get to judge).

    `errors`, `warnings` are None where the tool printed no summary. `lines`: lines of the .cu file that it named.
    """

    verdict: str
    errors: int | None
    warnings: int | None
    messages: tuple[str, ...]
    lines: tuple[int, ...]


# ---- which runs


def jobs(tools: tuple[str, ...], only: set[str], seconds: int) -> list[Job]:
    """All runs, bugs first. What never ends is given to one tool only, for a short time."""
    made = []
    for bug in planted():
        endless = "never ends" in bug.tool
        for tool in ("synccheck",) if endless else tools:
            made.append(Job(bug.name, "bug", tool, 20 if endless else seconds, bug.n, bug.block))
    for choice in choices():
        made += [Job(choice.kernel, "kernel", tool, seconds, choice.n, choice.block_size) for tool in tools]
    return [job for job in made if (not only or job.name in only) and job.tool in tools]


def choices() -> list[Choice]:
    """Every kernel that runs on a GPU, at a middle block size."""
    return [choice for name in KERNELS if (choice := choice_of(name)) is not None]


def choice_of(name: str) -> Choice | None:
    """A kernel's run: at the largest of the sizes that GPU and emulator take. None for what no GPU runs."""
    kernel = KERNELS[name]
    topic = topic_of(kernel)
    sizes = (WIDTH,) if "width" in topic.size_label.lower() else (max(N, topic.min_n), SMALLER_N)
    block_size = kernel.block_sizes[len(kernel.block_sizes) // 2 - 1]
    reason: NotRunnable | None = None
    for size in sizes:
        choice = replace(default_choice(name), n=size, block_size=block_size)
        try:
            steps = plan(choice).steps
            plan(replace(choice, device="emulator"))
        except NotRunnable as refused:
            reason = refused
            continue
        on_gpu = any(isinstance(step, Launch) for step in steps) and not any(isinstance(s, HostRun) for s in steps)
        return choice if on_gpu else None
    print(f"{name} is left out: {reason}", file=sys.stderr)
    return None


# ---- one run, in its own process under the tool


def run_subject(job: Job) -> None:
    """Launch a bug or a kernel's plan once and wait. Whatever goes wrong, goes wrong here."""
    import cupy

    cupy.cuda.set_allocator(None)  # every array is an allocation of its own, of its own size
    if job.subject == "bug":
        (bug,) = (bug for bug in planted() if bug.name == job.name)
        steps, arrays = bug_steps(bug), bug_arrays(bug)
    else:
        choice = choice_of(job.name)
        assert choice is not None
        made = plan(choice)
        steps, arrays = list(made.steps), plan_arrays(made)
    launch_all(steps, arrays)
    print("finished", flush=True)


def bug_steps(bug: Planted) -> list[Any]:
    """A bug's launch as a plan has it."""
    source = Source(f"{bug.name}.cu", bug.text, "int32")
    grid, block = (bug.grid, 1, 1), (bug.block, 1, 1)
    return [Launch(bug.name, source, grid, block, ("in", "out", Scalar("uint32", bug.n)))]


def bug_arrays(bug: Planted) -> dict[str, Any]:
    """The numbers that the emulator's test uses as well."""
    import cupy
    import numpy as np

    return {
        "in": cupy.asarray(np.arange(bug.n, dtype=np.int32) * 7 + 3),
        "out": cupy.asarray(np.zeros(bug.n, np.int32)),
    }


def plan_arrays(plan: Plan) -> dict[str, Any]:
    """The plan's buffers: inputs and zeros copied from the host, all others as the driver hands them out."""
    import cupy
    import numpy as np

    from engine.records import dtype_of

    recipe = topic_of(KERNELS[plan.choice.kernel]).input_recipe(plan.choice)
    arrays = {}
    for buffer in plan.buffers:
        kind = dtype_of(buffer.dtype)
        if buffer.fill == "input":
            numbers, count = recipe[buffer.name]
            arrays[buffer.name] = cupy.asarray(np.resize(numbers, count).astype(kind, copy=False))
        elif buffer.fill == "zero":
            arrays[buffer.name] = cupy.asarray(np.zeros(buffer.count, kind))
        else:
            arrays[buffer.name] = cupy.empty(buffer.count, kind)
    return arrays


def launch_all(steps: list[Any], arrays: dict[str, Any]) -> None:
    """The device's share of a plan, in order. A host sum only reads: nothing to judge."""
    from cupy_backends.cuda.api import runtime

    from engine.backends.gpu.launches import launcher
    from engine.backends.gpu.memory import stream

    with stream():
        for step in steps:
            if isinstance(step, Zero):
                array = arrays[step.buffer]
                runtime.memsetAsync(array.data.ptr, 0, array.nbytes, stream().ptr)
            elif isinstance(step, Launch):
                launch, _kept = launcher(step, arrays)
                launch()
                stream().synchronize()


# ---- the tool around it


def command(job: Job, sanitizer: str) -> list[str]:
    """The tool's command line for one run."""
    options = ["--tool", job.tool, "--target-processes", "all", "--show-backtrace", "no", "--print-limit", "50"]
    if job.tool == "memcheck":
        options += ["--report-api-errors", "no"]  # libraries probe the driver with calls that may fail
    return [sanitizer, *options, sys.executable, str(Path(__file__)), "--child", json.dumps(asdict(job))]


def judge(job: Job, sanitizer: str) -> Verdict:
    """Run one job. The process group dies at the deadline: a hung kernel holds its child in the driver."""
    process = subprocess.Popen(
        command(job, sanitizer), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        start_new_session=True, env={**os.environ, "CUDA_MODULE_LOADING": "EAGER"},
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=job.seconds)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        return replace(read_verdict(output), verdict="timeout")
    return read_verdict(output)


def read_verdict(output: str) -> Verdict:
    """The tool's words -> Verdict. Without a summary, or without a run to judge, the verdict is "failed"."""
    messages = tuple(dict.fromkeys(_without_addresses(text) for text in FINDINGS.findall(output)))[:MESSAGES]
    lines = tuple(sorted({int(line) for line in LINE.findall(output)}))
    summaries = SUMMARY.findall(output)
    if not summaries:
        tail = tuple(output.strip().splitlines()[-3:])
        return Verdict("failed", None, None, messages or tail, lines)
    plain, of_hazards, of_warnings = summaries[-1]
    errors = int(of_hazards or plain)
    warnings = int(of_warnings or 0)
    if errors == warnings == 0 and "finished" not in output:
        return Verdict("failed", errors, warnings, tuple(output.strip().splitlines()[-3:]), lines)
    return Verdict("error" if errors else "warning" if warnings else "clean", errors, warnings, messages, lines)


def _without_addresses(text: str) -> str:
    return re.sub(r"0x[0-9a-f]+", "0x..", re.sub(r" \[\d+ hazards?\]", "", text)).strip()


# ---- the record


def environment(sanitizer: str) -> dict[str, str]:
    """Which GPU, driver and tool said all this, and when."""
    query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
    name, driver = subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines()[0].split(", ")
    told = subprocess.run([sanitizer, "--version"], capture_output=True, text=True, check=True).stdout
    version = re.search(r"Version (\S+)", told)
    return {
        "device": name, "driver": driver, "sanitizer": version[1] if version else told.strip().splitlines()[-1],
        "date": datetime.now(UTC).strftime("%Y-%m-%d"),
    }  # fmt: skip


def digest(name: str, bugs: dict[str, Planted]) -> str:
    """Return a digest that tells whether the code has changed since it was judged; a comment does not count."""
    return digest_of_code(bugs[name].text if name in bugs else KERNELS[name].text)


def record(todo: list[Job], sanitizer: str, path: Path, workers: int) -> None:
    """Do what the file does not have yet; write it after every run."""
    known = json.loads(path.read_text()) if path.exists() else {}
    bugs = {bug.name: bug for bug in planted()}
    sizes = {job.name: (job.n, job.block_size) for job in jobs(TOOLS, set(), 1)}
    kept = {name: entry for name, entry in known.get("results", {}).items()
            if sizes.get(name) == (entry["n"], entry["block_size"])
            and entry["digest"] == digest(name, bugs)}  # fmt: skip
    known = {**environment(sanitizer), "n": N, "width": WIDTH, "results": kept}
    results, lock = known["results"], threading.Lock()

    def one(job: Job) -> None:
        verdict = judge(job, sanitizer)
        with lock:
            entry = results.setdefault(job.name, {"subject": job.subject, "n": job.n, "block_size": job.block_size})
            if job.name in bugs:
                entry |= {"expect": list(bugs[job.name].expect), "tool": bugs[job.name].tool}
            entry["digest"] = digest(job.name, bugs)
            entry.setdefault("tools", {})[job.tool] = asdict(verdict)
            path.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
            print(f"{job.name:45} {job.tool:10} {verdict.verdict:8} {verdict.messages[:1]}", flush=True)

    missing = [job for job in todo if job.tool not in results.get(job.name, {}).get("tools", {})]
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(one, missing))


def find_sanitizer() -> str | None:
    """compute-sanitizer on the PATH, or where the toolkit puts it."""
    usual = Path("/usr/local/cuda/bin/compute-sanitizer")
    return shutil.which("compute-sanitizer") or (str(usual) if usual.exists() else None)


def main() -> int:
    """The command line. 0: every run has a verdict; 1: some failed; 2: no compute-sanitizer here."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", nargs="?", type=Path, default=GOLDEN, help="the file to write (default: %(default)s)")
    parser.add_argument("--only", nargs="+", default=[], metavar="NAME", help="these bugs and kernels only")
    parser.add_argument("--tools", nargs="+", default=list(TOOLS), choices=TOOLS)
    parser.add_argument("--seconds", type=int, default=120, help="for one run (default: %(default)s)")
    parser.add_argument(
        "--parallel", type=int, default=min(16, os.cpu_count() or 1), help="runs at a time (default: %(default)s)"
    )
    parser.add_argument("--sanitizer", default=find_sanitizer(), help="the path of compute-sanitizer")
    parser.add_argument("--dry-run", action="store_true", help="print the commands and run nothing")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        run_subject(Job(**json.loads(options.child)))
        return 0
    todo = jobs(tuple(options.tools), set(options.only), options.seconds)
    if options.dry_run:
        for job in todo:
            print(" ".join(command(job, options.sanitizer or "compute-sanitizer")))
        print(f"{len(todo)} runs: {len({job.name for job in todo})} bugs and kernels", file=sys.stderr)
        return 0
    if options.sanitizer is None:
        print("There is no compute-sanitizer here; it comes with the CUDA toolkit.", file=sys.stderr)
        return 2
    record(todo, options.sanitizer, options.out, options.parallel)
    results = json.loads(options.out.read_text())["results"]
    return int(any(results[job.name]["tools"][job.tool]["verdict"] == "failed" for job in todo))


if __name__ == "__main__":
    sys.exit(main())
