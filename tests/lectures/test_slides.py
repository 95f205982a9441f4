"""Every slide that a claim, a rung or a sheet names is one of its lecture; tests/golden/slides.json has the titles."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

from engine.catalogue import LADDERS, published
from engine.lectures.judge import CLAIMS
from engine.sheets.folder import load, names

TITLES = json.loads((Path(__file__).parents[1] / "golden" / "slides.json").read_text(encoding="utf-8"))
SLIDES = {lecture: {title.lower() for title in titles} for lecture, titles in TITLES.items()}
OURS = ("one-launch", "beyond-tiling", "tensor-cores", "argmax", "transpose")  # ladders of no lecture's own
AUTHORS = {"Cooper": "cooper", "Crovella": "crovella", "CS121": "cs121", "Heidelberg": "heidelberg", "He Kun": "hekun"}


def test_a_claim_names_a_slide_of_its_lecture() -> None:
    places = {(claim.lecture, slide.lower()) for claim in CLAIMS for slide in claim.slide.split("; ")}
    assert places and not [place for place in places if place[1] not in SLIDES[place[0]]]


def test_a_printed_figure_names_a_slide_of_its_lecture() -> None:
    text = Path(published.__file__).with_name("published").joinpath("figures.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))
    assert rows and not [row for row in rows if row["slide"].lower() not in SLIDES[row["lecture"]]]


def test_a_rung_names_slides_that_a_lecture_has() -> None:
    known = set.union(*SLIDES.values())
    named = {
        part.partition(":")[0] if part.partition(":")[0].lower() in ("further study", "full code") else part
        for name, ladder in LADDERS.items()
        if name not in OURS
        for rung in ladder.rungs
        for part in rung.slide.removesuffix(": h_k").split("; ")
        if part
    }
    assert len(named) > 40 and not [title for title in named if title.lower() not in known]


def test_a_sheet_names_slides_of_its_lecture() -> None:
    found = {
        (lecture, title.lower())
        for sheet in map(load, names())
        for author, lecture in AUTHORS.items()
        if sheet.lecture.startswith(author)
        for title in re.findall("“(.+?)”", sheet.lecture)
    }
    assert len(found) >= 10
    assert not [(lecture, title) for lecture, title in found if not any(title in slide for slide in SLIDES[lecture])]
