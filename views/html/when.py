"""When something ran, in a reader's words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

NOW = timedelta(seconds=45)


def ran(utc: str, zone: str | None, now: datetime | None = None) -> str:
    """ "run just now, 14:03:22", "run at 13:40" today, "run on 2026-11-20"; "" where nothing says when.

    `utc`: ISO 8601; `zone`: the reader's, such as "Europe/Berlin", else UTC, which is then said.
    """
    if not utc:
        return ""
    place = ZoneInfo(zone) if zone else UTC
    then, today = datetime.fromisoformat(utc).astimezone(place), (now or datetime.now(UTC)).astimezone(place)
    named = "" if zone else " UTC"
    if today - then < NOW:
        return f"run just now, {then:%H:%M:%S}{named}"
    return f"run at {then:%H:%M}{named}" if then.date() == today.date() else f"run on {then:%Y-%m-%d}"
