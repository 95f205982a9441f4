"""The dashboard started as a program: where it listens, what it says if that cannot be, and that it ends cleanly."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from engine.commands import main
from tests.browser.conftest import ROOT, START_S, free_port, wait_until_healthy
from tests.sentences import sentence
from tests.service.jobs import alive, until

USUAL_PORT = 8501  # Streamlit's
PROGRAM = [sys.executable, str(ROOT / "dashboard.py")]


@pytest.fixture
def occupied() -> Iterator[int]:
    """A port that is in use."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@contextlib.contextmanager
def started(folder: Path, *arguments: str, **variables: str) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """A dashboard started in `folder`, and its log. Ctrl-C must end it without a traceback, and its workers with it."""
    log = folder / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [*PROGRAM, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, env={**os.environ, **variables},
        )  # fmt: skip
    try:
        yield server, log
        assert until(lambda: bool(children(server.pid)), START_S), "no worker is started before the first run"
        workers = children(server.pid)
        server.send_signal(signal.SIGINT)
        assert server.wait(START_S) == 0
        assert "Traceback" not in log.read_text(), log.read_text()
        assert until(lambda: not any(map(alive, workers))), "processes are left over"
    finally:
        server.kill()
        server.wait()


def children(process_id: int) -> list[int]:
    found = subprocess.run(["pgrep", "-P", str(process_id)], capture_output=True, text=True, check=False)
    return [int(line) for line in found.stdout.split()]


def refused(folder: Path, *arguments: str, **variables: str) -> tuple[int, str]:
    """The exit status and the words of a start that comes to nothing."""
    environment: Mapping[str, str] = {**os.environ, **variables}
    ended = subprocess.run([*PROGRAM, *arguments], cwd=folder, env=environment, capture_output=True, text=True,
                           check=False, timeout=START_S)  # fmt: skip
    return ended.returncode, ended.stdout + ended.stderr


def test_from_any_folder_it_listens_where_it_is_told_and_ctrl_c_ends_it_with_its_workers(
    tmp_path: Path, occupied: int
) -> None:
    """An argument comes before a variable, which names a port that is in use."""
    port = free_port()
    with started(tmp_path, "--port", str(port), STREAMLIT_SERVER_PORT=str(occupied)) as (server, log):
        wait_until_healthy(f"http://127.0.0.1:{port}", server, log)
        assert f"http://127.0.0.1:{port}" in log.read_text()  # the address is the project's own, from its settings


@pytest.mark.release
def test_streamlits_variables_and_what_follows_two_dashes_count(tmp_path: Path) -> None:
    port = free_port()
    variables = {"STREAMLIT_SERVER_PORT": str(port), "STREAMLIT_SERVER_ADDRESS": "127.0.0.2"}
    with started(tmp_path, "--", "--server.baseUrlPath", "ladder", **variables) as (server, log):
        wait_until_healthy(f"http://127.0.0.2:{port}/ladder", server, log)


@pytest.mark.release
def test_in_streamlits_spelling(tmp_path: Path) -> None:
    port = free_port()
    with started(tmp_path, f"--server.port={port}", "--server.address=127.0.0.2") as (server, log):
        wait_until_healthy(f"http://127.0.0.2:{port}", server, log)


@pytest.mark.release
def test_if_no_port_was_asked_for_it_takes_the_next_and_says_so(tmp_path: Path) -> None:
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):  # somebody's own dashboard has it: just as well
            stack.enter_context(socket.create_server(("127.0.0.1", USUAL_PORT)))
        server, log = stack.enter_context(started(tmp_path))
        said = r"Port 8501 is in use: [^\n]* next [^\n]* free\..*?(http://127\.0\.0\.1:(\d+))"
        assert until(lambda: re.search(said, log.read_text(), re.DOTALL) is not None, START_S), log.read_text()
        found = re.search(said, log.read_text(), re.DOTALL)
        assert found is not None
        assert int(found[2]) > USUAL_PORT
        wait_until_healthy(found[1], server, log)


@pytest.mark.thorough
def test_a_port_that_is_in_use_ends_it_with_one_sentence(tmp_path: Path, occupied: int) -> None:
    status, told = refused(tmp_path, "--port", str(occupied))
    assert status == 1 and f" {occupied} " in told
    assert sentence("start.port-in-use", told.replace(str(occupied), "8501"))
    assert refused(tmp_path, STREAMLIT_SERVER_PORT=str(occupied)) == (1, told)


@pytest.mark.release
def test_keys_that_cannot_be_used_end_it_with_one_sentence(tmp_path: Path) -> None:
    status, told = refused(tmp_path, "--address", "0.0.0.0", KERNEL_LADDER_KEYS="student=short")
    assert status == 1 and sentence("start.short-key", told)


@pytest.mark.release
def test_what_streamlit_does_not_know_it_refuses_itself(tmp_path: Path) -> None:
    status, words = refused(tmp_path, "--", "--server.prot", "1")
    assert status == 2
    assert "No such option '--server.prot'" in words
    status, words = refused(tmp_path, STREAMLIT_SERVER_PORT="many")
    assert status == 2
    assert "STREAMLIT_SERVER_PORT" in words


@pytest.mark.thorough
def test_what_is_asked_of_it_from_outside(address: str, capsys: pytest.CaptureFixture[str]) -> None:
    def asked(path: str) -> tuple[int, str, str]:
        with urllib.request.urlopen(f"{address}{path}", timeout=60) as answer:
            return answer.status, answer.headers["content-type"], answer.read().decode()

    assert asked("/healthz")[::2] == (200, "ok")
    status, _, body = asked("/readyz")
    assert status == 200 and json.loads(body)["ready"] and json.loads(body)["queue"]["workers"]["emulator"] >= 1
    _, kind, text = asked("/metrics")
    assert kind.startswith("text/plain; version=0.0.4") and "kernel_ladder_browsers " in text
    assert main(["doctor", "--server", address, "--json"]) == 0
    (check,) = json.loads(capsys.readouterr().out)
    assert check["ok"] and "emulator: " in check["detail"]


def test_small_answers_do_not_wait_for_one_another(address: str) -> None:
    """A class's first pages are hundreds of small scripts. Sent as asyncio sends them over Streamlit's sockets, each
    waits 40 ms for what the browser's system says of the one before; sent at once, it takes a millisecond or two."""
    requests = 10
    host = address.removeprefix("http://")
    with contextlib.closing(http.client.HTTPConnection(host)) as connection:

        def quick() -> bool:
            began = time.monotonic()
            for _ in range(requests):
                connection.request("GET", "/healthz")
                assert connection.getresponse().read() == b"ok"
            return time.monotonic() - began < requests * 0.02

        assert until(quick, 30.0), "not once in half a minute, however busy the machine is"
