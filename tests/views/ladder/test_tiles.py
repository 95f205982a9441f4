"""A tile and the sentence beside it say the same number."""

from __future__ import annotations

import re

import pytest

from engine.catalogue import KERNELS, default_choice
from engine.history.tables import tile_text, tile_title
from engine.records.counters import IN_TILES, plotted
from tests.made import measure

# "Each request touches 32 sectors", "Each store touches 32 sectors": of loads, if the sentence does not say stores.
TOUCHED = re.compile(r"[Ee]ach (request|store)[^.;]*? touches (\d+) sectors")
SECTORS = [
    (kernel.name, "sectors_per_store" if what == "store" else "sectors_per_load", int(count))
    for kernel in KERNELS.values()
    for what, count in TOUCHED.findall(" ".join(kernel.header.get(part, "") for part in ("Fixes", "Limit")))
]
# "One sector more per request: 5 instead of 4"; "4 * STRIDE up to stride 8, and then 32".
SECTORS += [("copy_offset", "sectors_per_load", 5), ("copy_strided", "sectors_per_load", 32)]


@pytest.mark.parametrize(("kernel", "counter", "told"), SECTORS)
def test_the_sectors_of_a_tile_are_those_of_the_rungs_sentence(kernel: str, counter: str, told: int) -> None:
    plain = default_choice(kernel)
    small = 64 if KERNELS[kernel].topic in ("matrix_sums", "transpose") else 1024
    choice = type(plain)(
        kernel, small, plain.block_size, dtype=plain.dtype, device="emulator", parameter=plain.parameter
    )
    found = plotted(measure(choice).counters)[counter]
    assert found is not None and round(found) == told


def test_loads_and_stores_are_two_numbers_of_one_tile_and_counts_of_ptx_say_so() -> None:
    row = {"sectors_per_load": 32.0, "sectors_per_store": 4.0, "caveats": None, "barriers": None}
    names = next(names for names in IN_TILES if "sectors_per_load" in names)
    assert (tile_title(names), tile_text(row, names)) == ("Sectors per load / store", "32 / 4")
    assert tile_text({**row, "sectors_per_store": None}, names) == "32 / –"
    assert tile_text({**row, "caveats": "On a GPU it differs."}, names) == "≈ 32 / 4"
    assert tile_text(row, ("barriers",)) == ""
    assert tile_title(("divergent_branches",)).endswith("(PTX)")
