"""A dashboard of its own on a free port, and a Chromium that looks at it."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    BrowserType,
    ConsoleMessage,
    Error,
    Page,
    ViewportSize,
    expect,
    sync_playwright,
)

from tests.home import places
from views.access.policy import KEYS, ROLES

ROOT = Path(__file__).parents[2]
CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
FLAGS = ["--no-sandbox", "--headless=new", "--disable-gpu", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--no-first-run"]  # fmt: skip

GIVEN = {role: f"the-key-of-{role}" for role in ROLES}
CLASS_KEYS = ",".join(f"{role}={key}" for role, key in GIVEN.items())  # as the variable KEYS has them
WINDOW: ViewportSize = {"width": 1280, "height": 720}
START_S = 120.0  # a dashboard listens within it, whatever else a machine does
PATIENCE_MS = 45_000  # a busy machine's first page; what is right is seen at once
# Writes to the console what the page's content policy forbids.
BREACHES = "addEventListener('securitypolicyviolation', (e) => console.error('forbidden', e.effectiveDirective))"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.startswith("tests/browser/"):
            item.add_marker(pytest.mark.browser)


_taken: list[socket.socket] = []  # so that nobody else is given one of these ports before a server listens there


def free_port() -> int:
    """A port that nobody listens at; it stays this process's until its end."""
    probe = socket.socket()
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    probe.bind(("", 0))
    _taken.append(probe)
    return int(probe.getsockname()[1])


@contextmanager
def served(folder: Path, port: int = 0, **environment: str) -> Iterator[str]:
    """A dashboard whose home is `folder`, without a GPU: its address. It must end without a traceback in its log.

    `port`: 0 for one that is free. `environment`: more variables.
    """
    with running(folder, port, **environment) as (url, _):
        yield url


@contextmanager
def running(
    folder: Path, port: int = 0, script: str = "dashboard.py", gpu: bool = False, **environment: str
) -> Iterator[tuple[str, int]]:
    """The same: its address and its process. `script`: the app that is served; `gpu`: with what GPUs there are."""
    log = folder / "log"
    port = port or free_port()
    command = [sys.executable, "-m", "streamlit", "run", script, "--server.port", str(port)]
    with log.open("w") as out:
        server = subprocess.Popen(
            command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out, start_new_session=True,
            env={**os.environ, **places(folder), **({} if gpu else {"CUDA_VISIBLE_DEVICES": ""}), **environment},
        )  # fmt: skip
    try:
        url = f"http://127.0.0.1:{port}"
        wait_until_healthy(url, server, log)
        yield url, server.pid
    finally:
        server.send_signal(signal.SIGTERM)
        try:
            server.wait(PATIENCE_MS / 1000)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
    assert "Traceback" not in log.read_text(), log.read_text()[-4000:]


@pytest.fixture(scope="package")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, int]]:
    """The dashboard that most tests share: its address and its process."""
    with running(tmp_path_factory.mktemp("dashboard")) as found:
        yield found


@pytest.fixture(scope="package")
def address(dashboard: tuple[str, int]) -> str:
    """The dashboard's address."""
    return dashboard[0]


@pytest.fixture(scope="package")
def school(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a dashboard that asks for a key, one of GIVEN."""
    with served(tmp_path_factory.mktemp("school"), **{KEYS: CLASS_KEYS}) as url:
        yield url


def wait_until_healthy(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    """Poll the server until it answers; its log if it does not."""
    ends = time.monotonic() + START_S
    while time.monotonic() < ends:
        assert server.poll() is None, log.read_text()
        try:
            with urllib.request.urlopen(f"{url}/_stcore/health", timeout=2) as answer:
                if answer.read() == b"ok":
                    return
        except OSError:
            time.sleep(0.2)
    raise AssertionError(f"The dashboard did not start: {log.read_text()}")


@pytest.fixture(scope="package")
def chromium() -> Iterator[BrowserType]:
    """What starts a Chromium."""
    if CHROMIUM is None:
        pytest.skip("There is no Chromium on this machine.")
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        yield playwright.chromium


@pytest.fixture(scope="package")
def browser(chromium: BrowserType) -> Iterator[Browser]:
    """One Chromium for all tests that bring contexts of their own."""
    browser = chromium.launch(executable_path=CHROMIUM, args=FLAGS)
    yield browser
    browser.close()


@pytest.fixture(scope="package")
def laptop(chromium: BrowserType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A lecturer's laptop: one cache for all windows, on its disk, where Chromium keeps compiled scripts as well."""
    context = chromium.launch_persistent_context(
        tmp_path_factory.mktemp("laptop"), executable_path=CHROMIUM, args=FLAGS, viewport=WINDOW
    )
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(BREACHES)
    yield context
    context.close()


def tab(browser: Browser) -> Page:
    """A window of a browser that has never been here."""
    page = browser.new_context(viewport=WINDOW).new_page()
    page.set_default_timeout(PATIENCE_MS)
    return page


@pytest.fixture
def page(laptop: BrowserContext) -> Iterator[Page]:
    """The laptop's window, at no page. It stays open: a new one would load all scripts anew, two seconds of CPU.

    No script of a page may fail, and none may do what its content policy forbids."""
    page, told = laptop.pages[0], list[str]()

    def listen(message: ConsoleMessage) -> None:
        if message.text.startswith("forbidden"):
            told.append(message.text)

    def fail(error: Error) -> None:
        told.append(str(error))

    page.on("console", listen)
    page.on("pageerror", fail)
    yield page
    page.remove_listener("console", listen)
    page.remove_listener("pageerror", fail)
    assert told == []
    page.emulate_media(color_scheme="light", reduced_motion="no-preference")
    page.set_viewport_size(WINDOW)
    page.goto("about:blank")
