"""Every word of the field in the texts of rungs has an entry, with a short explanation, a drawing and true numbers."""

from __future__ import annotations

import re
from string import Formatter
from xml.etree import ElementTree

import pytest

from engine.catalogue import KERNELS, LADDERS, Ladder
from engine.catalogue.gpu_models import H200
from engine.history import profiles
from engine.history.history import look_up
from engine.history.records import records
from engine.history.tables import COLUMNS, ladder_table, tile_text, tile_title
from engine.lectures.terms import TERMS, pattern, sentence, spellings
from engine.lectures.terms_drawing import HIGH, WIDE
from engine.model.estimate import gpu
from engine.plan import describe_launches, settle
from engine.records import Choice
from engine.records.counters import COUNTERS, IN_PLOTS, IN_TILES, plotted
from engine.records.words import text_of

# Words of the CUDA programming guide and of Nsight Compute, as stems; a text may begin to use any of them.
FIELD = (
    "arithmetic intensity", "async", "atomic", "ballot", "bandwidth", "bank", "barrier", "block", "broadcast",
    "cluster", "coalesc", "compare-and-swap", "constant memory", "contention", "converg", "cooperative group",
    "copy engine", "deadlock", "diverg", "fence", "global memory", "grid", "host", "in flight", "kernel", "l1", "l2",
    "lane", "latenc", "launch", "little's law", "local memory", "lock", "lockstep", "multiprocessor", "occupan",
    "padd", "peak", "pinned", "pipelin", "predicat", "prefix sum", "race", "register", "residen", "roof", "scan",
    "scheduler", "sector", "serialis", "shared memory", "shuffl", "speedup", "spill", "starvation", "strid", "swizzl",
    "syncthreads", "syncwarp", "tensor core", "tensor map", "texture", "thread", "throughput", "tile", "tiling", "tma",
    "uncoalesc", "unified memory", "unroll", "vector load", "vectori", "volatile", "warp", "warpgroup", "wavefront",
)  # fmt: skip
FOUND = re.compile(pattern(), re.IGNORECASE)
SAMPLE = ("harris", "cs121-banks", "cs121-coalescing", "crovella")


def texts() -> set[str]:
    """The texts of all rungs, and the names of the tiles, as HTML."""
    rungs = [rung for ladder in LADDERS.values() for rung in ladder.rungs]
    parts = {part for rung in rungs for part in (rung.lead, rung.fixes)}
    parts |= {KERNELS[rung.kernel].header[label] for rung in rungs for label in ("Idea", "Limit")}
    return parts | {tile_title(names) for names in IN_TILES} | {COLUMNS[name].title for name in TILES}


TILES = ("time_us", "bandwidth_gb_s", "gflop_s", "step", "cumulative", "percent_of_peak")


def test_every_word_of_the_field_in_a_text_is_a_term() -> None:
    words = re.compile(rf"(?<![\w.\-])(?:{'|'.join(FIELD)})[a-z]*(?![\w(\[\-]|\.\w)", re.IGNORECASE)
    seen, lacking = set(), set()
    for text in texts():
        covered = {place for found in FOUND.finditer(text) for place in range(*found.span())}
        for found in words.finditer(text):
            seen.add(found[0].lower())
            if found.start() not in covered:
                lacking.add(found[0].lower())
    assert len(seen) > 60 and not lacking


@pytest.mark.parametrize("name", TERMS)
def test_a_term_is_short_drawn_and_found_by_its_name(name: str) -> None:
    term = TERMS[name]
    assert 8 <= len(term.text.split()) <= 60
    drawn = ElementTree.fromstring(term.drawing)
    assert drawn.get("viewBox") == f"0 0 {WIDE} {HIGH}" and drawn.get("aria-label") and len(drawn) >= 2
    for shape in drawn.iter("{http://www.w3.org/2000/svg}rect"):
        x, y, wide, high = (float(shape.get(key, "")) for key in ("x", "y", "width", "height"))
        assert x >= 0 and x + wide <= WIDE and y >= 0 and y + high <= HIGH
    assert {spellings()[found.lower()] for found in FOUND.findall(name.replace("'", "&#x27;"))} == {name}


