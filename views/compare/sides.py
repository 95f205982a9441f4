"""The two sides of a comparison: each is a rung with N, a block size, a record and an order of execution.

A side is one value of the address, its six parts joined by "~": LADDER~RUNG~4194304~128~nvidia-h200~lockstep. Parts at
the end may be missing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import streamlit as st

from engine.catalogue import KERNELS, LADDERS, TOPICS, Ladder, Rung
from engine.history.records import records
from engine.records import NotRunnable, Settled
from engine.records.words import size_text
from views.ladder import resolve
from views.ladder.panels.motion import is_drawn, short_run
from views.shared import menus, rungs
from views.shared.menus import AUTO, LOCKSTEP, SCHEDULES

Name = Literal["A", "B"]
PLACES: dict[Name, str] = {"A": "a", "B": "other"}  # the side's text in the session
PARTS = ("ladder", "rung", "n", "block", "record", "order")
SEPARATOR = "~"


@dataclass(frozen=True)
class Side:
    """One side. `rung`: its name in the address; `record`: a record's name."""

    ladder: str
    rung: str
    n: int
    block: int
    record: str
    order: str

    @property
    def text(self) -> str:
        """The side in the address."""
        return SEPARATOR.join(str(getattr(self, part)) for part in PARTS)

    @property
    def lecture(self) -> Ladder:
        """The ladder."""
        return LADDERS[self.ladder]

    @property
    def step(self) -> Rung:
        """The rung."""
        return self.lecture.rungs[rungs.names(self.lecture).index(self.rung)]

    @property
    def title(self) -> str:
        """The rung in words."""
        return f"{self.step.label}  {KERNELS[self.step.kernel].title}"

    @property
    def choice(self) -> Settled:
        """The choice that the time belongs to. NotRunnable."""
        chosen = resolve.USUAL | {"n": str(self.n), "block": str(self.block), "dtype": self.lecture.dtype,
                                  "record": self.record,
                                  "device": AUTO if self.order == LOCKSTEP else "emulator"}  # fmt: skip
        return resolve.choice_of(self.step, chosen, self.step)

    @property
    def run(self) -> Settled:
        """The choice that Run starts. NotRunnable."""
        return resolve.run_of(self.choice, self.lecture, AUTO, self.order)


def side_of(text: str) -> Side:
    """Read a side of the address. NotRunnable: a part is odd."""
    parts = text.split(SEPARATOR)
    if len(parts) > len(PARTS):
        raise NotRunnable(f"A side of a comparison has {len(PARTS)} parts, joined by {SEPARATOR}: {', '.join(PARTS)}.")
    given = dict(zip(PARTS, (*parts, *[""] * len(PARTS)), strict=False))
    ladder = LADDERS.get(given["ladder"])
    if ladder is None:
        raise NotRunnable(f"There is no ladder {given['ladder'][:40]!r}.")
    names = rungs.names(ladder)
    if given["rung"] not in ("", *names):
        raise NotRunnable(f"There is no rung {given['rung'][:40]!r} on the ladder {ladder.name}.")
    menus.schedule_of(given["order"] or LOCKSTEP)
    return Side(
        ladder.name,
        given["rung"] or names[0],
        menus.number_of(given["n"][:40], "N") if given["n"] else ladder.n,
        menus.number_of(given["block"][:40], "The block size") if given["block"] else ladder.block_size,
        menus.known_record(given["record"]) or next(iter(records()), ""),
        given["order"] or LOCKSTEP,
    )


def side_on_page(back: int = 0) -> Side:
    """Return the side for the rung that the ladder page shows, or `back` rungs before it, with its choices. For the
    first rung, it is the second one's."""
    state = {name: str(st.session_state.get(name) or "") for name in ("ladder", "rung", "n", "block", "schedule")}
    ladder = LADDERS.get(state["ladder"], next(iter(LADDERS.values())))
    names = rungs.names(ladder)
    at = max(names.index(state["rung"]) if state["rung"] in names else 0, min(1, len(names) - 1))
    usual = side_of(f"{ladder.name}{SEPARATOR}{names[max(0, at - back)]}")
    numbers = (state["n"], state["block"], menus.chosen_record(), state["schedule"])
    try:
        return side_of(SEPARATOR.join((ladder.name, usual.rung, *numbers)))
    except NotRunnable:  # the ladder page says why
        return usual


