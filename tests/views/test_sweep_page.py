"""The sweep page: the table over block sizes, the lines over N, and why a cell is empty."""

from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from engine.catalogue import KERNELS, TOPICS
from engine.history import history
from engine.history.history import Known
from engine.history.tables import frame_csv, sweep_rows
from engine.machine import devices
from engine.plan import settle
from engine.records import Choice
from engine.records.counters import IN_PLOTS
from tests.cases import case
from tests.history.test_history import measured
from tests.sentences import says
from tests.views.pages import asked, figures_of, html_of, messages_of, opened
from views.html.table import sweep_html
from views.sweep.sweep import ways_of


@pytest.mark.sampled(quick=2, thorough=3)
@pytest.mark.parametrize(
    ("topic", "over"),
    [case(name, over, quick=name == "aggregate") for name in TOPICS for over in ways_of(TOPICS[name])],
)
def test_every_topic_can_be_swept(topic: str, over: str) -> None:
    app = opened("sweep", topic=topic, sweep=over)
    assert not messages_of(app) and not app.exception
    html = html_of(app)
    words = {"blocks": "Best ", "sizes": "Best N", "knob": "Best at", "elements": "Best at"}
    assert words[over] in html


def test_a_gpu_model_can_be_chosen_where_there_are_several() -> None:
    devices.set_gpus(tuple(devices.HostGpu(f"NVIDIA {name}", f"GPU-{name}", "580.1") for name in ("H200", "T4")))
    try:
        app = opened("sweep", topic="reduction", device="gpu:NVIDIA T4")
        menu = app.selectbox(key="device")
        assert menu.options[-2:] == ["NVIDIA H200", "NVIDIA T4"] and menu.value == "gpu:NVIDIA T4"
        assert not messages_of(app) and not app.exception and asked(app)["device"] == "gpu:NVIDIA T4"
    finally:
        devices.set_gpus(None)


def test_each_topic_offers_its_parameters_for_a_sweep() -> None:
    ways = {name: ways_of(topic)[2:] for name, topic in TOPICS.items()}
    assert (ways["memory"], ways["reduction"], ways["matrix_sums"]) == (["knob"], ["knob", "elements"], [])
    assert ways["aggregate"] == ways["atomics"] == ["knob", "elements"]


def test_a_parameter_is_swept_by_the_kernels_that_have_it() -> None:
    app = opened("sweep", topic="memory", sweep="knob", knob="STRIDE", values="1,2,32", n="1024",
                 value="bank_conflicts", kernels="banks_strided")  # fmt: skip
    app.button(key="run").click().run()
    html = html_of(app)
    assert len(figures_of(app)) == 1 and html.count('class="heat') == 3
    assert '"x": [1, 2, 32]' in figures_of(app)[0] or '"x":[1,2,32]' in figures_of(app)[0]
    assert "Stride (elements)" in html
    assert (asked(app)["knob"], asked(app)["values"], asked(app)["n"]) == ("STRIDE", "1,2,32", "1024")
    app.selectbox(key="knob").select("WAYS").run()
    assert set(app.session_state["kernels"]) == {"divergence_ways", "divergence_warps"}
    assert not messages_of(app) and not app.exception
    app.segmented_control(key="sweep").select("blocks").run()
    assert not messages_of(app) and not app.exception and "knob" not in asked(app)


def test_elements_per_thread_are_grids() -> None:
    app = opened("sweep", topic="reduction", sweep="elements", kernels="reduce_warp_shuffle", n="4096", block="128",
                 elements="1,4,32,1024", value="warp_instructions", device="emulator")  # fmt: skip
    app.button(key="run").click().run()
    html = html_of(app)
    assert html.count('class="heat') == 3  # 1,024 elements per thread would be less than one block
    for blocks in (32, 8, 1):
        choice = settle(Choice("reduce_warp_shuffle", 4096, 128, blocks, device="emulator"))
        assert (found := history.latest(choice)) is not None and found.choice.grid_size == found.grid_size == blocks
    assert "says Crovella" not in figures_of(app)[0]  # the claim is about the time
    assert asked(app)["elements"] == "1,4,32,1024"


