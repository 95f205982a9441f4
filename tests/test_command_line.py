"""The command line keeps its contract: fields, exit status, one sentence where something cannot be."""

import csv
import json
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.catalogue.libraries import PEERS
from engine.commands import main
from engine.commands.output import printable
from engine.lab.trial_arrays import ORDERS
from engine.lectures.judge import claims_of
from engine.records import NotRunnable
from engine.records.counters import IN_JSON
from engine.store import progress
from tests.sentences import says, sentence

pytestmark = pytest.mark.sampled(quick=2)

FIELDS = {
    "kernel", "n", "block_size", "grid_size", "dtype", "cache", "device", "status", "reason", "result", "expected",
    "error", "error_bound", "times_us", "time_us", "bandwidth_gb_s", "gflop_s", "percent_of_peak", "counters", "lines",
    "findings", "environment",
}  # fmt: skip

ENDLESS = """extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    while (n > 0)
        out[0] += in[0];
}
"""
PAST_THE_END = """extern "C" __global__ void reduce_sequential(const T *in, T *out, unsigned int n)
{
    out[0] = in[n + threadIdx.x];
}
"""


Command = Callable[..., tuple[int, str]]
Run = Callable[..., tuple[int, dict]]


@pytest.fixture
def engine(capsys: pytest.CaptureFixture[str]) -> Command:
    """(exit status, what it printed) of a command, in this process; its worker is kept for the next one."""

    def command(*arguments: str) -> tuple[int, str]:
        return main(arguments), capsys.readouterr().out

    return command


@pytest.fixture
def run(engine: Command) -> Run:
    """(exit status, record) of a run on the emulator."""

    def one(*arguments: str) -> tuple[int, dict]:
        status, printed = engine("run", *arguments, "--device", "emulator", "--json")
        return status, json.loads(printed)

    return one


def test_peers_lists_every_library_with_the_reason_why_it_is_missing(
    engine: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.backends.gpu import peer_trial

    def refuse(*given: object) -> None:
        raise NotRunnable("no GPU")

    monkeypatch.setattr("engine.commands.has_gpu", lambda: True)
    monkeypatch.setattr(peer_trial, "build", list)
    monkeypatch.setattr(peer_trial.launches, "prepare", refuse)
    status, printed = engine("peers", "--json")
    found = json.loads(printed)
    assert status == 0 and {each["missing"] for each in found} == {"no GPU"}
    assert {each["peer"] for each in found} == {peer for peers in PEERS.values() for peer in peers}


@pytest.mark.sampled(quick=2)
@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (["run", "reduce_racy", "--n", "1000", "--device", "emulator"], 1, "The answer is wrong"),
        (["run", "reduce_sequental"], 2, "Did you mean reduce_sequential"),
    ],
)
def test_a_process_ends_with_the_exit_status(arguments: list[str], status: int, words: str):
    done = subprocess.run([sys.executable, "-m", "engine", *arguments], capture_output=True, text=True, timeout=250)
    assert done.returncode == status and words in done.stdout + done.stderr


def test_a_closed_output_is_no_traceback():
    done = subprocess.run(["sh", "-c", '"$0" -m engine kernels >&-', sys.executable], capture_output=True, text=True,
                          timeout=250)  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")


def _kernels_to(output: int) -> tuple[int, str]:
    """Return the exit status and the complaints of a command that prints to a file descriptor, which is closed here."""
    try:
        done = subprocess.run([sys.executable, "-m", "engine", "kernels", "--json"], stdout=output,
                              stderr=subprocess.PIPE, text=True, timeout=250)  # fmt: skip
    finally:
        os.close(output)
    return done.returncode, done.stderr.strip()


def test_output_that_nobody_takes_is_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)  # as `| head` has gone that has what it wants
    assert _kernels_to(writer) == (141, "")
    full = os.open("/dev/full", os.O_WRONLY)
    status, told = _kernels_to(full)
    assert status == 2 and sentence("command.output-full", told)


