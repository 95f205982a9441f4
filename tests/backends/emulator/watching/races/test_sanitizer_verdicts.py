"""The emulator and compute-sanitizer agree on which kernels are clean, or the reason why not is said.

tests/gpu/sanitize.py records the verdicts of racecheck, synccheck, memcheck and initcheck on a GPU.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from engine.catalogue import KERNELS
from engine.records import RunFailed
from tests.backends.emulator.planted import Planted
from tests.backends.emulator.watching.races.test_planted_bugs import BUGS, found
from tests.gpu.sanitize import TOOLS, choice_of, digest, jobs
from tests.made import measure

VERDICTS = json.loads((Path(__file__).parents[4] / "golden" / "sanitizer.json").read_text())["results"]

# What the emulator finds and the tool cannot: the tool looks for these only elsewhere.
ONLY_EMULATED = {
    "global-race": "racecheck watches shared memory only",
    "uninitialised-shared": "initcheck watches global memory only",
}
# Single disagreements, as recorded: the tool reported nothing.
SINGLE = {
    "barrier_in_a_loop_of_different_lengths": "synccheck says nothing of threads at different turns of a loop",
    "shared_atomic_before_zero": "racecheck says nothing of an atomic beside a plain store",
    "shared_atomic_read_too_early": "racecheck says nothing of an atomic beside a plain read",
    "shared_before_the_start": "memcheck says nothing of an access below the block's shared memory",
    "shuffle_of_absent_lanes": "synccheck says nothing of a shuffle that names lanes which are elsewhere",
    "shuffle_tree_too_high": "synccheck says nothing of a shuffle that reads a lane which is elsewhere",
    "syncwarp_of_absent_lanes": "synccheck says nothing of a __syncwarp that names lanes which are elsewhere",
    "spin_lock_in_a_warp": "the GPU schedules lanes independently and finishes; lockstep, as emulated here, never does",
    "warp_tail_one_syncwarp": "racecheck says nothing of a write that may overtake a read in the same step",
}
# The other way round: the tool complains of a kernel that is right.
_UNEQUAL = (
    "racecheck takes two lines with a __syncthreads() between them for unordered where slices have passed their named "
    "barriers unequally often before; "
)
ACCUSED = {
    "matmul_fitted_pieces": _UNEQUAL + "at 45 two of the slices have two phases, the others one",
    "matmul_stream_k": _UNEQUAL + "200 runs at each of five widths were right",
}
# Newer than the last session with the tools on a GPU.
NOT_JUDGED: set[str] = set()


def complaints(name: str) -> dict[str, str]:
    """Tool -> verdict of those that did not find the kernel clean."""
    tools = VERDICTS[name]["tools"]
    return {tool: said["verdict"] for tool, said in tools.items() if said["verdict"] != "clean"}


def emulated(name: str) -> set[str]:
    """Return the kinds of findings at the tool's size; with independent lanes, as on the GPU, if lockstep
    never ends."""
    judged = choice_of(name)
    assert judged is not None
    choice = replace(judged, device="emulator")
    try:
        return {finding.kind for finding in measure(choice).findings}
    except RunFailed as failure:
        assert failure.status == "deadlock" and KERNELS[name].expect == "deadlock", str(failure)
        return {finding.kind for finding in measure(choice, schedule="independent:1").findings}


@pytest.mark.sampled(quick=0, thorough=18)
@pytest.mark.parametrize("name", [name for name in KERNELS if name in VERDICTS])
def test_both_agree_on_a_kernel_of_the_catalogue(name: str) -> None:
    kinds = emulated(name)
    agree = bool(complaints(name)) == bool(kinds - set(ONLY_EMULATED))
    assert agree != (name in ACCUSED), (complaints(name), kinds)


@pytest.mark.thorough
def test_every_tool_judged_all_of_the_catalogue_and_every_planted_bug() -> None:
    wanted = jobs(TOOLS, set(), 1)
    missing = [(job.name, job.tool) for job in wanted if job.tool not in VERDICTS.get(job.name, {}).get("tools", {})]
    assert {name for name, _ in missing} == NOT_JUDGED, (
        f"run tests/gpu/sanitize.py on a GPU: it does what is missing, {missing[:6]}"
    )
    sound = {bug.name for bug in BUGS if bug.correct} | set(KERNELS)
    for job in wanted:
        if job.name in NOT_JUDGED:
            continue
        verdict = VERDICTS[job.name]["tools"][job.tool]["verdict"]
        assert verdict not in ("failed", "timeout") or job.name not in sound, (job, verdict)


@pytest.mark.thorough
def test_the_code_that_was_judged_is_todays_and_a_comment_does_not_count() -> None:
    planted = {bug.name: bug for bug in BUGS}
    changed = {name for name, entry in VERDICTS.items() if entry["digest"] != digest(name, planted)}
    assert changed == set(), "run tests/gpu/sanitize.py on a GPU: it judges them again"
    bug = BUGS[0]
    for words, same in (("// a comment\n", True), ("int more;\n", False)):
        other = {bug.name: replace(bug, text=words + bug.text)}
        assert (digest(bug.name, other) == digest(bug.name, planted)) == same


@pytest.mark.sampled(quick=0, thorough=3)
@pytest.mark.parametrize("bug", [pytest.param(bug, id=bug.name) for bug in BUGS])
def test_both_agree_on_a_planted_bug_and_its_correct_twin(bug: Planted) -> None:
    kinds = found(bug)
    agree = bool(complaints(bug.name)) == bool(kinds - set(ONLY_EMULATED))
    assert agree != (bug.name in SINGLE), (complaints(bug.name), kinds)


@pytest.mark.thorough
def test_a_correct_kernel_is_clean_for_both() -> None:
    correct = [bug for bug in BUGS if bug.correct]
    assert correct
    for bug in correct:
        assert not complaints(bug.name) and not found(bug), bug.name
