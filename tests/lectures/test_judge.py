"""Every claim of the lectures, against exact counts, recorded times and the way runs end."""

import ast
import csv
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

from engine.backends.measure import failed
from engine.catalogue import KERNELS, LADDERS, published
from engine.history.history import recorded_for
from engine.lectures import judge
from engine.lectures.claim import LECTURES, TIMES, Claim, Computed, Counted, FastestBlock, Status, TimeRatio, Untestable
from engine.lectures.judge import CLAIMS, claims_of, counted, runs, said, verdict
from engine.plan import plan
from engine.records import Choice, Measurement, NotRunnable, RunFailed
from engine.records.counters import IN_JSON
from tests.cases import case
from tests.made import measure, recorded_kernels

# The claims whose conditions an older recording may not hold: a chosen number of blocks, another way to combine.
MAYBE_UNRECORDED = {"gpu-wins-hekun", "occupancy", "resized"}

Every = Callable[[Callable[..., None]], Callable[..., None]]


@cache
def emulated(choice: Choice) -> Measurement:
    try:
        return measure(choice)
    except (RunFailed, NotRunnable) as error:
        return failed(choice, error)


def find(choice: Choice) -> Measurement | None:
    return recorded_for(choice) if choice.device == "gpu" else emulated(choice)


def param(claim: Claim) -> object:
    needs_runs = any(choice.device == "emulator" for choice in runs(claim))
    return case(claim, quick=not needs_runs, id=claim.name)


EVERY_CLAIM = pytest.mark.parametrize("claim", [param(claim) for claim in CLAIMS])
BY_NAME = {claim.name: claim for claim in CLAIMS}


@pytest.mark.sampled(quick=3, thorough=12)
@EVERY_CLAIM
def test_a_claim_holds_or_the_reason_why_not_is_known(claim: Claim):
    made = verdict(claim, find)
    if made is None and (claim.name in MAYBE_UNRECORDED or not recorded_kernels(runs(claim))):
        pytest.skip("not in this recording")
    assert made is not None
    assert made.as_known, f"{made.said} became {made.found}: {made.outcome}"
    assert made.holds or claim.why, "it does not hold, and no reason is given"


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.name)
def test_a_claim_belongs_to_a_ladder_with_its_kernels_and_is_said_in_sentences(claim: Claim):
    assert claim.ladder in LADDERS and claim.lecture in LECTURES and claim.slide
    rungs = [rung.kernel for rung in LADDERS[claim.ladder].rungs]
    assert not claim.runs or {choice.kernel for choice in runs(claim)} & set(rungs)
    assert {KERNELS[choice.kernel].topic for choice in runs(claim)} <= {LADDERS[claim.ladder].topic}
    assert claim.sentence[-1] in ".!)?" and (not claim.why or claim.why.endswith("."))
    assert said(claim) or claim.quantity == Untestable()
    for choice in runs(claim):
        kernel = KERNELS[choice.kernel]
        assert plan(choice).steps  # it can run as asked
        assert choice.dtype in kernel.dtypes and kernel.runs_with(choice.block_size)
        assert choice.parameter is None or choice.parameter in kernel.parameter.values
        assert choice.combine is None or choice.combine in kernel.combines
    assert (claim.today is None) == (claim.why == "") or claim.quantity == Untestable()
    assert bool(claim.cause) == (claim.today not in (None, "direction")), "the cause of words that do not hold"
    assert not claim.question or claim.question.endswith("?")
    match claim.quantity:
        case Counted() as count:
            assert count.over in IN_JSON and (count.under in IN_JSON or not count.under) and count.unit
            assert len(claim.runs) in (1, 2) and claim.relation in ("equals", "more than")
        case TimeRatio():
            assert (len(claim.runs) == 3) if claim.quantity.beyond else (claim.runs and len(claim.runs) % 2 == 0)
            assert claim.relation in ("more than", "equals", "about")
            assert claim.relation == "about" or claim.expected == 1
            assert claim.today in (None, "direction", "differs", "close")
        case FastestBlock():
            assert claim.expected in {choice.block_size for choice in claim.runs}
        case Status():
            assert len(claim.runs) == 1 and claim.relation == "one of" and claim.today not in claim.expected


def test_a_ratio_of_some_size_is_quoted_with_it_or_printed_in_a_table():
    sized = [claim for claim in CLAIMS if isinstance(claim.quantity, TimeRatio) and claim.relation == "about"]
    for claim in sized:
        table = claim.slide.startswith("Throughput") or "Performance for" in claim.slide
        assert table or re.search(r"\d|\bk\b", claim.sentence), f"{claim.name}: the quotation names no size"
    assert len(sized) > 20


