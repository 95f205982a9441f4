"""The counters: every one named, explained, and derived from what is counted."""

from __future__ import annotations

from engine.records.counters import COUNTERS, IN_JSON, IN_PLOTS, IN_TABLE, IN_TILES, ON_LINES, plotted, with_derived


def test_every_counter_has_a_title_and_a_meaning() -> None:
    assert all(row.title and row.meaning.endswith(".") for row in COUNTERS.values())
    assert len({row.label for row in COUNTERS.values()}) == len(COUNTERS)


def test_the_order_of_the_contract_is_that_of_its_places() -> None:
    assert [COUNTERS[name].json for name in IN_JSON] == list(range(1, len(IN_JSON) + 1))
    assert IN_JSON[:4] == ("warp_instructions", "thread_instructions", "active_lanes_per_instruction", "branches")


def test_counters_of_a_table_have_a_plot_and_a_heat_of_lines() -> None:
    assert set(IN_TABLE) <= set(IN_PLOTS) <= set(ON_LINES)
    assert sorted(name for names in IN_TILES for name in names) == sorted(IN_TABLE)


def test_counters_are_derived_and_missing_ones_stay_missing() -> None:
    raw = {
        "shared_load_requests": 10.0, "shared_store_requests": 5.0, "shared_load_wavefronts": 40.0,
        "shared_store_wavefronts": 5.0, "global_load_requests": 4.0, "global_load_sectors": 16.0,
        "global_store_requests": 0.0, "global_store_sectors": 0.0, "bank_conflicts": 30.0,
    }  # fmt: skip
    values = plotted(raw)
    assert values["bank_conflicts"] == 30 and values["wavefronts"] == 45 and values["sectors"] == 16
    assert values["sectors_per_load"] == 4 and values["sectors_per_store"] is None
    assert values["barriers"] is None
    assert set(plotted(None).values()) == {None}


def test_a_share_without_a_whole_is_left_out() -> None:
    counts = {"warp_instructions": 0, "thread_instructions": 0, "bank_conflicts": 3,
              "shared_load_conflicts": 1, "shared_store_conflicts": 1}  # fmt: skip
    found = with_derived(counts)
    assert "active_lanes_per_instruction" not in found and found["bank_conflicts"] == 3
