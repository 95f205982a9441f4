"""What the debugger's page shows, as its address says, and the run that records it."""

from __future__ import annotations

import base64
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import streamlit as st

from engine.catalogue import KERNELS
from engine.compile.limits import check_text
from engine.lab.debugger import Debugger, Touch
from engine.lab.setups import Setup, setup_of
from engine.plan import settle
from engine.records import Choice, NotRunnable, Settled
from engine.records.words import digits
from engine.service import service
from engine.service.service import submit_debugger
from views.lab.drafts import unpack
from views.shared import address, menus, presence, work
from views.shared.work import Work

WORK = "debugger work"
LONGEST = 24_000  # letters of a packed text in an address; browsers and servers refuse longer ones
_TEXT = "debugger text"  # the text itself, for one that is too long for the address
# The choices of the page with their defaults, by their names in the address.
CHOICES = {"text": "", "file": "kernel.cu", "launched": "", "size": "1", "order": menus.LOCKSTEP, "inblock": "0",
           "inlaunch": "1", "thread": "0", "at": "", "watch": "", "lanes": "", "array": "", "place": "0", "lines": "",
           "element": ""}  # fmt: skip
_RUNG = "rung "  # begins the words of a rung's launch


@dataclass(frozen=True)
class Asked:
    """A block to record. `launched`: the reader's own launch, or the rung whose source is `text`; `element`: of an
    array: the block that writes it last is asked for."""

    launched: Setup | Settled
    n: int
    text: str
    file: str
    schedule: str | None
    block: int
    launch: int
    element: tuple[str, int] | None


class DebuggerWork(Work):
    """The run that records. `found`: the debugger; `reason`: why there is none."""

    def __init__(self, asked: Asked, session: str) -> None:
        super().__init__(session)
        self.asked = asked
        self.found: Debugger | None = None
        self.reason: str | None = None
        self.opened = False  # whether the page has chosen its first moment
        self.pairs: dict[tuple[int, ...], tuple[Touch, Touch] | None] = {}  # of the lines of a finding
        try:
            check_text(asked.file, asked.text)
            submit = partial(submit_debugger, asked.launched, asked.n, asked.text, asked.file, asked.schedule,
                             asked.block, asked.launch, asked.element, session)  # fmt: skip
            self._start("Recording a block of the unoptimised build", submit, self._take)
        except NotRunnable as refused:
            self.reason = str(refused)

    def pair(self, lines: Sequence[int]) -> tuple[Touch, Touch] | None:
        """Return the accesses of a finding at these lines, which are looked for once; None without any."""
        key = tuple(lines)
        if key not in self.pairs:
            self.pairs[key] = self.found.pair(key[0], key[-1]) if key and self.found else None
        return self.pairs[key]

    def _take(self, handle: service.Handle) -> None:
        try:
            self.found = handle.result()
        except Exception as error:  # the page shows any failure
            self.reason = str(error)


def work_on(asked: Asked) -> DebuggerWork:
    """Return the page's work on `asked`, started unless it is there already."""
    now = work.current(WORK)
    if isinstance(now, DebuggerWork) and now.asked == asked:
        return now
    work.stop(WORK)
    made = st.session_state[WORK] = DebuggerWork(asked, presence.session())
    return made


def open_draft(text: str, file: str, launched: Setup | Settled, n: int, schedule: str | None, **more: str) -> None:
    """Make the page's choices those of a draft. `more`: where it opens: the "lines" of a finding, an "element"."""
    packed = pack(text)
    st.session_state[_TEXT] = text
    st.session_state.pop(WORK, None)
    words = launched.call if isinstance(launched, Setup) else _rung_words(launched)
    chosen = {**CHOICES, "launched": words, "size": str(n), "file": file, "order": schedule or menus.LOCKSTEP,
              "text": packed if len(packed) <= LONGEST else "", **more}  # fmt: skip
    address.keep("", chosen)


def _rung_words(choice: Settled) -> str:
    return f"{_RUNG}{choice.kernel} {choice.block_size} {choice.dtype} {choice.combine}"


def _launched(words: str, n: int) -> Setup | Settled:
    """Return the launch of words in an address. NotRunnable: they are none."""
    if not words.startswith(_RUNG):
        return setup_of(words)
    kernel, block, dtype, combine = (*words.removeprefix(_RUNG).split(), "", "", "", "")[:4]
    block_size = menus.number_of(block, "The block size")
    if kernel not in KERNELS:
        raise NotRunnable(f"There is no kernel {kernel!r} in this catalogue.")
    return settle(Choice(kernel, n, block_size, dtype=dtype, combine=combine or None, device="emulator"))


def asked_for() -> Asked | None:
    """Return what the address asks for; None without a text. NotRunnable: it cannot be read."""
    chosen = {name: str(st.session_state.get(name) or usual) for name, usual in CHOICES.items()}
    if chosen["text"]:
        st.session_state[_TEXT] = unpack(chosen["text"])
    text = st.session_state.get(_TEXT)
    if not text:
        return None
    n = menus.number_of(chosen["size"], "N")
    return Asked(
        _launched(chosen["launched"], n),
        n,
        str(text),
        chosen["file"],
        menus.schedule_of(chosen["order"]),
        menus.number_of(chosen["inblock"], "The number of the block"),
        menus.number_of(chosen["inlaunch"], "The number of the launch"),
        element_of(chosen["element"]),
    )


def text() -> str:
    """Return the text on the page, "" without one."""
    return str(st.session_state.get(_TEXT) or "")


def element_of(words: str) -> tuple[str, int] | None:
    """Return (array, index) of "y:1555"; None of anything else."""
    name, _, index = words.rpartition(":")
    number = digits(index)
    return (name, number) if name and number is not None else None


def pack(text: str) -> str:
    """Return a text for an address, as `unpack` reads it."""
    return base64.urlsafe_b64encode(zlib.compress(text.encode(), 9)).decode().rstrip("=")
