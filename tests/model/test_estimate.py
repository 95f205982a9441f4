"""Estimates: their parts, their band, what would pay, and where the model knows nothing."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.catalogue import KERNELS, default_choice
from engine.catalogue.gpu_models import GPU_MODELS
from engine.commands import main
from engine.history.recordings import KEY
from engine.model import estimate as model
from engine.model.estimate import PARTS, WHAT_IFS, Estimate, anchored, estimate, gpu
from engine.model.rungs import estimated, gpu_of_record, known
from engine.model.sample import known_costs, runs_in_seconds, usual_keys
from engine.plan import key, settle
from engine.records import NotRunnable

H200 = "NVIDIA H200"


def of(kernel: str, on: str = H200) -> Estimate:
    found = known(settle(replace(default_choice(kernel), device="emulator")), on)
    assert found is not None
    return found


@pytest.mark.parametrize("kernel", ["reduce_interleaved", "matmul_tiled", "transpose_naive", "histogram_global"])
def test_the_parts_add_up_to_the_time_within_the_band(kernel: str) -> None:
    found = of(kernel)
    assert found.time_us is not None and found.low_us is not None and found.high_us is not None
    assert found.low_us <= found.time_us <= found.high_us
    assert found.parts.keys() <= PARTS.keys() and found.what_ifs.keys() <= WHAT_IFS.keys()
    assert sum(found.parts.values()) == pytest.approx(found.time_us)
    assert all(0 < value < found.time_us for value in found.what_ifs.values())
    assert found.largest in found.parts and found.line is not None


@pytest.mark.parametrize(("launching", "named"), [(0.1, "The largest part: "), (6.0, "part beside launching (60%): ")])
def test_the_largest_part_is_called_so_if_launching_is_not_larger(launching: float, named: str) -> None:
    parts = {"launch": launching, "atomics": 4.0}
    made = replace(of("reduce_interleaved"), time_us=10.0, parts=parts, largest="atomics", line=3)
    assert re.search(re.escape(f"{named}Atomics, 40%, ") + r"[^.]* line 3\.", made.sentences[1])


def test_what_would_pay_is_what_the_next_rung_mends() -> None:
    assert "conflicts" in of("reduce_strided").what_ifs and "conflicts" not in of("reduce_sequential").what_ifs
    assert "coalesced" in of("transpose_naive").what_ifs and "coalesced" not in of("transpose_padded").what_ifs


def test_a_gpu_without_records_has_a_wider_band_and_says_so() -> None:
    own, other = gpu(), gpu(GPU_MODELS["a100"])
    assert other.constants["dram_bytes"] < own.constants["dram_bytes"] and "no runs recorded" in other.origin
    assert all(low < mine and high > its for (_, low, high), (_, mine, its) in zip(other.bands, own.bands, strict=True))
    assert of("reduce_interleaved", "NVIDIA A100 80 GB").time_us != of("reduce_interleaved").time_us


def test_a_recording_names_its_gpu() -> None:
    assert gpu_of_record("NVIDIA H100 80GB HBM3").name == "NVIDIA H100 SXM"
    assert gpu_of_record("NVIDIA GeForce RTX 4090").name == "NVIDIA RTX 4090"
    assert gpu_of_record(None).name == gpu_of_record("an unknown GPU").name == H200


def test_a_rung_is_estimated_as_its_kept_costs_say() -> None:
    choice = settle(replace(default_choice("reduce_sequential"), n=1 << 14, device="emulator"))
    found = estimated(choice, H200)
    kept = known_costs().get(key(choice))
    assert found.time_us and found.line
    if kept is not None:
        assert estimate(kept, gpu()).time_us == pytest.approx(found.time_us)


def test_an_edited_rung_is_anchored_at_its_record() -> None:
    costs = known_costs()
    before, after = (costs[key(settle(default_choice(name)))] for name in ("reduce_interleaved", "reduce_strided"))
    found = anchored(after, before, 50.0, gpu())
    own, first = estimate(after, gpu()), estimate(before, gpu())
    assert own.time_us and first.time_us and own.high_us and found.high_us and found.time_us
    assert found.anchored and found.time_us == pytest.approx(50.0 * own.time_us / first.time_us)
    near = anchored(before, before, 50.0, gpu())
    assert near.high_us and near.high_us / 50.0 < found.high_us / found.time_us <= own.high_us / own.time_us * 1.01
    assert sum(found.parts.values()) == pytest.approx(found.time_us)


def test_the_model_refuses_loops_that_wait_and_tensor_cores() -> None:
    (first, *_) = known_costs()[key(settle(default_choice("reduce_interleaved")))].launches
    for changed in (
        replace(first, spins=True),
        replace(first, prints=True),
        replace(first, issued={**first.issued, "matrix": 8}),
    ):
        found = estimate(model.RunCosts((changed,), 0), gpu())
        assert found.time_us is None and found.reason and first.kernel in found.reason and not found.parts
        assert found.sentences == (found.reason,)
    huge = replace(first, memory={**first.memory, "shared_load_wavefronts": 1e15})
    assert estimate(model.RunCosts((huge,), 0), gpu()).time_us is None


SAXPY = """
extern "C" __global__ void saxpy(float a, const float *x, float *y, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        y[i] = a * x[i] + y[i];
}
"""


def test_a_run_of_any_kernel_has_an_estimate() -> None:
    x = np.ones(4096, np.float32)
    run = engine.kernel(SAXPY).run((16,), (256,), (2.0, x, x.copy(), 4096))
    found = run.estimate
    assert found.time_us and found.gpu == H200 and found is run.estimate
    assert found.line == 6
    other = engine.kernel(SAXPY).run((16,), (256,), (2.0, x, x.copy(), 4096), gpu="Tesla V100").estimate
    assert other.gpu == "NVIDIA Tesla V100" and other.time_us and "no runs recorded" in other.origin
    with pytest.raises(NotRunnable):
        _ = engine.kernel(SAXPY).run((16,), (256,), (2.0, x, x.copy(), 4096), gpu="lecture").estimate


def test_a_kernel_that_prints_has_no_estimate() -> None:
    text = SAXPY.replace("y[i] = a", 'if (i == 3) printf("%d", i), y[i] = a')
    x = np.ones(64, np.float32)
    assert "prints" in str(engine.kernel(text).estimate((1,), (64,), (2.0, x, x.copy(), 64)).reason)


def test_an_array_that_changed_after_the_launch_has_no_estimate() -> None:
    x, kernel = np.ones(4096, np.float32), engine.kernel(SAXPY)
    run = kernel.run((16,), (256,), (2.0, x, x.copy(), 4096))
    x[7] = 3
    with pytest.raises(NotRunnable, match=r"\bx was changed after"):
        _ = run.estimate
    assert kernel.estimate((16,), (256,), (2.0, x, x.copy(), 4096)).time_us


def test_emulate_prints_the_estimate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "saxpy.cu"
    file.write_text(SAXPY)
    words = ["emulate", str(file), "--grid", "16", "--block", "256", "--arg", "2.0", "--arg", "float32[4096]",
             "--arg", "float32[4096]", "--arg", "4096", "--estimate"]  # fmt: skip
    assert main([*words, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["estimate"]
    assert found["low_us"] < found["time_us"] < found["high_us"] and found["parts"] and found["gpu"] == H200
    assert main(words) == 0
    assert "a model, not measured" in capsys.readouterr().out


def test_the_file_of_costs_has_every_rung_that_the_model_knows() -> None:
    costs = known_costs()
    asked = {each for each in usual_keys() if runs_in_seconds(KERNELS[each[0]], each[KEY.index("n")])}
    lacking = {each[0] for each in asked - costs.keys()}
    assert len(lacking) < len(asked) / 20, sorted(lacking)
