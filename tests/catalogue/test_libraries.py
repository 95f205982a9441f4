"""The libraries beside the kernels: each is named in the catalogue, and made by one function."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from engine.backends.gpu import nvcc_peers, peers, torch_peers
from engine.backends.gpu.launches import Prepared
from engine.catalogue import KERNELS
from engine.catalogue.libraries import NVCC_CUB, PEERS, SLICED, TORCH, operation_of, peers_named
from engine.compile import nvcc
from engine.plan import plan
from engine.records import C_TYPES, Choice, NotRunnable
from tests.sentences import sentence


def test_every_operation_of_the_catalogue_has_libraries_and_every_library_a_builder():
    assert {operation_of(name) for name in KERNELS} - {""} == set(PEERS)
    assert set(peers._BUILDERS) == {(operation, name) for operation, names in PEERS.items() for name in names}
    assert {name for name, many in PEERS.items() if TORCH in many} == {
        *torch_peers._WORK, *torch_peers._FURTHER, *SLICED
    }  # fmt: skip
    assert peers_named("reduce_vectorized")[0] == "CUB" and peers_named("latency_global") == ()


def test_every_call_of_cub_that_is_asked_for_is_in_its_source():
    text = nvcc_peers.SOURCE.read_text()
    operations = [name for name, peers_of_it in PEERS.items() if NVCC_CUB in peers_of_it and name not in SLICED]
    assert operations
    for operation in operations:
        assert f"OPERATION == {nvcc_peers.macros(operation, 'int32')['OPERATION']}\n" in text


def test_without_nvcc_the_reason_is_said(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda *where, **more: None)
    with pytest.raises(NotRunnable, match="no nvcc"):
        nvcc.library(nvcc_peers.SOURCE, {"OPERATION": "SUM"}, "sm_90")


def test_a_peer_that_is_wrong_or_missing_is_none_and_says_why(monkeypatch):
    def missing(prepared):
        raise NotRunnable("It is not here.")

    answers = {"right": 6.0, "wrong": 5.0}
    builders = {
        ("sum", name): lambda prepared, name=name: peers.Peer(name, lambda: None, lambda: np.array([answers[name]]))
        for name in answers
    } | {("sum", "absent"): missing}
    monkeypatch.setattr(peers, "_BUILDERS", builders)
    monkeypatch.setattr(
        peers, "topic_of", lambda name: SimpleNamespace(check=lambda plan, output: SimpleNamespace(
            ok=output[0] == 6, result=output[0], expected=6.0))
    )  # fmt: skip
    monkeypatch.setattr(peers, "replace", lambda plan, **changes: plan)
    plan = SimpleNamespace(choice=SimpleNamespace(kernel="reduce_atomic"), additions=1, result_count=1)
    found, why = peers.peers_of(SimpleNamespace(plan=plan), ("right", "wrong", "absent"))
    assert [peer.name for peer in found] == ["right"]
    assert why.keys() == {"wrong", "absent"} and why["absent"] == "It is not here."
    assert sentence("library.wrong-answer", why["wrong"])


def test_a_slice_is_handed_to_the_peer_of_the_whole():
    choice = Choice("reduce_unaligned", 10, 64, parameter=3)
    made = plan(choice)
    prepared = Prepared(made, {"in": np.arange(13)}, lambda: None, lambda: np.zeros(1), "launch", ())
    seen = peers._of_slice(prepared, lambda sliced: sliced.arrays["in"].tolist())
    assert seen == list(range(3, 13)) and peers_named("reduce_unaligned") == peers_named("reduce_vectorized")


HAS_NVCC = pytest.mark.skipif(shutil.which("nvcc") is None, reason="no nvcc here")


@pytest.mark.thorough
@HAS_NVCC
def test_nvcc_builds_a_library_and_keeps_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    source = tmp_path / "small.cu"
    source.write_text('extern "C" ELEMENT one() { return 1; }\n')
    made = nvcc.library(source, {"ELEMENT": "int"}, "sm_90")
    before = made.stat().st_mtime_ns
    assert nvcc.library(source, {"ELEMENT": "int"}, "sm_90") == made and made.stat().st_mtime_ns == before
    with pytest.raises(NotRunnable, match=r"nvcc does not build small\.cu"):
        nvcc.library(source, {"ELEMENT": "nothing"}, "sm_90")


@pytest.mark.release
@HAS_NVCC
def test_nvcc_builds_a_call_of_cub(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    macros = nvcc_peers.macros("selection", "int32")
    assert macros == {"OPERATION": "SELECTION", "ELEMENT": C_TYPES["int32"]}
    assert nvcc_peers._call(nvcc.library(nvcc_peers.SOURCE, macros, "sm_90")).argtypes
    with pytest.raises(NotRunnable, match=r"nvcc does not build cub_calls\.cu"):
        nvcc.library(nvcc_peers.SOURCE, {"OPERATION": "SELECTION", "ELEMENT": "nothing"}, "sm_90")


def test_no_library_does_the_work_of_a_kernel_that_is_not_the_catalogues() -> None:
    assert operation_of("weigh") == "" and peers_named("weigh") == ()