def test_the_figures_of_the_h200_are_those_of_its_record_and_of_the_model() -> None:
    device = records()["nvidia-h200"].recording.device
    assert f"{device['l2_bytes'] >> 20} MB on an H200" in TERMS["L2 cache"].text
    cycles = gpu().constants["dram_latency"]
    seconds = cycles / (device["clock_max_mhz"] * 1e6)
    in_flight = H200.bandwidth_gb_s * 1e9 * seconds
    law = TERMS["Little's law"].text
    assert f"{round(cycles, -1):.0f} cycles" in law and f"{5 * round(seconds * 1e9 / 5)} ns" in law
    assert f"{in_flight / 1e6:.1f} MB" in law and f"{in_flight / H200.multiprocessors / 1e3:.0f} KB" in law
    assert f"{H200.threads // 32} on an H200" in TERMS["occupancy"].text


def test_there_are_enough_terms_and_no_spelling_has_two() -> None:
    assert len(TERMS) >= 24 and len({term.anchor for term in TERMS.values()}) == len(TERMS)
    given = [word.lower() for term in TERMS.values() for word in {term.name, *term.others}]
    assert sorted({*given}) == sorted(given)


def rows_of(ladder: Ladder) -> list[dict[str, object]]:
    """The rows of a ladder with the recorded times, and with the counts that a GPU's profiler recorded."""
    choices = [settle(Choice(rung.kernel, n=ladder.n, block_size=ladder.block_size, dtype=ladder.dtype,
                             combine=rung.combine)) for rung in ladder.rungs]  # fmt: skip
    rows = ladder_table(ladder, choices, [look_up(choice) for choice in choices]).to_dict("records")
    profiled = [profiles.nearest_counters(choice) for choice in choices]
    counts = [plotted(found.counters if found else None) for found in profiled]
    return [{**row, **counted, "launch": describe_launches(choice)}
            for row, counted, choice in zip(rows, counts, choices, strict=True)]  # fmt: skip


NUMBER = re.compile(r"\d[\d,.]*(?: [MG]\b)?")


@pytest.mark.parametrize("name", SAMPLE)
def test_the_numbers_of_a_sentence_are_those_of_the_tiles(name: str) -> None:
    told: set[str] = set()
    for row in rows_of(LADDERS[name]):
        shown = {key: text_of(key, row[key]) for key in (*TILES, *IN_PLOTS)}
        shown |= {names[0]: tile_text(row, names) for names in IN_TILES} | {"launch": str(row["launch"])}
        for term in TERMS.values():
            said = sentence(term, row)
            fields = [field for _, field, _, _ in Formatter().parse(term.here) if field]
            assert bool(said) == (bool(fields) and all(map(shown.get, fields)))
            numbers = [number for field in fields for number in NUMBER.findall(shown[field])] if said else []
            own = NUMBER.findall(re.sub(r"{\w+}", "", term.here))
            assert sorted(NUMBER.findall(said.rstrip("."))) == sorted([*numbers, *own] if said else [])
            told |= {term.name} if said else set()
    assert len(told) > 8 and {"speedup", "bandwidth", "block", "sector"} <= told


def test_a_sentence_is_absent_if_one_of_its_numbers_is_not_known() -> None:
    row = {"wavefronts": 12, "bank_conflicts": None, "caveats": None}
    assert (
        sentence(TERMS["wavefront"], row) == sentence(TERMS["bank conflict"], {}) == sentence(TERMS["race"], row) == ""
    )
    assert "12" in sentence(TERMS["shared memory"], row)
    full = {**dict.fromkeys(COUNTERS, 3.0), **dict.fromkeys(COLUMNS, 3.0), "caveats": None, "launch": "3 blocks"}
    assert all("3" in sentence(term, full) for term in TERMS.values() if term.here)