def test_the_names_are_different_and_every_ladder_of_a_lecture_has_its_claims():
    assert len(BY_NAME) == len(CLAIMS) >= 144
    assert {claim.ladder for claim in claims_of("cs121-banks")} == {"cs121-banks"}
    assert claims_of("no such ladder") == ()
    without = [name for name in LADDERS if not claims_of(name) and not name.startswith("all-")]
    assert without == ["tensor-cores", "argmax", "transpose"]  # of which no lecture here says anything
    assert {claim.lecture for claim in CLAIMS} == set(LECTURES)


@pytest.mark.thorough
def test_a_wrong_claim_does_not_hold():
    wrong = verdict(replace(BY_NAME["one-segment"], expected=129), find)
    assert wrong is not None and not wrong.holds and not wrong.as_known and wrong.value == 128


def test_what_was_not_counted_is_an_error_and_not_a_number():
    found = emulated(Choice("copy_offset", 64, 32, device="emulator"))
    with pytest.raises(KeyError, match="no line with 'nowhere'"):
        counted(Counted("branches", line="nowhere"), found)
    with pytest.raises(KeyError, match="not counted"):
        counted(Counted("branches"), replace(found, counts=None))
    assert counted(Counted("global_load_requests"), found) == 2


def test_without_its_runs_a_claim_is_open():
    testable = [claim for claim in CLAIMS if not isinstance(claim.quantity, Computed | Untestable)]
    assert testable
    for claim in testable:
        assert verdict(claim, lambda choice: None) is None


def test_words_that_no_run_decides_say_why():
    made = verdict(BY_NAME["sync-is-expensive"])
    assert made.outcome == "untestable" and made.as_known and not made.holds


def test_counts_that_a_restart_forgot_leave_the_claim_open():
    claim = BY_NAME["tree-steps"]
    found = emulated(runs(claim)[0])
    assert verdict(claim, lambda choice: replace(found, counts=replace(found.counts, lines=()))) is None
    assert (
        verdict(
            claim, lambda choice: replace(found, counts=replace(found.counts, lines=())), lambda choice: found
        ).value
        == 7
    )


def timed(slow_us: float, fast_us: float, spread: float = 0.0, gpu: tuple[str, str] = ("A", "A"),
          said: float | None = None):  # fmt: skip
    pair = (Choice("reduce_strided", 64, 128), Choice("reduce_sequential", 64, 128))
    relation = {None: "more than", 1: "equals"}.get(said, "about")
    claim = Claim("t", "crovella", "s", "Words.", "harris", TIMES, relation, said or 1, pair)
    record = recorded_for(Choice("reduce_strided", 2**22, 128, device="gpu", combine="relaunch"))

    def find(choice: Choice) -> Measurement:
        first = choice.kernel == "reduce_strided"
        us = slow_us if first else fast_us
        device = {**record.device, "name": gpu[0 if first else 1]}
        timing = replace(record.timing, time_us=us, low_us=us * (1 - spread), high_us=us * (1 + spread))
        return replace(record, timing=timing, device=device)

    return verdict(claim, find)


@pytest.mark.parametrize(
    ("slow", "fast", "spread", "outcome"),
    [(2.0, 1.0, 0.0, "holds"), (1.0, 2.0, 0.0, "differs"), (1.01, 1.0, 0.0, "close"), (1.3, 1.0, 0.2, "close"),
     (0.995, 1.0, 0.0, "close"), (1.3, 1.0, 0.05, "holds")],
)  # fmt: skip
def test_times_decide_only_what_their_intervals_allow(slow: float, fast: float, spread: float, outcome: str):
    made = timed(slow, fast, spread)
    assert made.outcome == outcome
    assert made.as_known == (outcome == "holds" or 0.92 < slow / fast < 1.08)


@pytest.mark.parametrize(
    ("found", "said", "outcome"),
    [(16.0, 16.0, "holds"), (13.0, 16.0, "holds"), (12.0, 16.0, "direction"), (1.52, 16.0, "direction"),
     (1.07, 1.14, "direction"), (1.12, 1.14, "holds"), (2.4, 1.2, "direction"), (22.0, 16.0, "direction"),
     (0.8, 16.0, "differs"), (1.0, 16.0, "close"), (1.0, 1.0, "holds"), (1.05, 1.0, "holds"), (1.2, 1.0, "differs")],
)  # fmt: skip
def test_a_ratio_that_the_lecture_prints_must_come_out_as_large(found: float, said: float, outcome: str):
    assert timed(found, 1.0, said=said).outcome == outcome


