"""What the hall asks during a lecture, in the order in which it came."""

from __future__ import annotations

from dataclasses import dataclass

from engine.store.database import now, read, write

MOST = 500  # of one lecture; the oldest beyond it are dropped


@dataclass(frozen=True)
class Asked:
    """`slide`: the label of the rung that was shown; `done`: whether the lecturer has dealt with it."""

    id: int
    text: str
    slide: str
    utc: str
    done: bool


def keep(lecture: str, guest: str, slide: str, text: str) -> None:
    """Keep what a guest asks."""
    row = (lecture, guest, slide, text, now())
    oldest = (
        "DELETE FROM asked WHERE lecture = ? AND id NOT IN"
        " (SELECT id FROM asked WHERE lecture = ? ORDER BY id DESC LIMIT ?)"
    )
    write(lambda connection: (
        connection.execute("INSERT INTO asked (lecture, guest, slide, text, utc) VALUES (?, ?, ?, ?, ?)", row),
        connection.execute(oldest, (lecture, lecture, MOST)),
    ))  # fmt: skip


def set_done(lecture: str, id: int) -> None:
    """Mark a question as dealt with."""
    write(
        lambda connection: connection.execute("UPDATE asked SET done = 1 WHERE lecture = ? AND id = ?", (lecture, id))
    )


def all_of(lecture: str) -> list[Asked]:
    """Return what was asked in a lecture."""
    rows = read("SELECT id, text, slide, utc, done FROM asked WHERE lecture = ? ORDER BY id", lecture)
    return [Asked(int(id), text, slide, utc, bool(done)) for id, text, slide, utc, done in rows]


def last_of(lecture: str, guest: str) -> str:
    """Return when a guest last asked, "" if it has not."""
    rows = read("SELECT utc FROM asked WHERE lecture = ? AND guest = ? ORDER BY id DESC LIMIT 1", lecture, guest)
    return str(rows[0][0]) if rows else ""