def test_a_run_prints_one_object_with_every_field_of_the_contract(run: Run):
    status, record = run("reduce_sequential", "--n", "1000", "--block-size", "64")
    assert status == 0
    assert set(record) >= FIELDS
    assert (record["kernel"], record["n"], record["block_size"], record["grid_size"]) == (
        "reduce_sequential",
        1000,
        64,
        16,
    )
    assert record["status"] == "ok" and record["reason"] is None and record["result"] == record["expected"]
    assert record["device"]["kind"] == "emulator" and record["device"]["name"]
    assert record["times_us"] is record["time_us"] is record["bandwidth_gb_s"] is record["percent_of_peak"] is None
    assert set(record["counters"]) == set(IN_JSON)
    totals = {name: sum(line[name] for line in record["lines"]) for name in ("global_load_sectors", "barriers")}
    assert totals == {name: record["counters"][name] for name in totals}
    assert set(record["environment"]) >= {"driver", "cuda", "cupy", "python", "commit", "utc"}


def test_a_wrong_kernel_ends_with_1_and_its_findings(run: Run):
    status, record = run("reduce_racy", "--n", "1000")
    assert status == 1 and record["status"] == "wrong"
    assert {finding["kind"] for finding in record["findings"]} & {"global-race", "warp-race"}


def test_a_schedule_changes_only_the_answer_of_a_racy_kernel(run: Run):
    answers = {
        schedule: run("reduce_racy", "--n", "4096", "--schedule", schedule)[1]["result"]
        for schedule in ("lockstep", "waves:1", "waves:8")
    }
    assert len(set(answers.values())) == 3
    status, record = run("reduce_sequential", "--n", "4096", "--schedule", "independent:3")
    assert status == 0 and record["environment"]["schedule"] == "independent:3"


@pytest.mark.parametrize(
    ("arguments", "key"),
    [
        (["reduce_sequential", "--n", "0"], "command.n-0"),
        (["reduce_sequential", "--n", "2^40"], "command.n-too-large"),
        (["reduce_sequential", "--block-size", "33"], "command.block-33"),
        (["reduce_sequental"], "command.did-you-mean"),
        (["reduce_sequential", "--source", "/nowhere.cu"], "command.no-file"),
        (["matmul_naive", "--dtype", "int32"], "command.dtype"),
        (["banks_strided", "--parameter", "99"], "command.parameter-not-offered"),
        (["reduce_sequential", "--parameter", "2"], "command.no-parameter"),
        (["reduce_sequential", "--grid-size", "2"], "command.grid-not-chosen"),
        (["reduce_sequential", "--schedule", "sideways"], "command.no-schedule"),
    ],
)
def test_an_impossible_run_ends_with_status_2_and_a_reason(run: Run, arguments: list[str], key: str):
    status, record = run(*arguments)
    assert status == 2 and record["status"] == "refused"
    assert says(key, record["reason"])
    assert record["result"] is None and record["counters"] is None


def test_without_a_gpu_asking_for_one_is_refused(engine: Command):
    from engine.machine.devices import gpus

    if gpus():
        pytest.skip("this machine has a GPU")
    status, printed = engine("run", "reduce_sequential", "--device", "gpu", "--json")
    assert status == 2 and "no GPU" in json.loads(printed)["reason"]


@pytest.mark.parametrize(
    ("source", "exit_status", "status", "words"),
    [
        ("int broken(", 2, "compile-error", "student.cu does not compile: line 1"),
        ("// no kernel here\n", 2, "compile-error", "reduce_sequential"),
        pytest.param(ENDLESS, 3, "timeout", "line 3", marks=pytest.mark.thorough),
        (PAST_THE_END, 3, "out-of-bounds", "line 3"),
    ],
)
def test_a_students_broken_source_costs_one_sentence(
    run: Run, tmp_path: Path, source: str, exit_status: int, status: str, words: str
):
    file = tmp_path / "student.cu"
    file.write_text(source)
    code, record = run("reduce_sequential", "--n", "1000", "--source", str(file))
    assert (code, record["status"]) == (exit_status, status), record["reason"]
    assert words in record["reason"]