def test_the_claim_about_elements_per_thread_is_judged_by_the_times() -> None:
    for blocks, bandwidth in ((1024, 100.0), (64, 300.0), (1, 20.0)):
        choice = settle(Choice("reduce_warp_shuffle", 2**18, 256, blocks, device="emulator"))
        history.remember(choice, measured(choice, bandwidth_gb_s=bandwidth))
    app = opened("sweep", topic="reduction", sweep="elements", kernels="reduce_warp_shuffle", n="2^18",
                 block="256", elements="1,16,1024", device="emulator")  # fmt: skip
    html = html_of(app)
    assert "best, says Crovella" in figures_of(app)[0]
    assert says("sweep.claim-judged", html)


def test_the_topic_changes_what_can_be_swept() -> None:
    app = opened("sweep", topic="memory", sweep="knob")
    app.segmented_control(key="topic").select("matrix_sums").run()
    assert not messages_of(app) and not app.exception and app.session_state["sweep"] == "blocks"
    app = opened("sweep", topic="matrix_sums", sweep="knob")
    assert says("sweep.nothing-to-sweep", messages_of(app)[0])
    app = opened("sweep", topic="memory", sweep="knob", knob="SPEED")
    assert says("sweep.no-such-parameter", messages_of(app)[0])


def test_the_heat_table_holds_the_measured_values() -> None:
    app = opened("sweep", kernels="reduce_sequential,reduce_strided", blocks="32,64", n="1000", value="barriers")
    app.button(key="run").click().run()
    html = html_of(app)
    assert html.count('class="heat') == 4 and "Barriers" in html and "emulator" in html
    assert "<th>Best block size</th><th>Least</th>" in html


def test_lines_over_n() -> None:
    app = opened("sweep", sweep="sizes", kernels="reduce_sequential", sizes="1024,4096", value="warp_instructions")
    app.button(key="run").click().run()
    assert len(figures_of(app)) == 1 and html_of(app).count('class="heat') == 2


def test_times_of_a_gpu_fill_the_table_with_the_best_block_size() -> None:
    for block_size, bandwidth in ((32, 100.0), (64, 300.0), (128, 200.0)):
        choice = settle(Choice("reduce_sequential", 4096, block_size, device="emulator"))
        history.remember(choice, measured(choice, bandwidth_gb_s=bandwidth))
    html = html_of(opened("sweep", kernels="reduce_sequential", blocks="32,64,128", n="4096", device="emulator"))
    assert (
        "<th>Best block size</th><th>Highest bandwidth</th>" in html
        and '<td class="total">64</td><td class="total">300</td>' in html
    )
    assert "NVIDIA H200, live" in html


def test_a_cell_that_cannot_run_says_why() -> None:
    html = html_of(opened("sweep", topic="matmul", dtype="int32", kernels="matmul_naive", blocks="8,16"))
    assert html.count('class="bad"') == 2 and "does not run with int32" in html


def test_a_wrong_cell_is_a_word_and_a_sentence() -> None:
    choice = settle(Choice("reduce_racy", 4096, 64, device="emulator"))
    history.remember(choice, measured(choice, status="wrong", reason="Seen: 1, not 2."))
    html = html_of(opened("sweep", kernels="reduce_racy", blocks="64", n="4096", device="emulator"))
    assert 'class="bad"' in html and "Seen: 1, not 2." in html


def test_the_lectures_table_stands_below() -> None:
    app = opened("sweep", topic="reduction")
    assert says("sweep.lecture-table", html_of(app)) and "68.4" in html_of(app)
    for way in ("elements", "blocks"):  # and comes back with its own variants
        app.segmented_control(key="sweep").select(way).run()
    assert says("sweep.lecture-table", html_of(app)) and len(asked(app)["kernels"].split(",")) == 6


