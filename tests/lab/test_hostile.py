"""Whatever is pasted ends in an answer or one sentence: kernels of the catalogue, broken in many ways."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import numpy as np
import pytest

import engine
from engine.catalogue import KERNELS
from engine.lab.setups import launching, setup_of
from engine.lab.signatures import Parameter, kernels_in
from engine.records import CompileError, NotRunnable, RunFailed
from tests.fuzz.source_mutations import mutated_source
from tests.lab import hostile
from tests.lab.hostile_sources import FAMILIES, hostile_sources

HEADS = (
    "using T = float;\n#define BLOCK_SIZE 64\n#define TILE_WIDTH 8\n#define BINS 32\n",
    "#include <vector>\ntypedef int T;\nconst int BLOCK_SIZE = 32;\nstd::vector<T> all;\n",
    "int main(int argc, char **argv) { return 0; }\n",
    "/* ",
)
CUTS = "{}();\"'/*\n#<>\\"


def argument(parameter: Parameter, make: random.Random) -> object:
    if make.random() < 0.1:
        return make.choice((None, -1, 2.5, np.int64(7), np.zeros(0, np.float16), "x", 1 << 40))
    if parameter.size == 8:
        return np.zeros(1000, make.choice(("f4", "i4")))
    return 1.5 if parameter.kind == "f" else make.choice((1000, 1, 2000))


def pasted(make: random.Random) -> str:
    text = KERNELS[make.choice(list(KERNELS))].text
    for _ in range(make.randint(0, 3)):
        if make.random() < 0.6:
            text = mutated_source(text, make)
        else:
            at = make.randrange(len(text) + 1)
            text = text[:at] + make.choice(CUTS) + text[at + make.randint(0, 2) :]
    return make.choice((HEADS[0], HEADS[0], *HEADS)) + text


@pytest.mark.sampled(quick=0, thorough=6)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(1, 12))])
def test_a_broken_file_ends_in_a_sentence(seed: int) -> None:
    make = random.Random(seed)
    for _ in range(8):
        text = pasted(make)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                kernel = engine.kernel(text, next(iter(kernels_in(text)), None))
                passed = [argument(parameter, make) for parameter in kernel.parameters]
                run = kernel.run(make.choice((1, 2, (2, 2))), make.choice((32, 64, (8, 8), 1025)), passed, seconds=5)
                assert "<table>" in run._repr_html_()
        except (CompileError, NotRunnable, RunFailed) as error:
            sentence = str(error)
            assert error.__cause__ is None and sentence.endswith(".") and "\n" not in sentence, (sentence, text)


@pytest.mark.parametrize(
    "words",
    ["M8[n]", "V[2**63]", "V[n]", "U10[n]", f"float32[{'1, ' * 66}1]", "{" * 3000 + "1" + "}" * 3000,
     "{" * 20_000, "(" * 100_000, "9" * 5000, "10" + " + 1" * 200, "float32[" + "9" * 5000 + "]"],
)  # fmt: skip
def test_hostile_words_of_a_launch_end_in_a_sentence(words: str) -> None:
    for n in (1000, 2**63):
        for call in (f"k<<<1, 1>>>({words})", f"k<<<{words}, 1>>>()"):
            with pytest.raises(NotRunnable, match=r"\.$"):
                launching(setup_of(call), n)


def test_a_header_with_an_endless_name_is_missing() -> None:
    text = f'#include "{"a" * 5000}.h"\n__global__ void k(int *a) {{ a[0] = 1; }}'
    assert "is missing" in str(engine.kernel(text).warnings[0])


def test_a_file_without_an_end_is_refused() -> None:
    with pytest.raises(NotRunnable, match="a source may have 256"):
        engine.kernel(Path("/dev/zero"))


def test_hostile_sources_differ_and_are_the_same_every_time() -> None:
    folder = Path("/secrets")
    found = list(hostile_sources(folder, 4 * len(FAMILIES)))
    assert found == list(hostile_sources(folder, len(found))) and len({one.raw for one in found}) == len(found)
    assert {one.family for one in found} == FAMILIES.keys()


@pytest.mark.thorough
def test_six_hostile_sources_leak_nothing_and_end() -> None:
    """All of them: `python -m tests.lab.hostile`."""
    slot = hostile.worker()
    try:
        with hostile.folder_of_secrets() as folder:
            rows = hostile.tried(slot, folder, list(hostile_sources(folder))[20:1000:164])
            wrong = [(row.hostile.family, row.wrong) for row in rows if row.wrong]
    finally:
        slot.close()
    assert not wrong
