"""The question over the presenter's slide: its answers, the number of votes, and then how the hall has voted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from engine.figures.bars import HELD
from engine.lectures.questions import BadQuestions, Question, question_of
from views.ladder.panels import change
from views.ladder.view import Page, facts_of
from views.room import tickets, votes
from views.shared import rungs, work

STYLE = Path(__file__).with_name("question.css")
HANDS = "hands"
ENDED = "Another page that presents has ended this question. Its votes are kept."
ENDING = "This slide has ended the question of another page that presents. Its votes are kept."
_SAID, _COUNTING = "said of the question", "question whose hands are counted"
_HERE = "question on this slide"  # its lecture and its name
_ENDED = "question that has ended"  # the slide that says so, and the sentence; a step or a press of Q takes it away


def press(page: Page) -> None:
    """Ask the question of the slide; close it; ask it again. For callbacks."""
    lecture, asked = tickets.lecture(), votes.now()
    if not lecture or not work.is_presenting():
        return
    st.session_state[_COUNTING] = ""
    lost = _is_lost(page, lecture, asked)
    forget()
    if lost:
        _say_ended(page, ENDED)
    elif asked is not None and asked["name"] == _name(page) and asked["open"]:
        votes.close()
    elif page.covered:
        try:
            votes.ask(lecture, _name(page), _question(page))
        except (BadQuestions, LookupError) as refusal:
            st.session_state[_SAID] = str(refusal)
    else:
        votes.withdraw()


def forget() -> None:
    """Forget the question on this slide, as its own page ends it. For callbacks."""
    st.session_state[_HERE] = st.session_state[_ENDED] = None


def _is_lost(page: Page, lecture: str, asked: Mapping[str, Any] | None) -> bool:
    """Return whether another page has ended the question on this slide."""
    here = (lecture, _name(page))
    return st.session_state.get(_HERE) == here and (asked is None or (asked["lecture"], asked["name"]) != here)


def _say_ended(page: Page, sentence: str) -> None:
    st.session_state[_ENDED] = _slide(page), sentence


def _slide(page: Page) -> tuple[str, bool]:
    return _name(page), page.covered


def count_hands(page: Page) -> None:
    """Show the field for counted hands while the question is open, or hide it. For callbacks."""
    asked = votes.now()
    if asked is not None and asked["open"] and work.is_presenting():
        counting = st.session_state.get(_COUNTING) == asked["name"]
        st.session_state[_COUNTING] = "" if counting else asked["name"]


def show(page: Page) -> None:
    """Draw the question if one is asked on this slide. On another slide it ends; once the numbers are shown, its right
    answer is told."""
    lecture, asked, said = tickets.lecture(), votes.now(), st.session_state.pop(_SAID, "")
    if not lecture or not work.is_presenting():
        return
    here = (lecture, _name(page))
    if _is_lost(page, lecture, asked):
        _say_ended(page, ENDED)
    if asked is not None and (asked["lecture"], asked["name"]) != here:
        if asked["open"] and st.session_state.get(_HERE) not in (here, (asked["lecture"], asked["name"])):
            _say_ended(page, ENDING)
        votes.withdraw()
        asked = None
    elif asked is not None and not page.covered and asked["right"] is None:
        votes.close()
        votes.answer(_question(page, asked["edges"]))
        asked = votes.now()
    st.session_state[_HERE] = here if asked is not None else None
    slide, ended = st.session_state.get(_ENDED) or (None, "")
    said = said or (ended if slide == _slide(page) else "")
    if asked is None and not said:
        return
    st.html(STYLE)
    if said:
        st.html(f'<aside class="question said" role="alert"><p>{escape(said)}</p></aside>')
    if asked is not None:
        st.html(_html(asked, tickets.ticket(lecture)))
    if asked is not None and asked["open"] and st.session_state.get(_COUNTING) == asked["name"]:
        st.text_input("Hands for each answer", key=HANDS, on_change=_take_hands,
                      placeholder="12 30 5 3, then Enter")  # fmt: skip


def _take_hands() -> None:
    typed = str(st.session_state.get(HANDS) or "")
    st.session_state[HANDS] = ""
    try:
        votes.count_hands([int(word) for word in typed.replace(",", " ").split()])
        st.session_state[_COUNTING] = ""
    except ValueError as refusal:
        told = str(refusal) if str(refusal).endswith(".") else "Type whole numbers, one for each answer: 12 30 5 3."
        st.session_state[_SAID] = told


def _name(page: Page) -> str:
    rung, choice = rungs.names(page.ladder)[page.position], page.choice
    return f"{page.ladder.name}~{rung}~{choice.n}~{choice.block_size}"


def _question(page: Page, edges: Sequence[float] = ()) -> Question:
    rows = [row.get(HELD, row) for row in facts_of(page).rows]
    return question_of(page.ladder, page.position, rows, change.counts_of(page)[0], edges)


def _html(asked: Mapping[str, Any], ticket: str) -> str:
    """Return the question: its answers while it is open, then the votes of each round for each answer."""
    told = not asked["open"]
    rows = "".join(_answer(asked, i, told) for i in range(len(asked["choices"])))
    kind = "open" if asked["open"] else "closed" if asked["right"] is None else "answered"
    round = f" in round {asked['round']}" if asked["round"] > 1 else ""
    keys = "<kbd>Q</kbd> closes it, <kbd>H</kbd> counts hands" if asked["open"] else (
        "<kbd>Q</kbd> asks again, <kbd>→</kbd> shows the numbers" if kind == "closed" else "")  # fmt: skip
    live = f' class="votes" data-ticket="{ticket}" data-question="{escape(asked["name"])}"' if asked["open"] else ""
    return (
        f'<aside class="question {kind}" role="dialog" aria-label="Question"><h2>{escape(asked["text"])}</h2>'
        f'<ol>{rows}</ol><p class="because">{escape(asked["because"] or "")}</p>'
        f"<p>Votes{round}: <b{live}>{asked['votes']}</b> <small>{keys}</small></p></aside>"
    )


def _answer(asked: Mapping[str, Any], position: int, told: bool) -> str:
    right = asked["right"] == position
    bars = ""
    for number, counts in enumerate(asked["counts"] if told else (), 1):
        share = 100 * counts[position] / max(1, sum(counts))
        bars += (f'<i class="bar round{min(number, 3)}" style="--share: {share:.1f}%"></i>'
                 f"<em>{share:.0f}%</em>")  # fmt: skip
    mark = " ✓" if right else ""
    letter = "ABCDEF"[position]
    return (f'<li class="{"right" if right else ""}"><b>{letter}</b><span>{escape(asked["choices"][position])}{mark}'
            f"</span>{bars}</li>")  # fmt: skip
