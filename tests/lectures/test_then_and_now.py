"""The paragraphs on why the shape differs today: every figure is taken from the recording, none is typed in."""

import re
from dataclasses import replace

import pytest

from engine.catalogue import LADDERS, Ladder
from engine.catalogue.published import CS121
from engine.history import history
from engine.history.history import recorded_for
from engine.lectures import templates
from engine.records import Choice, Settled
from engine.records.words import size_text
from tests.made import recorded_kernels

OWN = [ladder for name, ladder in LADDERS.items() if not name.startswith("all-")]
# Sizes that an older recording may not hold: ten million numbers, 17,825,792 ones.
MAYBE_UNRECORDED = ("hekun", "float-truths")
EVERY = pytest.mark.parametrize("ladder", OWN, ids=lambda ladder: ladder.name)


@EVERY
def test_every_ladder_has_a_paragraph_in_sentences_whose_figures_are_known(ladder: Ladder):
    told = templates.today(ladder)
    assert ladder.today and told.sentences
    for sentence in told.sentences:
        assert sentence[0].isupper() or sentence[0] in "#_" or sentence.startswith("atomic")
        assert sentence.endswith(".") and "{" not in sentence
    new = not recorded_kernels(Choice(rung.kernel, ladder.n, ladder.block_size, device="gpu") for rung in ladder.rungs)
    assert len(told.sentences) == len(ladder.today) or new or ladder.name in MAYBE_UNRECORDED


@EVERY
def test_no_measured_number_is_typed_in(ladder: Ladder):
    assert ladder.today
    for sentence in ladder.today:
        typed = re.sub(r"\{[^}]*\}", "", sentence)
        published = typed.replace("5.5 s are 84 µs", "")  # the lecture's own figure, divided
        assert not re.search(r"\d\s*(µs|ms|GB/s|GFLOP/s|×|times|%)", published), sentence


@EVERY
def test_a_figure_at_another_n_says_at_which(ladder: Ladder):
    for sentence in ladder.today:
        words = re.sub(r"\{[^}]*\}", "", sentence)
        others = {int(n) for n in re.findall(r"\bn=(\d+)", sentence)}
        assert all(size_text(n) in words or f"{n:,}" in words for n in others), sentence


@EVERY
def test_no_quoted_time_is_uncertain_by_a_tenth(ladder: Ladder, monkeypatch: pytest.MonkeyPatch):
    asked: list[Settled] = []
    monkeypatch.setattr(templates, "recorded_for", lambda choice: asked.append(choice) or recorded_for(choice))
    templates.today(ladder)
    for timing in (found.timing for choice in asked if (found := recorded_for(choice))):
        if timing and timing.low_us and timing.high_us:
            assert timing.high_us - timing.low_us < timing.time_us / 10


def test_only_a_lecture_without_times_is_said_to_print_none():
    said = "lecture prints no times."
    without = {ladder.lecture for ladder in OWN if any(said in sentence for sentence in ladder.today)}
    assert without == {CS121}, "the others print times or rates of some kernels"


def test_a_figure_follows_the_recording_and_says_where_it_comes_from():
    ladder = replace(LADDERS["harris"], today=("Takes {time reduce_sequential n=268435456 block=256}.",))
    found = recorded_for(Choice("reduce_sequential", 2**28, 256, device="gpu", combine="relaunch"))
    told = templates.today(ladder)
    assert told.sentences == (f"Takes {templates.time_text(found.time_us)}.",)
    assert told.origins == (history.device_line(found),)


def test_what_two_kernels_have_in_common_can_be_taken_off_their_ratio():
    ladder = replace(LADDERS["cs121-latency"], today=("{beyond latency_global latency_shared latency_register}.",))
    slow, fast, idle = (recorded_for(Choice(f"latency_{name}", ladder.n, 256, device="gpu", combine="none")).time_us
                        for name in ("global", "shared", "register"))  # fmt: skip
    assert templates.today(ladder).sentences == (f"{(slow - idle) / (fast - idle):.3g}×.",)
    nothing = replace(ladder, today=("{beyond latency_global latency_register latency_shared}.", "This stays."))
    assert templates.today(nothing).sentences == ("This stays.",)


def test_each_kernel_of_a_ratio_can_have_its_own_conditions():
    ladder = replace(LADDERS["harris"], today=("{times reduce_sequential@n=268435456 reduce_sequential@n=268435456}.",))
    assert templates.today(ladder).sentences == ("1.00×.",)


def test_a_sentence_with_an_unknown_figure_is_left_out():
    ladder = replace(LADDERS["harris"], today=("It takes {time reduce_sequential n=12345}.", "This stays."))
    assert templates.today(ladder) == templates.Today(("This stays.",), ())


def test_the_lectures_own_ratio_is_the_printed_one():
    ladder = replace(LADDERS["harris"], today=("{paper reduce_interleaved reduce_multiple_volatile}.",))
    assert templates.today(ladder).sentences == ("30.0×.",)


@pytest.mark.parametrize("figure", ["weather reduce_racy", "time reduce_magic", "paper reduce_strided reduce_racy"])
def test_a_figure_written_wrongly_is_an_error(figure: str):
    ladder = replace(LADDERS["crovella"], today=(f"{{{figure}}}.",))
    with pytest.raises(ValueError, match="crovella"):
        templates.today(ladder)
