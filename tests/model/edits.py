"""Edits as students make them, timed on a GPU, against their estimates: the model has never seen one of these texts.

python -m tests.model.edits --record FILE     time the sheets' solutions and slow answers on this computer's GPU
python -m tests.model.edits FILE              estimate them, and print how far off the estimates are
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.backends.measure import measure
from engine.catalogue import LADDERS, TOPICS, default_choice, topic_of
from engine.lectures.claim import Counted
from engine.machine.environment import environment
from engine.model.estimate import Estimate, anchored, estimate
from engine.model.run import RunCosts, costs_of
from engine.model.rungs import ends_on_the_host, gpu_of_record
from engine.model.sample import MOST_N
from engine.plan import settle
from engine.records import Choice, CompileError, NotRunnable, RunFailed, Settled
from engine.sheets.folder import load, names

FILE = Path(__file__).parents[1] / "golden" / "edits-h100.json"
SECONDS = 60.0  # of an emulated run
UNCHANGED = "unchanged"


@dataclass(frozen=True)
class Edit:
    """A text in the place of a sheet's kernel. `text`: UNCHANGED, "solution", or the name of a slow answer: one that is
    right and misses a check of a counter. `time_us`: its recorded time."""

    sheet: str
    text: str
    n: int
    block_size: int
    dtype: str
    time_us: float | None = None

    @property
    def choice(self) -> Settled:
        """Return its choice, for the emulator."""
        sheet = load(self.sheet)
        texts: Mapping[str, str | None] = {UNCHANGED: None, "solution": sheet.solution,
                                           **{wrong.name: wrong.text for wrong in sheet.wrong}}  # fmt: skip
        source = texts[self.text]
        return settle(Choice(sheet.kernel or "", self.n, self.block_size, dtype=self.dtype, device="emulator",
                             source=source, source_name="kernel.cu" if source else None))  # fmt: skip

    @property
    def unchanged(self) -> tuple[str, int, int, str]:
        """Return what names the run of the sheet's own kernel at the same sizes."""
        return self.sheet, self.n, self.block_size, self.dtype


def every_edit() -> Iterator[Edit]:
    """Yield the edits of all sheets, at the sizes of the kernel and of the sheet's ladder."""
    for name in names():
        sheet = load(name)
        if not sheet.kernel:
            continue
        counted = {check.name for check in sheet.checks if isinstance(getattr(check, "quantity", None), Counted)}
        usual: list[Any] = [default_choice(sheet.kernel), *([LADDERS[sheet.ladder]] if sheet.ladder else [])]
        most = min(TOPICS[topic_of(sheet.kernel).name].emulator_max_n, MOST_N)
        for n, block, dtype in dict.fromkeys((min(one.n, most), one.block_size, one.dtype) for one in usual):
            texts = [UNCHANGED, "solution", *(wrong.name for wrong in sheet.wrong if wrong.check in counted)]
            yield from (Edit(name, text, n, block, dtype) for text in texts)


def record(path: Path) -> None:
    """Time the edits on this computer's GPU, and write their times with device, driver and date."""
    rows, device = [], {}
    for edit in every_edit():
        try:
            found = measure(settle(Choice(**{**asdict(edit.choice), "device": "gpu", "model": None})))
        except (CompileError, NotRunnable, RunFailed):
            continue
        if found.status == "ok" and found.time_us:
            rows.append([*list(asdict(edit).values())[:-1], round(found.time_us, 3)])
            device = dict(found.device)
    head = json.dumps({"device": device.get("name"), "environment": environment()}, indent=1)[:-2]
    lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
    path.write_text(f'{head},\n "rows": [\n{lines}\n ]\n}}\n', encoding="utf-8")


@dataclass(frozen=True)
class Judged:
    """An edit with its estimate, and the one that is anchored at the time of the unchanged kernel."""

    edit: Edit
    plain: Estimate
    anchored: Estimate


@lru_cache(maxsize=64)
def _costs(choice: Settled) -> RunCosts:
    return costs_of(choice, SECONDS)


def judged(path: Path = FILE, part: slice = slice(None)) -> list[Judged]:
    """Estimate the recorded edits. An edit that the emulator or the model refuses is left out."""
    content = json.loads(path.read_text(encoding="utf-8"))
    on = gpu_of_record(content["device"])
    edits = [Edit(*row) for row in content["rows"]]
    times = {edit.unchanged: edit for edit in edits if edit.text == UNCHANGED}
    found = []
    for edit in [each for each in edits if each.text != UNCHANGED and each.unchanged in times][part]:
        before = times[edit.unchanged]
        if before.time_us is None or ends_on_the_host(edit.choice):
            continue
        try:
            costs, own = _costs(edit.choice), _costs(before.choice)
        except (CompileError, NotRunnable, RunFailed):
            continue
        plain = estimate(costs, on)
        if plain.time_us is not None:
            found.append(Judged(edit, plain, anchored(costs, own, before.time_us, on)))
    return found


def summary(found: list[Judged]) -> str:
    """Return the median and the 90th percentile of the errors, and the share of times inside the band."""
    lines = []
    for kind in ("plain", "anchored"):
        pairs = [(getattr(one, kind), one.edit.time_us or 0.0) for one in found]
        off = [max(guess.time_us / time, time / guess.time_us) - 1 for guess, time in pairs]
        inside = np.mean([guess.low_us <= time <= guess.high_us for guess, time in pairs])
        lines.append(f"{kind:9} {len(off)} edits: median {np.median(off):.1%}, p90 {np.percentile(off, 90):.1%}, "
                     f"inside the band {inside:.0%}")  # fmt: skip
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.model.edits")
    parser.add_argument("file", type=Path, nargs="?", default=FILE)
    parser.add_argument("--record", action="store_true")
    options = parser.parse_args()
    if options.record:
        record(options.file)
    else:
        print(summary(judged(options.file)))
