"""Write the tables of docs/against-libraries.md that set the best recorded kernels beside the libraries:

    python -m docs.library_ratios

Of each operation, element type and n the fastest kernel of the program's first record, cold-clean: the library's time
over its time, paired, where the row has a library, else the part of the peak that it reaches.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from engine.catalogue import KERNELS, TOPICS
from engine.catalogue.libraries import PEERS, operation_of
from engine.history.recordings import KEY, Entry
from engine.history.records import records
from engine.records import C_TYPES, CACHE_STATES
from engine.records.words import size_text

PAGE = Path(__file__).with_name("against-libraries.md")
BEGIN, END = "<!-- python -m docs.library_ratios -->\n", "<!-- end -->"
POWERS, WIDTHS = tuple(2**power for power in range(16, 29, 2)), (256, 512, 1024, 2048, 4096, 8192)

Kind = tuple[str, str]  # operation, element type


def best() -> dict[Kind, dict[int, Entry]]:
    """By operation and element type, and by n, the fastest recorded run on the GPU."""
    found: dict[Kind, dict[int, Entry]] = defaultdict(dict)
    first, *_ = records().values()
    for entry in first.runs.values():
        chosen = dict(zip(KEY, entry.key, strict=True))
        kernel, row = KERNELS[chosen["kernel"]], entry.row
        timed = row["status"] == "ok" and row["time_us"] and row["clock"] == "event"
        usual = chosen["cache"] == CACHE_STATES[0] and chosen["parameter"] == kernel.value_of_parameter(None)
        operation = operation_of(kernel.name)
        if timed and usual and operation and not kernel.off_type:
            of_kind = found[operation, chosen["dtype"]]
            if chosen["n"] not in of_kind or row["time_us"] < of_kind[chosen["n"]].row["time_us"]:
                of_kind[chosen["n"]] = entry
    return found


def table(found: Mapping[Kind, Mapping[int, Entry]], sizes: tuple[int, ...], matrices: bool) -> list[str]:
    """The operations on vectors, or on matrices, as the lines of a Markdown table."""
    heads = [str(n) if matrices else size_text(n) for n in sizes]
    lines = [f"| operation | type | {' | '.join(heads)} |", f"|---|---|{'---|' * len(sizes)}"]
    for operation, dtype in sorted(found, key=lambda kind: (list(PEERS).index(kind[0]), list(C_TYPES).index(kind[1]))):
        by_n = found[operation, dtype]
        topic = KERNELS[next(iter(by_n.values())).key[0]].topic
        if ("matrix width" in TOPICS[topic].size_label) == matrices and set(by_n) & set(sizes):
            lines.append(f"| {operation} | {dtype} | {' | '.join(_cell(by_n.get(n)) for n in sizes)} |")
    return lines


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return ""
    ratios = [peer.ratio for peer in entry.measurement.peers.values() if peer.ratio]
    if ratios:
        return f"**{min(ratios):.2f}**"
    percent = entry.measurement.rates.percent_of_peak
    return "" if percent is None else f"{percent:.0f}%"


def page() -> str:
    """The whole page with the table as the recording has it."""
    found = best()
    text = PAGE.read_text(encoding="utf-8")
    head, tail = text.split(BEGIN)[0], text.split(END)[1]
    lines = [*table(found, POWERS, matrices=False), "", *table(found, WIDTHS, matrices=True)]
    return f"{head}{BEGIN}\n" + "\n".join(lines) + f"\n\n{END}{tail}"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
