"""How good the time model is, on the page of this machine: every estimate beside the recorded time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

import numpy as np
import streamlit as st

from engine.catalogue import KERNELS, TOPICS
from engine.catalogue.gpu_models import GPU_MODELS
from engine.figures.estimate import Point, against_figure
from engine.figures.look import Look
from engine.history.recordings import KEY
from engine.model.fit import JudgedRun, judged_gpus, judged_runs
from engine.records.words import size_text
from views.chart.component import Chart
from views.html.table import cell, heading, table
from views.shared.messages import label

HEIGHT, WORST = 460, 6  # pixels; kernels named


def show() -> None:
    """Show the plot of all judged runs, and the kernels whose estimates are furthest off."""
    st.subheader("How good are the estimates?")
    names = judged_gpus()
    if len(names) > 1:
        st.segmented_control("GPU", names, default=names[0], key="judged", required=True,
                             label_visibility="collapsed", format_func=lambda name: GPU_MODELS[name].name)  # fmt: skip
    runs = judged_runs(st.session_state.get("judged") or names[0])
    st.write(label(_summary(runs)))
    points = [Point(run.topic, run.recorded_us, run.estimated_us, _name(run)) for run in runs]
    titles = {name: topic.title for name, topic in TOPICS.items()}
    Chart(st.container(key="judgedplot", height=HEIGHT, border=False), "judged").draw(
        against_figure(points, titles, Look(13, HEIGHT - 20)),
        alt="Estimated against recorded times: most dots lie near the line of equal times.",
        origin="recorded and estimated",
    )
    st.write("These kernels are furthest off, by the median of their runs:")
    st.html(_furthest(runs))


def _summary(runs: Sequence[JudgedRun]) -> str:
    off = [run.off for run in runs]
    return (
        f"A model estimates times from what the emulator counts. Each dot is one of {len(runs):,} recorded runs; the "
        f"constants of its estimate were fitted to the other topics. Half of the estimates are less than "
        f"{np.median(off):.0%} off, nine of ten less than {np.percentile(off, 90):.0%}."
    )


def _name(run: JudgedRun) -> str:
    found = dict(zip(KEY, run.key, strict=True))
    return f"{found['kernel']}, N = {size_text(found['n'])}, block size {found['block_size']}"


def _furthest(runs: Sequence[JudgedRun]) -> str:
    by_kernel: dict[str, list[float]] = {}
    for run in runs:
        by_kernel.setdefault(run.key[0], []).append(run.estimated_us / run.recorded_us)
    medians = {name: float(np.median(ratios)) for name, ratios in by_kernel.items()}
    worst = sorted(medians, key=lambda name: -abs(np.log(medians[name])))[:WORST]
    rows = [
        [cell(f"<b>{escape(KERNELS[name].title)}</b>", "text"), cell(f"<code>{name}</code>", "text"),
         f"{medians[name]:.2f}×", f"{len(by_kernel[name])}"]
        for name in worst
    ]  # fmt: skip
    return table([heading("Kernel", "text"), heading("File", "text"), "estimated / recorded", "runs"], rows)
