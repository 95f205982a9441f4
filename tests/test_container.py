"""The image of the Containerfile: it is small, has no root and nothing to write to but its volume, and ends at once.

It is built where there is buildah, and started in namespaces of its own, as a container's engine does it: the image
read-only, its user, its environment, an empty /tmp, and a volume. Minutes long, so it runs before a release.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import yaml

from tests.browser.conftest import free_port

ROOT = Path(__file__).parents[1]
MOST_BYTES = 900e6
BASE = os.environ.get("CONTAINER_BASE", "docker.io/library/debian:bookworm-slim")
HERE = (
    "/etc/ssl/certs",
    "/usr/local/share/ca-certificates",
    "/etc/resolv.conf",
)  # so that pip and apt reach their servers

BUILT = [
    pytest.mark.release,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("buildah") is None or os.geteuid() != 0, reason="needs buildah, and root to mount"),
]
SHIPPED_FOLDERS = {"cuda", "notes", "questions", "recorded", "sheets"}
COMPOSED = ROOT / "docs" / "containers"
START = """
mount --bind "$IMAGE" "$IMAGE" && cd "$IMAGE"
mount -t tmpfs tmpfs tmp && mount --bind "$VOLUME" data && mount --rbind /dev dev && mount -t proc proc proc
mount -o remount,bind,ro "$IMAGE"
exec chroot --userspec=10001:10001 . env -i "$@"
"""


def built(test: Callable[..., None]) -> Callable[..., None]:
    """Mark a test that builds the image."""
    for mark in BUILT:
        test = mark(test)
    return test


def buildah(*arguments: str) -> str:
    done = subprocess.run(["buildah", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout.strip()


@dataclass(frozen=True)
class Image:
    name: str
    root: str  # where it is mounted
    environment: tuple[str, ...]
    command: tuple[str, ...]

    def start(self, volume: Path, *arguments: str) -> subprocess.Popen[str]:
        """Start a command of the program with this volume."""
        volume.mkdir(exist_ok=True)
        os.chown(volume, 10001, 10001)
        inside = ["unshare", "--mount", "--pid", "--fork", "--kill-child", "bash", "-euc", START, "start"]
        return subprocess.Popen([*inside, *self.environment, *self.command, *arguments],
                                env={**os.environ, "IMAGE": self.root, "VOLUME": str(volume)}, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)  # fmt: skip

    def told(self, volume: Path, *arguments: str) -> str:
        """Run a command to its end, and return what it prints."""
        started = self.start(volume, *arguments)
        text, _ = started.communicate(timeout=200)
        assert started.returncode == 0, text
        return text


@pytest.fixture(scope="module")
def image() -> Iterator[Image]:
    name = "localhost/kernel-ladder-test"
    shared = [f"--volume={each}:{each}:ro" for each in HERE if Path(each).exists()]
    pull = ["--pull-never"] if BASE in buildah("images", "--format", "{{.Name}}:{{.Tag}}") else []
    buildah("bud", "-q", "--format=docker", "--isolation=chroot", "--network=host", *pull, *shared,
            f"--build-arg=BASE={BASE}", "-t", name, str(ROOT))  # fmt: skip
    container = buildah("from", "--pull-never", name)
    config = json.loads(buildah("inspect", "--type=image", name))["OCIv1"]["config"]
    try:
        yield Image(name, buildah("mount", container), tuple(config["Env"]), tuple(config["Entrypoint"]))
    finally:
        buildah("rm", container)
        buildah("rmi", name)


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=5) as answer:
            return answer.read() == b"ok"
    except OSError:
        return False


def wait_for_answer(port: int, alive: Callable[[], bool] = lambda: True) -> None:
    """Wait a minute at most for a dashboard that listens there; `alive`: whether it may still come."""
    end = time.monotonic() + 60
    while not answers(port):
        assert alive() and time.monotonic() < end, "it did not start"
        time.sleep(0.2)


def test_what_the_image_is_built_from_is_there() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    assert [name for name in kept if not list(ROOT.glob(name))] == []
    assert {"engine", "views", "dashboard.py", "setup.py", *SHIPPED_FOLDERS} <= {*kept}


@pytest.mark.parametrize("name", [path.name for path in sorted(COMPOSED.glob("*.yaml"))])
def test_a_compose_file_starts_this_image_with_few_rights(name: str) -> None:
    services = yaml.safe_load((COMPOSED / name).read_text())["services"]
    for service in services.values():
        while "extends" in service:
            base = service["extends"]
            held = yaml.safe_load((COMPOSED / base["file"]).read_text())["services"][base["service"]]
            service = {**held, **{key: value for key, value in service.items() if key != "extends"}}
        if service["image"] == "kernel-ladder":
            assert service["read_only"] and service["cap_drop"] == ["ALL"] and service["init"] and service["tmpfs"]
            assert all(port.startswith("127.0.0.1:") for port in service.get("ports", []))


@built
def test_it_is_small_and_runs_as_nobody_from_a_read_only_file_system(image: Image, tmp_path: Path) -> None:
    files = [each.lstat() for each in Path(image.root).rglob("*") if each.is_file() and not each.is_symlink()]
    size = sum(file.st_size for file in files)
    assert size < MOST_BYTES
    assert not list(Path(image.root).rglob("secrets.toml")) and not (Path(image.root) / "source").exists()
    held = json.loads(buildah("inspect", "--type=image", image.name))["OCIv1"]["config"]
    assert held["User"] == "ladder" and held["Volumes"] == {"/data": {}}
    run = json.loads(image.told(tmp_path / "volume", "run", "reduce_sequential", "--n", "4096", "--json"))
    assert run["status"] == "ok"
    assert "NVRTC" in image.told(tmp_path / "volume", "doctor")


@built
def test_it_ends_at_a_signal_and_comes_back_with_its_keys(image: Image, tmp_path: Path) -> None:
    keys = []
    for _ in range(2):
        port = free_port()
        with image.start(tmp_path / "volume", "--address", "0.0.0.0", "--port", str(port)) as server:
            wait_for_answer(port, lambda: server.poll() is None)
            found = list((tmp_path / "volume").rglob("class-keys"))
            keys.append(found[0].read_text())
            asked = time.monotonic()
            # To the container's first process; `unshare` only waits for it.
            (first,) = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
            os.kill(int(first), signal.SIGTERM)
            server.wait(timeout=15)
            assert time.monotonic() - asked < 10  # Docker kills after ten seconds
    assert keys[0] == keys[1]


@built
@pytest.mark.skipif(shutil.which("podman-compose") is None, reason="needs podman-compose")
def test_the_laptops_compose_file_starts_the_image(image: Image) -> None:
    buildah("tag", image.name, "localhost/kernel-ladder")
    compose = ["podman-compose", "-p", "kernel-ladder-test", "-f", str(COMPOSED / "laptop.yaml")]
    try:
        subprocess.run([*compose, "up", "-d", "--no-build"], check=True, timeout=120)
        wait_for_answer(8501)
    finally:
        subprocess.run([*compose, "down", "-v"], check=True, timeout=120)
        buildah("rmi", "localhost/kernel-ladder")