@pytest.mark.parametrize(
    ("times", "ratio", "outcome"),
    [((110.0, 15.0, 10.0), 20.0, "holds"), ((60.0, 15.0, 10.0), 10.0, "direction"),
     ((12.0, 15.0, 10.0), 0.4, "differs"), ((110.0, 10.0, 10.0), None, None)],
)  # fmt: skip
def test_what_two_runs_take_beyond_a_third_is_compared(times: tuple[float, ...], ratio: float, outcome: str) -> None:
    names = ("reduce_interleaved", "reduce_strided", "reduce_sequential")
    quantity = TimeRatio(beyond=True, unit="the latency")
    claim = Claim(
        "b", "cs121", "s", "Words.", "harris", quantity, "about", 20, tuple(Choice(k, 64, 128) for k in names)
    )
    record = recorded_for(gpu_rung("reduce_strided"))

    def find(choice: Choice) -> Measurement:
        us = times[names.index(choice.kernel)]
        return replace(record, timing=replace(record.timing, time_us=us, low_us=us, high_us=us))

    made = verdict(claim, find)
    assert (made.outcome if made else None) == outcome and (made is None or made.value == pytest.approx(ratio))
    assert said(claim) == "20× the latency"


@pytest.mark.parametrize(
    ("number", "outcome"), [(5.4, "holds"), (5.5, "holds"), (12.0, "direction"), (1.2, "direction"), (0.5, "differs")]
)
def test_a_computed_number_may_be_about_as_large_as_the_lecture_says(number: float, outcome: str) -> None:
    claim = Claim("c", "cooper", "s", "Words.", "cooper", Computed(lambda: number, "minutes"), "about", 5.5)
    assert verdict(claim).outcome == outcome


@pytest.mark.parametrize("cause", ["error", "changed", "rules", "case"])
def test_a_verdict_says_why_words_do_not_hold(cause: str) -> None:
    claim = Claim("k", "cooper", "s", "Words.", "cooper", Computed(lambda: 2, "minutes"), "equals", 1, cause=cause)
    assert verdict(claim).kind == cause and verdict(replace(claim, expected=2)).kind == "holds"
    assert verdict(replace(claim, cause="")).kind == "differs"
    assert verdict(replace(claim, sentence="Why?")).kind == verdict(replace(claim, question="Why?")).kind == "answered"
    assert {"holds", "answered", "differs", cause} <= set(judge.KINDS)


def test_every_cause_and_a_question_is_among_the_claims() -> None:
    assert {claim.cause for claim in CLAIMS} == {"", "error", "changed", "rules", "case"}
    assert BY_NAME["exercise-first"].cause == BY_NAME["no-volatile"].cause == "rules"
    assert BY_NAME["halving-loop"].cause == "error" and BY_NAME["worst-case-segments"].cause == "changed"
    assert BY_NAME["why-syncthreads-load"].asks and not BY_NAME["lockstep"].asks


def test_the_gain_of_a_claim_is_that_of_the_figures_in_its_own_sentence() -> None:
    claim = BY_NAME["gpu-wins"]
    assert ".09" in claim.sentence and "five seconds" in claim.sentence and claim.expected == pytest.approx(5 / 0.09)


def test_no_two_claims_compare_the_same_runs_in_the_same_way() -> None:
    timed_pairs = [(claim.runs, claim.relation, claim.expected, claim.ladder) for claim in CLAIMS
                   if isinstance(claim.quantity, TimeRatio)]  # fmt: skip
    assert len(timed_pairs) == len(set(timed_pairs))


def test_times_of_two_machines_decide_nothing():
    assert timed(2.0, 1.0, gpu=("A", "B")) is None


def gpu_rung(kernel: str) -> Choice:
    return Choice(kernel, 2**22, 128, device="gpu", combine="relaunch")


