"""What a check makes of a run: the sentence, and what is not run at all."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.lab.trial_arrays import ORDERS
from engine.lectures.claim import STATUS, Counted, Findings, TimeRatio
from engine.model.estimate import gpu, no_estimate
from engine.records import Check, Choice, Counts, Finding, Measurement, Timing
from engine.sheets.judging import (
    Answer,
    Asked,
    Estimation,
    Submission,
    passed,
    verdicts,
)
from engine.sheets.sheet import Check as SheetCheck
from engine.sheets.sheet import Limit, Question, Runs, Sheet, Verdict
from tests.sentences import says, sentence

SEQUENTIAL = "reduce_sequential"
RUNS = Runs((4096, 100), (32, 64), ("int32",))
CHECKS = (
    SheetCheck("answer", "Right.", "Look at the border.", STATUS, (Limit("one of", ("ok", "hazard")),), RUNS),
    SheetCheck("findings", "Safe.", "Wait.", Findings(), (Limit("equals", 0),), RUNS),
    SheetCheck("banks", "No.", "Use neighbours.", Counted("bank_conflicts"), (Limit("at most", 0),), RUNS),
    SheetCheck("barriers", "Few.", "Wait less.", Counted("barriers"), (Limit("at most", None, SEQUENTIAL),), RUNS),
    SheetCheck(
        "time", "Fast.", "Count.", TimeRatio(medians=True), (Limit("at least", 2.0, "reduce_interleaved"),), RUNS
    ),
)


def sheet(*checks: SheetCheck | Question) -> Sheet:
    return Sheet(
        "s",
        "S",
        "",
        "",
        "ours",
        "course",
        "",
        checks or CHECKS,
        (),
        "",
        (),
        "reduce_strided",
        None,
        "start",
        "solution",
        (),
    )


class Fake:
    """Runs that end as they are told to; of our own kernels always well. `times`: the estimated time of the kernel
    beside the file's, in times of the file's; None: there is no estimate."""

    def __init__(self, status: str = "ok", at: int = 100, times: float | None = 2.5, **counters: float) -> None:
        self.status, self.at, self.times, self.counters, self.asked = status, at, times, counters, []

    def __call__(self, asked: Asked) -> Answer:
        if isinstance(asked, Estimation):
            if self.times is None:
                return no_estimate("It waits.", gpu())
            time = 10.0 if asked.choice.source else 10.0 * self.times
            return replace(no_estimate("", gpu()), time_us=time, reason=None, line=3)
        return self.ran(asked)

    def ran(self, choice: Choice) -> Measurement:
        self.asked.append(choice)
        own = choice.source is not None
        bad = own and choice.n == self.at and self.status != "ok"
        counters = self.counters if own else {"barriers": 8.0}
        return Measurement(
            choice,
            {"kind": choice.device, "name": None},
            self.status if bad else "ok",
            f"It is {self.status}." if bad else None,
            check=Check(not bad, 1, 1, 0, 0),
            timing=Timing((10.0,), 10.0 if own else 25.0, 9.0, 11.0) if choice.device == "gpu" else None,
            counts=Counts({"barriers": 8.0, "shared_load_conflicts": 0, "shared_store_conflicts": 0, **counters}),
            findings=(Finding("warp-race", 7, 8, "Line 7: a race."),) if bad and self.status == "hazard" else (),
        )


def judged(run: Fake, *, gpu: bool = False) -> dict[str, Verdict]:
    return {verdict.check: verdict for verdict in verdicts(sheet(), Submission("text"), run, gpu)}


def test_a_good_file_passes_and_without_a_gpu_its_time_is_estimated() -> None:
    run = Fake()
    found = judged(run)
    assert passed(found.values())
    assert found["time"].passed and found["time"].value == pytest.approx(2.5)
    assert says("sheets.estimated", found["time"].sentence)
    assert found["answer"].sentence == "Right in 6 runs."
    assert len(run.asked) == len(set(run.asked)) == 10, "six of the file and four of the kernel beside it, each once"


@pytest.mark.parametrize("order", ORDERS)
def test_an_answer_that_is_right_in_one_order_alone_is_wrong(order: str) -> None:
    class InOrder(Fake):
        def ran(self, choice: Choice) -> Measurement:
            self.at = choice.n if choice.schedule == order else 0
            return super().ran(choice)

    found = judged(InOrder("wrong"))["answer"]
    assert found.passed is False and order in found.sentence


HOSTED = """#include <iostream>
#include "common.h"
__global__ void reduce_strided(int *out) { *out = 1; }
int main() { std::cout << 1; }
"""


def test_the_host_code_of_a_file_does_not_run() -> None:
    run = Fake()
    found = [*verdicts(sheet(CHECKS[0]), Submission(HOSTED), run)]
    (text,) = {choice.source for choice in run.asked}
    assert passed(found) and str(text).split("\n")[2] == 'extern "C" ' + HOSTED.split("\n")[2]
    assert all(word not in str(text) for word in ("main", "iostream", "common.h"))


PLAIN = "__global__ void reduce_strided(int *out)"
NAMED = f'extern "C" {PLAIN}'
LINKAGE = {
    f"int a;\n{PLAIN};\n{PLAIN} {{}}": f"int a;\n{NAMED};\n{NAMED} {{}}",
    f"namespace lab {{ {PLAIN} {{}} }}": f"namespace lab {{ {NAMED} {{}} }}",
    f"{NAMED} {{}}": f"{NAMED} {{}}",
    f"template <int N> {PLAIN} {{}}": f"template <int N> {PLAIN} {{}}",
    f"static {PLAIN} {{}}": f"static {PLAIN} {{}}",
    "__global__ void other() {}": "__global__ void other() {}",
}


@pytest.mark.parametrize("text", LINKAGE)
def test_a_kernel_need_not_be_extern_c(text: str) -> None:
    run = Fake()
    assert passed(verdicts(sheet(CHECKS[0]), Submission(text), run))
    assert {choice.source for choice in run.asked} == {LINKAGE[text]}


def test_a_word_that_a_check_forbids_is_named_with_its_line() -> None:
    one = sheet(replace(CHECKS[2], without=("atomicAdd",)))

    def found(text: str) -> Verdict:
        return next(verdicts(one, Submission(text), Fake()))

    assert found("// no atomicAdd\n/*\natomicAdd */ atomic_add(); myatomicAdd();").passed
    other = found("/*\n*/\n  atomicAdd(a, 1);")
    assert other.passed is False and other.line == 3 and "`atomicAdd`" in other.sentence
    assert "`atomicAdd_block`" in found("atomicAdd_block(a, 1);").sentence
    split = found("\n  atom\\\nicAdd(a, 1);")
    assert split.passed is False and split.line == 2 and "`atomicAdd`" in split.sentence


@pytest.mark.parametrize("paste", ["##", "%:%:"])
def test_a_name_that_is_pasted_together_may_be_a_forbidden_one(paste: str) -> None:
    text = f"// a ## b\n#define GLUE(a, b) a{paste}b\nGLUE(atomic, Add)(a, 1);"
    (found,) = verdicts(sheet(replace(CHECKS[2], without=("atomicAdd",))), Submission(text), Fake())
    assert found.passed is False and found.line == 2 and f"`{paste}`" in found.sentence
    assert next(verdicts(sheet(CHECKS[2]), Submission(text), Fake())).passed


def test_each_type_is_tried_in_other_orders() -> None:
    run, runs = Fake(), replace(RUNS, dtype=("int32", "float32"))
    assert passed(verdicts(sheet(replace(CHECKS[0], runs=runs)), Submission("text"), run))
    again = [(choice.dtype, choice.schedule) for choice in run.asked if choice.schedule]
    assert again == [(dtype, order) for dtype in runs.dtype for order in ORDERS]


def test_a_hazard_of_an_allowed_kind_does_not_count() -> None:
    def found(*allowed: str) -> Verdict:
        one = replace(CHECKS[1], quantity=Findings(allowed))
        return next(verdicts(sheet(one), Submission("text"), Fake("hazard")))

    assert found().passed is False and found().line == 7 and found("shared-race").passed is False
    assert found("warp-race").passed and found("warp-race").line is None


def test_a_hazard_is_told_by_the_findings_and_not_by_an_order() -> None:
    run = Fake("hazard")
    assert judged(run)["answer"].passed and all(choice.schedule is None for choice in run.asked)


def test_an_estimate_far_below_the_ratio_fails_and_a_close_one_decides_nothing() -> None:
    far, close, unknown = (judged(Fake(times=times))["time"] for times in (1.5, 1.9, None))
    assert far.passed is False and far.line == 3 and says("sheets.estimated-slow", far.sentence)
    assert close.passed is None and says("sheets.estimated-close", close.sentence)
    assert unknown == Verdict("time", None, "Not estimated: It waits.")


def test_on_a_gpu_the_ratio_counts() -> None:
    found = judged(Fake(), gpu=True)
    assert found["time"].passed and (found["time"].value, found["time"].limit) == (2.5, 2)


@pytest.mark.parametrize("status", ["wrong", "hazard"])
def test_what_misses_another_check_is_not_timed(status: str) -> None:
    run = Fake(status)
    found = judged(run, gpu=True)
    assert not passed(found.values()) and found["time"].passed is None
    assert not any(choice.device == "gpu" for choice in run.asked)


def test_what_the_emulator_has_not_tried_is_not_timed() -> None:
    run = Fake()
    (verdict,) = verdicts(sheet(CHECKS[-1]), Submission("text"), run, gpu=True)
    assert verdict.passed is None and run.asked == []


def test_a_sentence_says_where_what_and_what_next() -> None:
    wrong = judged(Fake("wrong", at=4096))
    assert wrong["answer"].sentence == "N = 2^12, block size 32: It is wrong. Look at the border."
    assert says("sheets.counts-of-a-wrong-answer", wrong["banks"].sentence)
    hazard = judged(Fake("hazard"))
    assert hazard["answer"].passed and hazard["findings"].line == 7
    assert hazard["findings"].sentence == "N = 100, block size 32: Line 7: a race. Wait."


def test_a_sentence_names_the_type_of_several_and_the_macro_of_a_kernel() -> None:
    runs = replace(RUNS, n=(100,), block_size=(32,), dtype=("float32", "int32"), parameter=(4,))
    counted = replace(sheet(replace(CHECKS[2], runs=runs)), kernel="histogram_shared")
    (found,) = verdicts(counted, Submission("text"), Fake(shared_load_conflicts=3.0))
    assert found.sentence.startswith("N = 100, block size 32, float32, BINS = 4: ")


@pytest.mark.parametrize("status", ["compile-error", "timeout", "crashed"])
def test_after_a_run_that_ends_a_file_no_other_is_tried(status: str) -> None:
    run = Fake(status)
    found = judged(run)
    assert [choice.n for choice in run.asked] == [100]
    assert all(verdict.sentence == f"It is {status}." for verdict in found.values() if verdict.passed is False)


@pytest.mark.parametrize("status", ["ok", "wrong"])
def test_what_misses_a_check_is_not_run_for_long(status: str) -> None:
    """A search by one thread alone took minutes at sizes at which all threads take seconds."""
    run = Fake(status, at=4096, warp_instructions=40_000.0)
    large = replace(CHECKS[2], name="large", runs=replace(RUNS, n=(70_000,), block_size=(32, 64)))
    found = {one.check: one for one in verdicts(sheet(CHECKS[0], large, *CHECKS[1:3]), Submission("text"), run)}
    assert found["large"].passed == (status == "ok") == any(choice.n == 70_000 for choice in run.asked)
    assert status == "ok" or sentence("sheets.not-run", found["large"].sentence)
    assert found["findings"].passed, "it needs one short run more"


@pytest.mark.parametrize("status", ["compile-error", "timeout", "crashed"])
def test_a_file_that_ended_is_told_why_and_not_that_it_takes_long(status: str) -> None:
    """With a few elements a type compiled, the next one did not: "too many instructions" was false."""
    run = Fake(status, at=4096, warp_instructions=40_000.0)
    large = replace(CHECKS[1], name="large", runs=replace(RUNS, n=(70_000,)))
    found = [*verdicts(sheet(CHECKS[0], large), Submission("text"), run)]
    assert [one.sentence for one in found] == [f"It is {status}."] * 2


def test_a_grid_with_more_threads_than_elements_is_no_long_run_of_few() -> None:
    """20 blocks ran for one element, which made 5,000 elements seem too many."""
    runs = replace(RUNS, n=(1, 5000), block_size=(32,))
    checks = [replace(CHECKS[0], runs=replace(runs, grid_size=(200,))), replace(CHECKS[1], runs=runs)]
    run = Fake("wrong", at=1, warp_instructions=20_000.0)
    assert [one.passed for one in verdicts(sheet(*checks), Submission("text"), run)] == [False, True]


def test_a_wrong_run_of_one_element_does_not_make_others_too_long() -> None:
    """A whole block runs for one element: 1,500 instructions for each of 5,000 elements would be too many."""
    runs = replace(RUNS, n=(1, 100, 5000), block_size=(512,))
    checks = [replace(check, runs=runs) for check in CHECKS[:2]]
    run = Fake("wrong", at=1, warp_instructions=1500.0)
    found = {one.check: one for one in verdicts(sheet(*checks), Submission("text"), run)}
    assert found["answer"].passed is False and found["findings"].passed
    assert 5000 in [choice.n for choice in run.asked]


def test_a_counter_is_compared_with_a_number_or_with_a_kernel() -> None:
    found = judged(Fake(shared_load_conflicts=3.0, barriers=9.0))
    assert (found["banks"].value, found["banks"].limit) == (3, 0)
    assert (found["barriers"].value, found["barriers"].limit) == (9, 8)
    assert found["barriers"].sentence.endswith("Barriers: 9 (at most 8 allowed, as in reduce_sequential). Wait less.")


def test_a_seed_draws_one_more_run_at_another_n() -> None:
    ran = []
    for seed in (1, 1, 2):
        run = Fake()
        assert [one.passed for one in verdicts(sheet(CHECKS[0]), Submission("text"), run, seed=seed)] == [True]
        ran.append([choice.n for choice in run.asked])
    assert ran[0] == ran[1] != ran[2] and len(ran[0]) == 5 + len(ORDERS)
    assert 100 < ran[0][4] < 4096
    one_size = replace(CHECKS[0], runs=replace(RUNS, n=(100,)))
    run = Fake()
    assert len([*verdicts(sheet(one_size), Submission("text"), run, seed=1)]) == 1 and len(run.asked) == 2 + len(ORDERS)


def test_blocks_take_turns_in_a_run_with_few_of_them() -> None:
    """With 66,000 elements in blocks of 32 a check took 6 s, and 20 s on a busy computer, where it was stopped."""
    run = Fake()
    check = replace(CHECKS[0], runs=replace(RUNS, n=(5000, 66000, 70000), block_size=(32,)))
    assert next(verdicts(sheet(check), Submission("text"), run)).passed
    asked = {choice.schedule: (choice.n, choice.block_size) for choice in run.asked if choice.schedule}
    assert asked == {"independent:1": (66000, 32), "waves:1": (5000, 32)}


def test_questions_alone_need_no_file() -> None:
    asked = Question("why", "Why?", "No.", (), 2.0, 0.0, "Because.")
    (verdict,) = verdicts(sheet(asked), Submission(None, {"why": "2"}), Fake())
    assert verdict.passed
    (verdict,) = verdicts(sheet(CHECKS[0]), Submission(None), Fake())
    assert sentence("sheets.no-file", verdict.sentence)


def test_the_drawn_n_is_none_of_those_that_the_sheet_shows() -> None:
    shown = Runs((1, 3, 5, 100), (32,), ("int32",))
    only = {Runs((1, 2, 3, 5), (32,), ("int32",)).drawn(str(seed)) for seed in range(9)}
    assert {runs.n for runs in only if runs} == {(4,)}
    found = {runs.n[0] for seed in range(2000) if (runs := shown.drawn(str(seed)))}
    assert found == {*range(2, 100)} - {3, 5}
    assert Runs((1, 2, 3), (32,), ("int32",)).drawn("0") is None


class AtOneSize(Fake):
    """What counts well at the sizes of a check alone."""

    def ran(self, choice: Choice) -> Measurement:
        self.counters = {"barriers": 0.0 if choice.n in (64, 1000) else 99.0}
        return super().ran(choice)


def counted(limit: Limit, counter: str = "barriers", n: int = 1000, block_size: int = 64) -> SheetCheck:
    return replace(CHECKS[3], quantity=Counted(counter), limits=(limit,), runs=Runs((n,), (block_size,), ("int32",)))


@pytest.mark.parametrize(
    ("limit", "smallest", "largest"),
    [(Limit("at most", 0.0), 500, 1000), (Limit("at most", None, SEQUENTIAL), 500, 1500),
     (Limit("at most", None, SEQUENTIAL, 1.1), 500, 1500)],
)  # fmt: skip
def test_a_counter_is_looked_at_near_the_size_that_the_sheet_shows(limit: Limit, smallest: int, largest: int) -> None:
    """A kernel tested for n == 5000 and did as the sheet asks at that size alone."""
    sizes = set()
    for seed in range(40):
        run = AtOneSize()
        (found,) = verdicts(sheet(counted(limit)), Submission("text"), run, seed=seed)
        own = {choice.n for choice in run.asked if choice.source}
        assert found.passed is False and len(own) == 2
        sizes |= own - {1000}
    assert smallest <= min(sizes) and max(sizes) <= largest and len(sizes) > 5
    assert all((1000 - n) % 64 == 0 for n in sizes), "the last block stays as full as it was"
    assert next(verdicts(sheet(counted(limit)), Submission("text"), AtOneSize())).passed, "without a seed"


@pytest.mark.parametrize(
    "check",
    [counted(Limit("at least", 0.0)), counted(Limit("at most", 0.0), n=32),
     counted(Limit("at most", 1.0), "busiest_warp_share")],
)  # fmt: skip
def test_a_number_that_another_size_would_not_reach_is_no_limit_there(check: SheetCheck) -> None:
    run = Fake(barriers=0.0, busiest_warp_instructions=1.0, warp_instructions=2.0)
    assert next(verdicts(sheet(check), Submission("text"), run, seed=1)).passed
    assert {choice.n for choice in run.asked} == {*check.runs.n}


@pytest.mark.parametrize(("count", "good"), [(7.0, True), (5.0, False), (10.0, True), (11.0, False)])
def test_near_that_size_a_border_may_cost_a_quarter(count: float, good: bool) -> None:
    """A thread without an element may leave out its store."""

    class AtTheBorder(Fake):
        def ran(self, choice: Choice) -> Measurement:
            self.counters = {"barriers": 8.0 if choice.n == 1000 else count}
            return super().ran(choice)

    exact = replace(counted(Limit("at most", None, SEQUENTIAL)), limits=(
        Limit("at least", None, SEQUENTIAL), Limit("at most", None, SEQUENTIAL)))  # fmt: skip
    assert next(verdicts(sheet(exact), Submission("text"), AtTheBorder(), seed=1)).passed is good


def test_a_size_of_one_block_differs_by_warps() -> None:
    run = AtOneSize()
    assert not next(verdicts(sheet(counted(Limit("at most", 0.0), n=64)), Submission("text"), run, seed=1)).passed
    assert [choice.n for choice in run.asked] == [64, 32]


def test_hazards_are_looked_for_at_a_drawn_size_that_the_answer_has_too() -> None:
    run = Fake()
    assert passed(verdicts(sheet(*CHECKS[:2]), Submission("text"), run, seed=1))
    assert len({choice.n for choice in run.asked}) == 3
