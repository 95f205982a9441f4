"""What a running server says of itself, asked from outside; with the key in KERNEL_LADDER_KEY, where it wants one."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.request
from typing import Any

from engine.service.queue_state import Serving, hosts_text

TIMEOUT_S = 5.0
KEY = "KERNEL_LADDER_KEY"
ASKS = f"it asks for a key: give {KEY} the presenter's or an assistant's"


def ready(address: str) -> tuple[bool, str]:
    """Whether the server at `address` (http://host:port) can work, and what it says in one line."""
    url = address.rstrip("/") + "/readyz"
    if not url.startswith(("http://", "https://")):
        return False, f"{address} is no address of a server: write http://127.0.0.1:8501"
    try:
        key = os.environ.get(KEY)
        asked = urllib.request.Request(url)
        if key:
            asked.add_unredirected_header("Authorization", f"Bearer {key}")
        with urllib.request.urlopen(asked, timeout=TIMEOUT_S) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            return False, ASKS if error.code in (401, 403) else _refusal(error.read(), error.code)
    except (OSError, ValueError) as error:
        return False, f"{url} does not answer: {error}"
    return not found["reasons"], "; ".join([*found["reasons"], *_told(found["queue"])])


def _refusal(body: bytes, status: int) -> str:
    try:
        return "; ".join(json.loads(body)["reasons"])
    except (ValueError, KeyError, TypeError):
        return f"it answers with status {status}: another program, or an earlier version"


def _told(queue: dict[str, Any]) -> list[str]:
    who = hosts_text(Serving(**one) for one in queue.get("serving", ()))  # an earlier version does not say
    lines = [
        f"{device}: {workers} workers, {queue['running'][device]} jobs running, {queue['waiting'][device]} waiting"
        for device, workers in sorted(queue["workers"].items())
    ]
    return [who, *lines] if who else lines