def sides() -> tuple[dict[Name, Side], list[str]]:
    """Return both sides, and why a side of the address is not shown; a rung of the ladder page is then in its place."""
    found: dict[Name, Side] = {"A": side_on_page(1), "B": side_on_page()}
    refused = []
    for name, place in PLACES.items():
        text = str(st.session_state.get(place) or "")
        try:
            found[name] = side_of(text) if text else found[name]
            st.session_state[place] = found[name].text
        except NotRunnable as why:  # the address stays, for its reader to mend
            refused.append(f"{name}: {why} Shown instead: {found[name].step.label}.")
    return found, refused


def draw(name: Name, side: Side) -> None:
    """Draw the menus of one side."""
    ladder = side.lecture
    topic, known = TOPICS[ladder.topic], records()
    titles = dict(zip(rungs.names(ladder), (f"{rung.label}  {KERNELS[rung.kernel].title}" for rung in ladder.rungs),
                      strict=True))  # fmt: skip
    sizes = sorted({*topic.sizes, *(each.n for each in topic.ladders)})
    blocks = KERNELS[side.step.kernel].offered_block_sizes
    with st.container(horizontal=True, vertical_alignment="bottom", key=f"side{name}"):
        _menu(name, "ladder", f"{name}: ladder", side.ladder, {each.name: each.title for each in LADDERS.values()})
        _menu(name, "rung", "Rung", side.rung, titles)
        _menu(name, "n", topic.size_label, str(side.n), {str(n): size_text(n) for n in sizes}, new=True)
        _menu(name, "block", "Block size", str(side.block), {str(size): str(size) for size in blocks})
        _menu(name, "record", "Recorded on", side.record, {each.name: each.title for each in known.values()})
        _menu(name, "order", "Order", side.order, {each: each.replace(":", " ") for each in SCHEDULES}, new=True)


def _menu(name: Name, part: str, title: str, now: str, words: dict[str, str], new: bool = False) -> None:
    key, options = f"{name} {part}", list(words)
    st.session_state[key] = now
    options += [now] * (now not in words)
    st.selectbox(title, options, options.index(now), key=key, format_func=lambda text: words.get(text, text),
                 accept_new_options=new, on_change=_take, args=(name, part))  # fmt: skip


def _take(name: Name, part: str) -> None:
    """Take over a side's menus; another ladder comes with its own N, block size and first rung."""
    told = {each: str(st.session_state.get(f"{name} {each}") or "") for each in PARTS}
    if part == "ladder":
        told |= {"rung": "", "n": "", "block": ""}
    st.session_state[PLACES[name]] = SEPARATOR.join(told.values())


def set_sides(a: Side, b: Side) -> None:
    """Compare these two. For callbacks."""
    st.session_state[PLACES["A"]], st.session_state[PLACES["B"]] = a.text, b.text


def swapped(found: dict[Name, Side]) -> None:
    """Exchange the sides. For callbacks."""
    set_sides(found["B"], found["A"])


def named(side: Side, run: Settled) -> str:
    """Return the name of a side's run in the progress bar."""
    return f"{side.title}, N = {size_text(run.n)}"


def drawn(side: Side, whole: bool) -> Settled | None:
    """Return the short run whose block is drawn, at teaching size or `whole`; None if the emulator runs no blocks of
    this kernel. NotRunnable."""
    if not is_drawn(KERNELS[side.step.kernel]):
        return None
    return replace(short_run(side.lecture, side.run, whole), schedule=menus.schedule_of(side.order))
