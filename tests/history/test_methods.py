"""A recorded time stays valid when code moves, and not when what is measured changes."""

from __future__ import annotations

import pytest

from engine.catalogue.libraries import PEERS
from engine.history.methods import METHODS, digest_of, method_of_peers, methods, text_of
from engine.history.recordings import FOLDER, read
from engine.records.words import cpu_named_in

BATCH = '''from timing import events

SIZE = 3


def batch(works):
    """Samples of each work."""
    return [events(work, SIZE) for work in works]


def unused():
    return 1
'''


def changed(old: str, new: str) -> bool:
    assert old in BATCH
    names = ("SIZE", "batch")
    return digest_of({BATCH.replace(old, new): names}) != digest_of({BATCH: names})


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("from timing import events", "from engine.backends.timing.gpu import events"),
        ("Samples of each work.", "Microseconds."),
        ("SIZE = 3\n", "SIZE = 3  # samples\n\n"),
        ("return 1", "return 2"),
    ],
)
def test_a_moved_module_a_comment_and_an_unnamed_function_leave_it(old: str, new: str) -> None:
    assert not changed(old, new)


@pytest.mark.parametrize(("old", "new"), [("SIZE = 3", "SIZE = 4"), ("events(work, SIZE)", "events(work, 1)")])
def test_a_changed_statement_or_constant_makes_it_another_method(old: str, new: str) -> None:
    assert changed(old, new)


def test_a_name_that_is_gone_is_not_passed_over() -> None:
    with pytest.raises(KeyError):
        digest_of({BATCH: ("batch", "sampled")})


def test_the_recorded_runs_were_measured_as_this_program_measures() -> None:
    """Of a session from before the method changed, only what was not timed on the GPU stays: the CPU's rungs."""
    recording = read(FOLDER / "nvidia-h200.json.gz")
    assert recording.rows
    for row in recording.rows.values():
        then = recording.sessions[row["session"]].methods
        if cpu_named_in((row["badges"] or "").split(" · ")):
            assert then["cpu"] == methods()["cpu"]
        elif row["status"] == "ok":
            assert (then["gpu"], then["peers"]) == (methods()["gpu"], methods()["peers"])


def test_a_library_that_came_later_has_a_method_of_its_own_and_leaves_those_before() -> None:
    later = set(METHODS) - {"gpu", "peers", "libraries", "cpu"}
    assert later <= set(PEERS) and all(method_of_peers(operation) == operation for operation in later)
    known = [session.methods["libraries"] for session in read(FOLDER / "nvidia-h200.json.gz").sessions
             if "libraries" in session.methods]  # fmt: skip
    assert known and known[-1] == methods()["libraries"]
    assert (method_of_peers("sum"), method_of_peers("row sums"), method_of_peers("")) == ("peers", "libraries", "")


def test_every_module_of_a_method_is_found() -> None:
    assert all(text_of(module) for parts in METHODS.values() for module in parts)
