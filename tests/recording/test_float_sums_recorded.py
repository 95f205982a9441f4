"""Float sums recorded on a GPU are found again, and only for the choice and the text that ran."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from engine.lectures.arithmetic import recorded_sums
from engine.lectures.arithmetic.float_sums import SIZES, Repeats, on_random_numbers, sentence
from engine.plan import settle
from engine.records import Choice, NotRunnable

RUNG = settle(Choice("floats_atomic", 2**20, 256, dtype="float32", device="gpu", parameter=1))


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """A recording of one rung, made without a GPU."""
    monkeypatch.setattr(recorded_sums, "has_gpu", lambda: True)
    card = SimpleNamespace(describe=lambda: {"kind": "gpu", "name": "NVIDIA Test"})
    monkeypatch.setattr(recorded_sums, "backend_named", lambda kind: card)
    monkeypatch.setattr(recorded_sums, "environment", lambda: {"utc": "2026-01-02T03:04:05+00:00"})
    monkeypatch.setattr(recorded_sums, "_rungs", lambda: iter([RUNG]))
    monkeypatch.setattr(recorded_sums, "_answer", lambda choice: ("ok", float(choice.n), choice.n + 0.5))
    many = Repeats(on_random_numbers(RUNG), {}, (1.0, 2.0, 2.0), 1.5, "")
    monkeypatch.setattr(recorded_sums, "repeat", lambda choice, runs: many)
    path = recorded_sums.record(tmp_path)
    assert path.name == "nvidia-test.json.gz"
    monkeypatch.setattr(recorded_sums, "FOLDER", tmp_path)
    recorded_sums._recordings.cache_clear()
    yield
    recorded_sums._recordings.cache_clear()


@pytest.mark.usefixtures("recorded")
def test_an_answer_is_found_at_every_size_with_its_origin():
    for n in (*SIZES, RUNG.n):
        found = recorded_sums.answer(replace(RUNG, n=n, device="emulator"))
        assert found is not None and (found.check.result, found.check.expected, found.check.error) == (n, n + 0.5, 0.5)
        assert found.origin == "recorded" and found.time_us is None
    assert recorded_sums.answer(replace(RUNG, parameter=0)) is not None
    for other in (replace(RUNG, n=1000), replace(RUNG, block_size=128), replace(RUNG, source="x"),
                  replace(RUNG, grid_size=7), replace(RUNG, kernel="floats_tree")):  # fmt: skip
        assert recorded_sums.answer(other) is None


@pytest.mark.usefixtures("recorded")
def test_repeated_runs_are_found_on_the_random_numbers():
    found = recorded_sums.repeats(RUNG)
    assert found is not None and found.results == (1.0, 2.0, 2.0) and found.different == 2
    assert "3 runs, 2 different answers" in sentence(found)
    assert recorded_sums.repeats(replace(RUNG, n=4096)) is None


@pytest.mark.usefixtures("recorded")
def test_another_text_of_the_kernel_is_another_kernel(monkeypatch):
    monkeypatch.setattr(recorded_sums, "code_digest", lambda kernel: "changed")
    recorded_sums._recordings.cache_clear()
    assert recorded_sums.answer(RUNG) is None


def test_recording_needs_a_gpu(monkeypatch, tmp_path):
    monkeypatch.setattr(recorded_sums, "has_gpu", lambda: False)
    with pytest.raises(NotRunnable, match="needs a GPU"):
        recorded_sums.record(tmp_path)
