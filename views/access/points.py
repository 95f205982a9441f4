"""Return the points of a sheet to the learning platform that a student came from, beside the page."""

from __future__ import annotations

import json
import logging
import secrets
import threading
import time
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from engine.records import NotRunnable
from engine.records.json_text import read_json
from engine.sheets.progress import Progress
from engine.sheets.sheet import Sheet
from engine.store import progress as store
from views.access import lti
from views.access.lti import SCORE, Platform

LOG = logging.getLogger("kernel_ladder.access")
PAUSES_S = (0.0, 2.0, 10.0, 60.0)  # before each try
_said: dict[tuple[str, str], str] = {}  # owner, sheet -> what became of the points


def send(owner: str | None, sheet: Sheet, known: Progress) -> None:
    """Send the points that the student has now, in a thread; nothing for who did not come from a platform."""
    raw = store.return_of(owner, sheet.name) if owner else None
    if owner is None or raw is None:
        return
    place = json.loads(raw)
    score = {
        "userId": place["user"], "scoreGiven": known.points(sheet), "scoreMaximum": sheet.points,
        "activityProgress": "Completed" if known.done(sheet) else "InProgress", "gradingProgress": "FullyGraded",
        "timestamp": datetime.now(UTC).isoformat(),
    }  # fmt: skip
    _said[owner, sheet.name] = f"Your points are on their way to {_host(place)}."
    threading.Thread(target=_send, args=(owner, sheet.name, place, score), daemon=True, name="points").start()


def said(owner: str | None, sheet: Sheet) -> str:
    """Return what became of the points, in a sentence; "" for who did not come from a platform."""
    raw = store.return_of(owner, sheet.name) if owner else None
    if owner is None or raw is None:
        return ""
    return _said.get((owner, sheet.name), f"Your points go to {_host(json.loads(raw))} after each check.")


def _send(owner: str, sheet: str, place: dict[str, Any], score: dict[str, Any]) -> None:
    import httpx

    told = f"{score['scoreGiven']:g} of {score['scoreMaximum']:g} points"
    for pause in PAUSES_S:
        time.sleep(pause)
        try:
            _post(place, score)
        except (httpx.HTTPError, httpx.InvalidURL, NotRunnable, OSError, ValueError, TypeError, KeyError) as error:
            trouble = f"{type(error).__name__}: {error}"
            _said[owner, sheet] = f"{told} did not reach {_host(place)} yet: what you passed stays passed here."
            continue
        _said[owner, sheet] = f"{told} are at {_host(place)}."
        _log(sheet, place, "ok")
        return
    _log(sheet, place, trouble)


def _post(place: dict[str, Any], score: dict[str, Any]) -> None:
    """Send a score. httpx.HTTPError, ValueError: it did not arrive; NotRunnable: the platform is no longer set up."""
    import httpx

    names = (place["issuer"], place["client_id"])
    platform = next((one for one in lti.platforms() if (one.issuer, one.client_id) == names), None)
    if platform is None:
        raise NotRunnable(f"{place['issuer']} is not set up any more.")
    address = urlsplit(place["lineitem"])
    with httpx.Client(timeout=10.0) as client:
        answer = client.post(
            address._replace(path=f"{address.path.rstrip('/')}/scores").geturl(),
            content=json.dumps(score),
            headers={
                "authorization": f"Bearer {_access(client, platform)}",
                "content-type": "application/vnd.ims.lis.v1.score+json",
            },
        )
        answer.raise_for_status()


def _access(client: Any, platform: Platform) -> str:
    """Return a platform's permission to write scores, for which this tool signs."""
    from joserfc import jwt

    now, own = int(time.time()), lti.key()
    claims = {"iss": platform.client_id, "sub": platform.client_id, "aud": platform.token_url, "iat": now,
              "exp": now + 300, "jti": secrets.token_urlsafe(16)}  # fmt: skip
    asked = {
        "grant_type": "client_credentials",
        "client_assertion_type": "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
        "client_assertion": jwt.encode({"alg": "RS256", "kid": own.kid}, claims, own),
        "scope": SCORE,
    }
    return str(read_json(client.post(platform.token_url, data=asked).raise_for_status().content)["access_token"])


def _host(place: dict[str, Any]) -> str:
    return lti.host_of(str(place["issuer"])) or str(place["issuer"])


def _log(sheet: str, place: dict[str, Any], outcome: str) -> None:
    utc = datetime.now(UTC).isoformat(timespec="milliseconds")
    LOG.info(json.dumps({"utc": utc, "event": "points", "outcome": outcome, "sheet": sheet, "to": _host(place)}))
