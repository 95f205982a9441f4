"""The server as a program: its command line, its address, and the services that live as long as it does."""

from __future__ import annotations

import argparse
import asyncio
import ctypes
import errno
import os
import signal
import socket
import sys
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import click
import streamlit as st

from engine.records import NotRunnable
from engine.service import journal, service
from engine.store import database
from views.access import policy
from views.access.policy import BadKeys
from views.room import feed
from views.server import streamlit_internals

if sys.platform != "win32":
    import resource

USAGE = "python dashboard.py [-h] [--port PORT] [--address ADDRESS] [--sheets DIR] [-- OPTIONS]"
DESCRIPTION = "Serves the dashboard until Ctrl-C, and prints its address. It opens no browser window."
PORT = "where it listens; it ends if that port is in use. If none is asked for: 8501, or the next one that is free"
SHEETS = "a folder of lab sheets beside the program's own; give it once for each folder"
ADDRESS = (
    "for whom it listens: 127.0.0.1 this computer alone (the default), 0.0.0.0 the whole network, with a class key"
)
EPILOG = """\
What follows -- goes to Streamlit as it is; `streamlit run --help` lists it all:

  python dashboard.py --port 9000 -- --server.baseUrlPath ladder

Streamlit's variables (STREAMLIT_SERVER_PORT, STREAMLIT_SERVER_ADDRESS, ...) and its
.streamlit/config.toml count too: an argument before a variable, a variable before the file."""
FILES = 10_240  # open at once: 2,500 browsers, and as many as macOS allows
_ARENA_MAX = -8  # glibc's mallopt: the number of heaps


def serving(prepare: Callable[[], None]) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    """Run the services of the server: warm the workers, let `prepare` make the parts of the first page, and end the
    workers with the server."""

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        journal.to_stderr()
        allow_files()
        keep_one_heap()
        policy.begin()
        if told := _platforms():
            print(told, flush=True)
        await asyncio.to_thread(lambda: service.connect().warm())
        await asyncio.to_thread(prepare)  # otherwise it would compete with the first browsers
        _at_the_end(feed.FEED.close)
        yield
        await asyncio.to_thread(service.disconnect)
        await asyncio.to_thread(database.close)  # a last try for a file on a full disk

    return lifespan


def _platforms() -> str:
    """Return the line on the learning platforms. NotRunnable."""
    from views.access import lti  # with its numbers come threads, too early for `keep_one_heap`

    return lti.said()


def _at_the_end(close: Callable[[], None]) -> None:
    """Call `close` as soon as the server is asked to end: it waits for every open answer."""
    loop = asyncio.get_running_loop()

    def chained(before: Any) -> Callable[[int, Any], None]:
        def ending(number: int, frame: Any) -> None:
            loop.call_soon_threadsafe(close)
            before(number, frame)

        return ending

    for number in (signal.SIGINT, signal.SIGTERM):
        if callable(before := signal.getsignal(number)) and threading.current_thread() is threading.main_thread():
            signal.signal(number, chained(before))


def allow_files() -> None:
    """Raise the limit of open files: a browser keeps four files of Streamlit's server open until two minutes after it
    has gone, and many systems allow only 1,024."""
    if sys.platform != "win32":
        now, most = resource.getrlimit(resource.RLIMIT_NOFILE)
        wanted = FILES if most == resource.RLIM_INFINITY else min(FILES, most)
        if now != resource.RLIM_INFINITY and now < wanted:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, most))


def keep_one_heap() -> None:
    """Let all threads allocate from one heap. A run of the script is a thread; Linux' C library would give it one of
    sixteen heaps, whose free memory serves no other thread: 10 kB are lost with every browser."""
    if sys.platform == "linux":
        library = ctypes.CDLL(None)
        if hasattr(library, "mallopt"):  # musl has no such option, and one heap
            library.mallopt(_ARENA_MAX, 1)


def serve(script: Path, arguments: Sequence[str]) -> None:
    """Serve the App in `script` until Ctrl-C, as `streamlit run` does. SystemExit, with a sentence, if that is
    impossible.

    The App must have been made before: it tells Streamlit where the script's own .streamlit/config.toml is.
    """
    try:
        context = streamlit_internals.run_context(script, flags(arguments))
        offer_sheets(_parsed(arguments)[0].sheets)
        address, port = st.get_option("server.address"), st.get_option("server.port")
        check_port(address, port, asked=streamlit_internals.is_set("server.port"))
        policy.current()  # refuses wrong keys before anything is served
        _platforms()  # and wrong settings
        service.connect()  # and a wrong cluster
        streamlit_internals.run(context)
    except click.ClickException as refusal:
        refusal.show()
        sys.exit(refusal.exit_code)
    except (BadKeys, NotRunnable) as refusal:
        sys.exit(str(refusal))
    except KeyboardInterrupt:  # the workers have ended by now
        return


def flags(arguments: Sequence[str]) -> list[str]:
    """Return the dashboard's arguments in Streamlit's words. SystemExit after --help, or with argparse's sentence."""
    parsed, rest = _parsed(arguments)
    named = {"server.port": parsed.port, "server.address": parsed.address}
    return [*(f"--{name}={value}" for name, value in named.items() if value is not None), *rest]


def _parsed(arguments: Sequence[str]) -> tuple[argparse.Namespace, Sequence[str]]:
    """Return the dashboard's own arguments, and those behind `--`, which are Streamlit's."""
    parser = argparse.ArgumentParser(
        usage=USAGE,
        description=DESCRIPTION,
        epilog=EPILOG,
        allow_abbrev=False,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--port", "--server.port", metavar="PORT", type=int, help=PORT)
    parser.add_argument("--address", "--server.address", metavar="ADDRESS", help=ADDRESS)
    parser.add_argument("--sheets", metavar="DIR", action="append", default=[], help=SHEETS)
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return parser.parse_args(arguments[:end]), arguments[end + 1 :]


def offer_sheets(folders: Sequence[str]) -> None:
    """Add folders to those in which sheets are looked for. A missing one is named here and where the sheets are: it may
    be on a disk that comes later."""
    if not folders:
        return
    # Here, as with its numbers come threads, too early for `keep_one_heap`.
    from engine.sheets.folder import ELSEWHERE, no_folder

    known = os.environ.get(ELSEWHERE, "")
    more = [str(Path(each).expanduser().resolve()) for each in folders]
    for each in more:
        if not Path(each).is_dir():
            print(no_folder(each), flush=True)
    os.environ[ELSEWHERE] = os.pathsep.join(filter(None, [known, *more]))


def check_port(address: str | None, port: int, *, asked: bool) -> None:
    """Check that `port` is free at `address` (None: everywhere). SystemExit if it is in use and was `asked` for."""
    if not 0 <= port < 2**16:
        sys.exit(f"There is no port {port}: choose one below 65536 with --port.")
    try:
        _listening(address, port).close()
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            why = str(error.strerror).partition(" (")[0]
            sys.exit(f"The dashboard cannot listen at {address}, port {port}: {why}. Choose others: --address, --port.")
        if asked:
            sys.exit(f"Port {port} is in use: end the program that listens there, or choose another port with --port.")
        print(f"Port {port} is in use: the dashboard takes the next one that is free.", flush=True)


def _listening(address: str | None, port: int) -> socket.socket:
    """Return a socket that listens like Streamlit's: to IPv6 and IPv4 without an address."""
    if address is None and socket.has_dualstack_ipv6():
        return socket.create_server(("", port), family=socket.AF_INET6, dualstack_ipv6=True)
    family = socket.AF_INET6 if ":" in (address or "") else socket.AF_INET
    return socket.create_server((address or "", port), family=family)