TICKETS = """extern "C" __global__ void copy_offset(const T *in, T *out, unsigned int n)
{
    __device__ static unsigned int next;
    __shared__ unsigned int ticket;
    if (threadIdx.x == 0) ticket = atomicAdd(&next, 1);
    __syncthreads();
    unsigned int i = blockIdx.x * blockDim.x + threadIdx.x, to = ticket * blockDim.x + threadIdx.x;
    if (i < n && to < n) out[to] = in[i + OFFSET];
}
"""


def test_a_file_whose_answer_depends_on_the_order_of_blocks_is_wrong(run: Run, tmp_path: Path):
    file = tmp_path / "student.cu"
    file.write_text(TICKETS)
    code, record = run("copy_offset", "--n", "1000", "--source", str(file))
    assert (code, record["status"], record["environment"]["schedule"]) == (1, "wrong", ORDERS[0])
    assert run("copy_offset", "--n", "1000", "--source", str(file), "--schedule", "lockstep")[0] == 0


def test_the_catalogue_is_printed_with_the_kernels_parameters(engine: Command):
    rows = json.loads(engine("kernels", "--json")[1])
    assert [row["kernel"] for row in rows] == list(KERNELS)
    parameters = {row["kernel"]: row["parameter"] for row in rows}
    assert parameters["reduce_racy"] is None
    assert parameters["copy_offset"] == {
        "name": "OFFSET", "label": "Offset (elements)", "values": list(range(33)), "default": 1, "words": []
    }  # fmt: skip
    assert {row["kernel"] for row in rows if row["grid_free"]} >= {"reduce_warp_shuffle", "histogram_shared"}
    _, text = engine("kernels")
    assert "[--parameter: Offset (elements), 0 to 32, else 1]" in text
    assert "[--parameter: Threads per tile, 1 2 4 8 16 32, else 8]" in text


@pytest.mark.thorough
def test_the_claims_of_a_ladder_are_printed_with_their_verdicts_and_causes(engine: Command):
    code, printed = engine("claims", "crovella-order", "--json")
    rows = {row["claim"]: row for row in map(json.loads, printed.splitlines())}
    assert code == 0 and [*rows] == [claim.name for claim in claims_of("crovella-order")]
    assert (rows["aggregated"]["outcome"], rows["aggregated"]["cause"]) == ("holds", "")
    assert rows["aggregation"]["question"] and rows["aggregation"]["why"] and rows["aggregation"]["found"]
    assert engine("claims", "no-such-ladder")[0] == 2


def test_a_run_says_which_parameter_and_which_grid(run: Run):
    status, record = run("banks_strided", "--n", "1024")
    assert (status, record["parameter"], record["grid_asked"]) == (0, 32, None)
    conflicts = record["counters"]["bank_conflicts"]
    status, record = run("banks_strided", "--n", "1024", "--parameter", "1")
    assert (status, record["parameter"]) == (0, 1) and record["counters"]["bank_conflicts"] < conflicts
    assert len(record["answer"]) == 32 and record["answer"] == record["answer_expected"]
    assert record["answer_count"] == 1024 and record["answer_off"] == []


def test_a_sweep_goes_through_parameters_and_grids(engine: Command, tmp_path: Path):
    table = tmp_path / "sweep.csv"
    status, _ = engine("sweep", "reduce_warp_shuffle", "--n", "4096", "--grid-sizes", "1", "4", "--device", "emulator",
                  "--csv", str(table))  # fmt: skip
    rows = list(csv.DictReader(table.read_text().splitlines()))
    assert status == 0
    assert [(row["Blocks asked for"], row["Blocks"], row["Elements per thread"]) for row in rows] == [
        ("1", "1", "32"), ("4", "4", "8")
    ]  # fmt: skip
    status, printed = engine(
        "sweep", "banks_strided", "--n", "256", "--parameter", "1", "2", "64", "--device", "emulator", "--json"
    )
    found = json.loads(printed)
    assert status == 2
    assert [(row["parameter"], row["status"]) for row in found] == [(1, "ok"), (2, "ok"), (64, "refused")]
    assert "cannot be 64" in found[2]["reason"]


