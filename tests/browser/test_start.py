"""Both ways of starting the dashboard, on a machine without a screen."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

from tests.browser.conftest import ROOT, wait_until_healthy


def test_as_a_program_it_serves_at_once_and_ends_with_its_workers(tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    start = f"import dashboard; dashboard.app.run(config={{'server.port': {port}}})"
    log = tmp_path / "log"
    with log.open("w") as out:
        server = subprocess.Popen(
            [sys.executable, "-c", start], cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            start_new_session=True, env={**os.environ, "HOME": str(tmp_path), "XDG_DATA_HOME": str(tmp_path)},
        )  # fmt: skip
    try:
        wait_until_healthy(f"http://127.0.0.1:{port}", server, log)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(20) is not None
    assert "Traceback" not in log.read_text()
    left = subprocess.run(["pgrep", "-s", str(server.pid)], capture_output=True, text=True, check=False).stdout
    assert left == "", "processes are left over"
