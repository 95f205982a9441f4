"""The command line of the dashboard, without a server: what reaches Streamlit, and what is refused in one sentence."""

from __future__ import annotations

import asyncio
import resource
import socket
import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.sentences import sentence
from views.server import server
from views.server.server import FILES, allow_files, check_port, flags


@pytest.mark.parametrize(
    ("arguments", "streamlits"),
    [
        ([], []),
        (["--port", "9000"], ["--server.port=9000"]),
        (["--port=9000", "--address=0.0.0.0"], ["--server.port=9000", "--server.address=0.0.0.0"]),
        (["--server.address", "::1", "--server.port", "9"], ["--server.port=9", "--server.address=::1"]),
        (["--port", "9000", "--", "--server.baseUrlPath", "x"], ["--server.port=9000", "--server.baseUrlPath", "x"]),
        (["--"], []),
    ],
)
def test_arguments_in_streamlits_words(arguments: list[str], streamlits: list[str]) -> None:
    assert flags(arguments) == streamlits


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--prot", "9000"], "unrecognized arguments: --prot 9000"),
        (["--por", "9000"], "unrecognized arguments: --por 9000"),
        (["9000"], "unrecognized arguments: 9000"),
        (["--port", "many"], "argument --port/--server.port: invalid int value: 'many'"),
        (["--port"], "argument --port/--server.port: expected one argument"),
    ],
)
def test_an_unknown_argument_is_refused(
    arguments: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        flags(arguments)
    assert refused.value.code == 2
    assert capsys.readouterr().err.endswith(f"error: {sentence}\n")


def test_the_help_says_how_to_choose_a_port_an_address_and_anything_of_streamlits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        flags(["--help"])
    assert ended.value.code == 0
    told = capsys.readouterr().out
    for words in (
        "--port",
        "8501",
        "--address",
        "0.0.0.0",
        "no browser",
        "streamlit run --help",
        "STREAMLIT_SERVER_PORT",
    ):
        assert words in told
    assert max(map(len, told.splitlines())) <= 96


def test_a_free_port_is_taken_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    for address in (None, "127.0.0.1", "localhost"):
        check_port(address, 0, asked=True)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("address", [None, "127.0.0.1", "0.0.0.0"])
def test_a_port_in_use_is_refused_if_it_was_asked_for(address: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
        with pytest.raises(SystemExit, match=rf"^Port {port} is in use: .* --port\.$"):
            check_port(address, port, asked=True)
        check_port(address, port, asked=False)
    told = capsys.readouterr().out
    assert f" {port} " in told and sentence("start.next-port", told.replace(str(port), "8501"))


def test_an_address_or_a_port_that_is_none_is_refused() -> None:
    with pytest.raises(
        SystemExit, match=r"cannot listen at 192\.0\.2\.1, port 9000: Cannot assign requested address\. "
    ):
        check_port("192.0.2.1", 9000, asked=True)
    with pytest.raises(SystemExit, match="There is no port 70000"):
        check_port(None, 70000, asked=True)


def test_the_server_may_have_files_open_for_a_whole_class() -> None:
    before, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, most))
        allow_files()
        assert resource.getrlimit(resource.RLIMIT_NOFILE) == (min(FILES, most), most)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (before, most))


def test_what_the_first_page_needs_is_there_before_a_browser_is_let_in(monkeypatch: pytest.MonkeyPatch) -> None:
    happened: list[str] = []
    queue = SimpleNamespace(warm=lambda: happened.append("workers start"))
    monkeypatch.setattr(server.service, "connect", lambda: queue)
    monkeypatch.setattr(server.service, "disconnect", lambda: happened.append("workers end"))
    monkeypatch.setattr(server.policy, "begin", lambda: None)
    monkeypatch.setattr(server.journal, "to_stderr", lambda: None)

    async def live() -> None:
        async with server.serving(lambda: happened.append("prepared"))(None):
            happened.append("serving")

    asyncio.run(live())
    assert happened == ["workers start", "prepared", "serving", "workers end"]


HEAPS = """
import ctypes, os, sys, threading
from views.server.server import keep_one_heap
keep_one_heap()
threads = [threading.Thread(target=lambda: bytearray(100_000)) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
library = ctypes.CDLL(None)
library.fdopen.restype = ctypes.c_void_p
library.malloc_info(0, ctypes.c_void_p(library.fdopen(os.dup(1), b"w")))
library.fflush(None)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="Only Linux' C library gives threads heaps of their own.")
def test_what_one_thread_leaves_serves_the_others() -> None:
    told = subprocess.run([sys.executable, "-c", HEAPS], capture_output=True, text=True, check=True).stdout
    assert told.count("<heap nr=") == 1