def test_a_sweep_writes_every_cell_also_the_refused_ones(engine: Command, tmp_path: Path):
    table = tmp_path / "sweep.csv"
    status, _ = engine("sweep", "reduce_strided", "reduce_sequential", "--n", "1000", "--block-sizes", "32", "33",
                  "--device", "emulator", "--csv", str(table))  # fmt: skip
    assert status == 2
    lines = table.read_text().splitlines()
    assert len(lines) == 5 and sum("refused" in line for line in lines) == 2


def test_the_doctor_prints_a_line_for_each_check_and_fix(engine: Command):
    status, printed = engine("doctor", "--json")
    checks = json.loads(printed)
    assert status == (0 if all(check["ok"] or check["optional"] for check in checks) else 1)
    assert engine("doctor", "--server", "http://127.0.0.1:1")[0] == 1
    assert {check["name"] for check in checks} >= {"Python", "NVRTC", "GPU"}
    assert all(check["ok"] or check["fix"] for check in checks)


def test_why_a_kernel_is_fast_needs_no_gpu(engine: Command):
    status, printed = engine("code", "reduce_sequential", "--n", "2^20", "--block-size", "128", "--json")
    record = json.loads(printed)
    (kernel,) = record["kernels"]
    assert status == 0 and (record["architecture"], record["n"], kernel["threads"]) == ("sm_90", 2**20, 128)
    assert kernel["occupancy"]["blocks"] == 16 and kernel["code"]["loop"]["multiply_adds"] == {}
    assert record["profiled"]["device"] == "NVIDIA H200" and record["roofline"]["bound_by"] == "memory"
    status, printed = engine("code", "reduce_sequential", "--n", "2^20", "--block-size", "128")
    assert status == 0 and "16 blocks, 64 warps an SM of an NVIDIA H200: occupancy 100%" in printed


def test_a_rung_of_the_cpu_has_no_machine_code(engine: Command):
    assert engine("code", "trapezoid_scalar")[0] == 2


CLEARS = "\x1b[2J\x1b[31m\x07\r\x9b31m\u202e"


def test_no_command_prints_what_a_terminal_obeys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "mine.cu"
    file.write_text(f"#error {CLEARS}gone\n__global__ void k(int *x) {{ x[0] = 1; }}\n", encoding="utf-8")
    progress.save(f"Ada{CLEARS}", "first-saxpy", "answer", "right")
    for command in (["check", str(file)], ["grade", "first-saxpy", str(tmp_path)], ["progress", "first-saxpy"],
                    ["emulate", str(file), "--grid", "1", "--block", "1", "--arg", "int32[1]"],
                    ["sheets", f"x{CLEARS}"], ["run", f"x{CLEARS}"]):  # fmt: skip
        with suppress(SystemExit):
            main(command)
        said = "".join(capsys.readouterr())
        assert said and not set(said) & set(CLEARS) - set("[2J31m"), command
    assert printable("é \t\n日本 😀 → `x`") == "é \t\n日本 😀 → `x`" and printable("\r\n\r") == "\n\\r"


REFUSED = ("run nope", "code nope", "sweep nope", "emulate nope.cu", "check nope.cu", "sheets nope", "sheets --try",
           "grade nope nope", "progress nope", "progress --csv x.csv", "store restore nope.zip", "claims nope",
           "warm nope", "run reduce_sequential --n 0 --device emulator", "code reduce_sequential --source /dev/null",
           *(f"{command} {'9' * 400}" for command in ("sheets", "progress", "grade first-saxpy")))  # fmt: skip


@pytest.mark.parametrize("command", REFUSED)
def test_a_refusal_is_one_line_on_standard_error(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command.split()) == 2
    out, errors = capsys.readouterr()
    assert out == "" and len(errors.splitlines()) == 1
