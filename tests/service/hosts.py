"""A cluster for the tests: a scheduler, hosts in separate network namespaces, and a new certificate."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from engine.service.slots import ROOT

NETWORK = f"10.83.{os.getpid() % 254 + 1}"
SCHEDULER = f"{NETWORK}.1"  # an address of this computer's loopback, while the tests run


class Hosts:
    """A scheduler and hosts ("a", "b") that a test can start, cut off and kill."""

    def __init__(self, folder: Path, place: str) -> None:
        self._folder, self._place = folder, place
        self.certificate = folder / "cluster.pem"
        self._key = folder / "cluster.key"
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days",
             "2", "-subj", "/CN=kernel-ladder", "-out", str(self.certificate), "-keyout", str(self._key)],
            check=True, capture_output=True,
        )  # fmt: skip
        with socket.create_server((place, 0)) as free:
            self.address = f"tls://{place}:{free.getsockname()[1]}"
        self._settings = folder / "dask.json"
        self._settings.write_text(json.dumps(self.tls()))
        self._running: dict[str, subprocess.Popen[bytes]] = {}
        self._places: list[str] = []

    def tls(self) -> dict[str, object]:
        """Return Dask's settings: one self-signed certificate for all."""
        own = {"cert": str(self.certificate), "key": str(self._key)}
        tls = {"ca-file": str(self.certificate), "scheduler": own, "worker": own, "client": own}
        # A host that is cut off closes no connection: the scheduler only misses its heartbeats.
        return {"distributed": {"comm": {"tls": tls, "require-encryption": True}, "scheduler": {"worker-ttl": "3s"}}}

    def environment(self) -> dict[str, str]:
        """Return the environment variables of a dashboard of this cluster."""
        return {"DASK_CONFIG": str(self._settings), "DASK_SCHEDULER_ADDRESS": self.address}

    def processes(self) -> list[int]:
        """Return the process ids of the hosts and the scheduler."""
        return [process.pid for process in self._running.values()]

    def start_scheduler(self) -> None:
        port = self.address.rpartition(":")[2]
        command = [sys.executable, "-m", "dask", "scheduler", "--host", f"tls://{self._place}", "--port", port]
        self._start("scheduler", [*command, "--dashboard-address", "127.0.0.1:0"])

    def start(self, name: str) -> None:
        """Start a host; the first start makes its network namespace."""
        command = [sys.executable, "-m", "engine", "host", self.address, "--name", name]
        if self._place == SCHEDULER:
            if name not in self._places:
                self._connect(name)
            command = ["ip", "netns", "exec", _namespace(name), *command]
        self._start(name, command)

    def kill(self, name: str) -> None:
        """Kill a host or the scheduler with SIGKILL."""
        process = self._running.pop(name)
        process.kill()
        process.wait()

    def cut_off(self, name: str) -> None:
        """Drop all packets to and from the host."""
        _ip("link", "set", _link(name), "down")

    def connect_again(self, name: str) -> None:
        _ip("link", "set", _link(name), "up")

    def end(self) -> None:
        for name in list(self._running):
            self.kill(name)
        for name in self._places:
            _ip("netns", "del", _namespace(name))

    def _connect(self, name: str) -> None:
        self._places.append(name)
        here, there = (f"{NETWORK}.{4 * len(self._places) + end}" for end in (1, 2))
        inside = ("-n", _namespace(name))
        _ip("netns", "add", _namespace(name))
        _ip("link", "add", _link(name), "type", "veth", "peer", "name", "outside", "netns", _namespace(name))
        _ip("addr", "add", f"{here}/30", "dev", _link(name))
        _ip("link", "set", _link(name), "up")
        _ip(*inside, "addr", "add", f"{there}/30", "dev", "outside")
        for device in ("outside", "lo"):
            _ip(*inside, "link", "set", device, "up")
        _ip(*inside, "route", "add", SCHEDULER, "via", here)

    def _start(self, name: str, command: Sequence[str]) -> None:
        with (self._folder / f"{name}.log").open("ab") as log:
            environment = {**os.environ, "DASK_CONFIG": str(self._settings), "HOST_NAME": name}
            self._running[name] = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)


def _ip(*command: str) -> None:
    subprocess.run(["ip", *command], check=True, capture_output=True)


def _link(name: str) -> str:
    return f"kl{os.getpid()}{name}"


_namespace = _link


@contextmanager
def together(folder: Path) -> Iterator[Hosts]:
    """Start a scheduler on the loopback, without hosts."""
    made = Hosts(folder, "127.0.0.1")
    try:
        made.start_scheduler()
        yield made
    finally:
        made.end()


@contextmanager
def apart(folder: Path) -> Iterator[Hosts]:
    """Start a scheduler for hosts in network namespaces; skip the test if these cannot be made."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl, for certificates")
    try:
        _ip("addr", "add", f"{SCHEDULER}/32", "dev", "lo")
    except (OSError, subprocess.CalledProcessError) as refused:
        pytest.skip(f"needs to make network namespaces: {refused}")
    made = None
    try:
        made = Hosts(folder, SCHEDULER)
        made.start_scheduler()
        yield made
    finally:
        if made:
            made.end()
        _ip("addr", "del", f"{SCHEDULER}/32", "dev", "lo")