def test_unknown_names_in_the_address_are_reported() -> None:
    app = opened("sweep", kernels="reduce_magic,reduce_strided", blocks="100,64")
    for _ in range(2):
        said = " ".join(messages_of(app))
        assert "'reduce_magic'" in said and "'100'" in said
        app.run()
    assert "'magic'" in " ".join(messages_of(opened("sweep", topic="magic")))


def test_bad_n_is_one_sentence() -> None:
    app = opened("sweep", topic="reduction", n="lots")
    assert says("sweep.n-not-whole", " ".join(messages_of(app)))
    assert says("sweep.n-at-least-1", html_of(opened("sweep", topic="reduction", n="0")))


def test_the_file_holds_every_cell() -> None:
    from engine.history.tables import csv_of

    choice = settle(Choice("reduce_sequential", 4096, 64, device="emulator"))
    rows = list(csv.DictReader(io.StringIO(csv_of([measured(choice), measured(replace(choice, block_size=128))]))))
    assert [row["Block size"] for row in rows] == ["64", "128"]


def test_another_topic_takes_its_own_variants() -> None:
    app = opened("sweep", kernels="reduce_strided")
    app.segmented_control(key="topic").select("matmul").run()
    assert not app.exception and not messages_of(app)
    assert set(app.session_state["kernels"]) <= {kernel.name for kernel in TOPICS["matmul"].kernels}
    assert all(name in KERNELS for name in app.session_state["kernels"])


def test_a_run_on_the_emulator_shows_counters() -> None:
    app = opened("sweep", topic="memory", sweep="knob", knob="STRIDE", values="1,32", n="1024", kernels="banks_strided")
    assert app.session_state["value"] == "bandwidth_gb_s"
    app.button(key="run").click().run()
    assert app.session_state["value"] in IN_PLOTS and html_of(app).count('class="heat') == 2
    assert not messages_of(app) and not app.exception


def test_the_darkest_cell_holds_the_largest_number_and_the_legend_says_so() -> None:
    cells = {("a", 1): (0.0, "0", ""), ("a", 2): (9.0, "9", "")}
    html = sweep_html([("a", "A")], [1, 2], ["1", "2"], cells, {"a": (1, "0")}, ("Stride", "Best at", "Least"))
    assert 'best" style="--share:0.000">0<' in html and 'style="--share:1.000">9<' in html
    assert '<div class="ramp"><span>0</span><i></i><span>9</span>' in html
    alike = {("a", 1): (0.0, "0", ""), ("a", 2): (0.0, "0", "")}
    html = sweep_html([("a", "A")], [1, 2], ["1", "2"], alike, {"a": (1, "0")}, ("Stride", "Best at", "Least"))
    assert html.count("--share:0.000") == 2 and '<div class="ramp">&nbsp;</div>' in html, (
        "its place, so that nothing moves"
    )


def test_a_cell_is_one_row_of_the_file() -> None:
    choice = settle(Choice("reduce_sequential", 4096, 64, device="emulator"))
    counted = measured(choice, device={"kind": "emulator", "name": None}, time_us=None, counters={"barriers": 9.0})
    recorded = measured(choice, origin="recorded", time_us=7.0)
    text = frame_csv(sweep_rows([(choice, Known(counted, recorded)), (choice, Known())]))
    first, second = csv.DictReader(io.StringIO(text))
    assert (first["Time (µs)"], first["Barriers"], first["Checked"]) == ("7.0", "9.0", "emulated")
    assert "recorded" in first["Origin"] and second["Time (µs)"] == second["Correct?"] == "" != second["Kernel"]


def test_topic_and_block_size_survive_every_switch() -> None:
    app = opened("sweep", topic="reduction", sweep="sizes")
    app.segmented_control(key="topic").select("memory").run()
    for way in ("blocks", "knob"):
        app.segmented_control(key="sweep").select(way).run()
    assert (asked(app)["topic"], asked(app)["block"]) == ("memory", "256")
    app.selectbox(key="knob").select("STRIDE").run()  # at an N that was recorded with every stride
    assert asked(app)["n"] == str(2**22) and html_of(app).count('class="heat') > 60