@pytest.mark.parametrize(
    ("times", "outcome", "words"),
    [({64: 3.0, 128: 2.0, 256: 2.5}, "holds", "128 threads"), ({64: 3.0, 128: 2.0, 256: 1.0}, "differs", "2.00× as"),
     ({64: 3.0, 128: 1.01, 256: 1.0}, "holds", "256 threads; 128 take 1.01× as long"), ({64: 3.0}, None, "")],
)  # fmt: skip
def test_the_best_block_size_is_that_of_the_shortest_time(times: dict[int, float], outcome: str | None, words: str):
    tried = tuple(replace(gpu_rung("reduce_sequential"), block_size=size) for size in (64, 128, 256))
    claim = Claim("b", "heidelberg", "s", "maxThr: 128.", "heidelberg", FastestBlock(), "equals", 128, tried)
    record = recorded_for(gpu_rung("reduce_sequential"))

    def find(choice: Choice) -> Measurement | None:
        if choice.block_size not in times:
            return None
        timing = replace(record.timing, time_us=times[choice.block_size])
        return replace(record, timing=timing, choice=replace(record.choice, block_size=choice.block_size))

    made = verdict(claim, find)
    assert (made.outcome if made else None) == outcome and words in (made.found if made else "")


def test_words_without_a_number_ask_for_more():
    one, every = BY_NAME["code-size"], BY_NAME["code-size-of-all"]
    assert said(one) == said(every) == "more instructions"
    assert (verdict(one).outcome, verdict(every).outcome) == ("differs", "holds")
    assert 0.5 < verdict(one).value < 1 < 6 < verdict(every).value < 8


def test_words_that_name_no_number_are_told_without_one() -> None:
    bare = [claim.name for claim in CLAIMS if claim.relation == "more than" and re.match(r"\d", said(claim))]
    assert CLAIMS and not bare


def test_the_pairs_of_a_claim_are_multiplied():
    cascading = (gpu_rung("reduce_complete_unroll"), gpu_rung("reduce_multiple_adds"))
    claim = replace(BY_NAME["algorithmic"], runs=(*BY_NAME["algorithmic"].runs[:2], *cascading))
    made = verdict(claim, find)
    one, two, three, four = (recorded_for(choice).time_us for choice in runs(claim))
    assert made.value == pytest.approx(one / two * three / four)


def test_a_bandwidth_is_better_when_it_is_larger():
    pair = (gpu_rung("reduce_multiple_adds"), replace(gpu_rung("reduce_multiple_adds"), n=2**25))
    claim = replace(BY_NAME["larger-is-better"], runs=pair)
    made = verdict(claim, find)
    small, large = (recorded_for(choice) for choice in runs(claim))
    assert made.value == pytest.approx(large.rates.bandwidth_gb_s / small.rates.bandwidth_gb_s)


def test_an_edit_must_fit_the_kernel():
    claim = replace(BY_NAME["volatile"], quantity=Status(("not in the text", "")))
    with pytest.raises(ValueError, match="does not hold"):
        runs(claim)


def test_an_edited_run_is_another_run():
    (choice,) = runs(BY_NAME["volatile"])
    assert (
        choice.source is not None and "volatile" not in choice.source.partition("extern")[0].partition("__device__")[2]
    )


def test_units_agree_with_their_number():
    assert said(BY_NAME["no-conflict"]) == "1 pass" and said(BY_NAME["2-way-conflict"]) == "2 passes"
    assert said(BY_NAME["step-2"]) == "2.33× as fast"
    assert said(BY_NAME["endless-thread"]) == "never ends"
    assert said(BY_NAME["sync-after-loop"]) == "wrong or right by luck"


def test_no_claim_repeats_a_figure_that_a_csv_cell_has():
    """The expected number of a claim about times, or of a computed one, is taken from its cell."""
    cells = {float(Fraction(cell)) for cell in figures()} - {1.0}
    assert len(cells) > 60
    checked = 0
    for lecture in LECTURES:
        tree = ast.parse((Path(judge.__file__).parent / f"{lecture}.py").read_text(encoding="utf-8"))
        for call in ast.walk(tree):
            if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "Claim" and len(call.args) > 7:
                quantity, expected = ast.unparse(call.args[5]), call.args[7]
                if not quantity.startswith(("TIMES", "TimeRatio", "Computed")):
                    continue
                numbers = {node.value for node in ast.walk(expected) if isinstance(node, ast.Constant)}
                assert not numbers & cells or ast.unparse(call.args[0]) in K_WAYS, ast.unparse(call)
                checked += 1
    assert checked > 60


K_WAYS = ("'divergence-is-slower'",)  # its 8 is the number of branches that run, and no printed figure


def figures() -> Iterator[str]:
    """The cells of the published CSVs that hold a time, a rate, a speedup or another printed figure."""
    folder = Path(published.__file__).parent / "published"
    for file in folder.glob("*.csv"):
        lines = [line for line in file.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
        for row in csv.DictReader(lines):
            told = ("lecture", "gpu", "kernel", "n", "dtype", "block", "max_threads", "figure", "unit", "slide")
            yield from (cell for name, cell in row.items() if name not in told and cell)
