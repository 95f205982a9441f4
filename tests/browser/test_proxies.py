"""The proxies' configurations in docs/hosting, as they are, in front of a dashboard that asks for a key."""

from __future__ import annotations

import re
import shutil
import signal
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.browser.conftest import GIVEN, ROOT, START_S, free_port
from tests.browser.test_access_browser import SLIDE, signed_in
from tests.browser.test_dashboard import counted, heading
from tests.sentences import says
from tests.service.jobs import until

NAME = "ladder.example.org"
TRUSTING = ssl.create_default_context()
TRUSTING.check_hostname, TRUSTING.verify_mode = False, ssl.CERT_NONE


def changed(file: str, *changes: tuple[str, str]) -> str:
    """A configuration with other names and ports: every one of them must be there."""
    text = (ROOT / "docs" / "hosting" / file).read_text()
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def nginx(folder: Path, port: int, dashboard: str) -> list[str]:
    """The command that starts it."""
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost",
         "-keyout", folder / "privkey.pem", "-out", folder / "fullchain.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
    site = changed("nginx.conf", (NAME, "localhost"), ("/etc/ssl/kernel-ladder", str(folder)),
                   ("127.0.0.1:8501", dashboard), ("listen 80;", f"listen 127.0.0.1:{free_port()};"),
                   ("listen 443 ", f"listen 127.0.0.1:{port} "))  # fmt: skip
    (folder / "site.conf").write_text(site)
    own = "".join(
        f"{kind}_temp_path {folder}/{kind}; " for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; worker_processes 1; pid {folder}/pid; error_log stderr; events {{ }}\n"
        f"http {{ access_log off; {own}\ninclude {folder}/site.conf; }}\n"
    )
    return ["nginx", "-p", str(folder), "-c", str(folder / "nginx.conf")]


def caddy(folder: Path, port: int, dashboard: str) -> list[str]:
    """The command that starts it."""
    site = changed("Caddyfile", (f"{NAME} {{", f"https://localhost:{port} {{\n\ttls internal"),
                   ("127.0.0.1:8501", dashboard))  # fmt: skip
    own = ("admin off", "skip_install_trust", "auto_https disable_redirects", f"storage file_system {folder}/store")
    (folder / "Caddyfile").write_text("{\n\t" + "\n\t".join(own) + "\n}\n" + site)
    return ["caddy", "run", "--adapter", "caddyfile", "--config", str(folder / "Caddyfile")]


@contextmanager
def proxied(program: str, folder: Path, dashboard: str) -> Iterator[str]:
    """A proxy in front of the dashboard: its address."""
    port = free_port()
    command = {"nginx": nginx, "caddy": caddy}[program](folder, port, dashboard.removeprefix("http://"))
    log = folder / "proxy.log"
    with log.open("w") as out:
        running = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
    try:
        url = f"https://localhost:{port}"
        assert until(lambda: asked(f"{url}/healthz") == (200, "ok"), START_S), log.read_text()
        yield url
    finally:
        running.send_signal(signal.SIGTERM)
        running.wait(START_S)


def asked(url: str, **headers: str) -> tuple[int, str]:
    """Status and body."""
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=60, context=TRUSTING) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError as error:
        return 0, str(error)


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["nginx", "caddy"])
def test_a_class_works_through_the_proxy(program: str, browser: Browser, school: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"There is no {program} on this machine.")
    with proxied(program, tmp_path, school) as url:
        page = browser.new_context(viewport={"width": 1280, "height": 720}, ignore_https_errors=True).new_page()
        page.set_default_timeout(45_000)
        signed_in(page, f"{url}{SLIDE}", GIVEN["student"])
        heading(page, "bank conflicts")
        expect(page).to_have_url(re.compile(rf"^{url}/\?.*rung=reduce_strided.*n=4096"))
        page.locator(".st-key-run button").first.click()
        assert "Bank conflicts" in counted(page)
        cookies = {cookie["name"]: cookie for cookie in page.context.cookies()}
        assert "__Host-kernel-ladder" in cookies and all(cookie["secure"] for cookie in cookies.values())
        page.context.close()
        # What comes through the proxy is not from this computer, whatever it says of itself.
        assert asked(f"{url}/metrics", **{"X-Forwarded-For": "127.0.0.1"})[0] == 401
        assert asked(f"{url}/metrics", Authorization=f"Bearer {GIVEN['presenter']}")[0] == 200
        assert asked(f"{school}/metrics")[0] == 200


@pytest.mark.thorough
@pytest.mark.parametrize("program", ["nginx", "caddy"])
def test_a_dashboard_without_keys_is_not_opened_by_a_proxy(program: str, address: str, tmp_path: Path) -> None:
    if shutil.which(program) is None:
        pytest.skip(f"There is no {program} on this machine.")
    with proxied(program, tmp_path, address) as url:
        status, words = asked(url)
        assert status == 403 and says("proxy.needs-key", words)


@pytest.mark.thorough
def test_the_unit_is_one() -> None:
    program = shutil.which("systemd-analyze")
    if program is None:
        pytest.skip("There is no systemd-analyze on this machine.")
    unit = ROOT / "docs" / "hosting" / "kernel-ladder.service"
    told = subprocess.run([program, "verify", unit], capture_output=True, text=True, check=False)
    # That nothing is installed below /opt here is all that it may find.
    assert [line for line in told.stderr.splitlines() if unit.name in line and "is not executable" not in line] == []
