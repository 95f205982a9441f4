"""Fetch the files of docs/notes/public-kernels.csv from their public addresses and try each kernel in the lab:

    python -m tests.lab.public_kernels [--from FOLDER] [--write] [WORD...]

`--from`: a folder with checkouts, FOLDER/OWNER/NAME, for what need not come over the network; WORD: only files whose
repository or path has it. `--write` writes the list anew from what was found. Nothing of the files is kept.

It prints what is other than the list says, and what could not be fetched. Exit status 1 where a kernel that was right
is no longer, 2 where nothing could be fetched.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from itertools import cycle
from math import prod
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

import numpy as np

from engine.commands.lab import check
from engine.lab.instances import typed_parameters
from engine.lab.kernels import OwnKernel, kernels
from engine.lab.signatures import Declared, bare, kernels_in
from engine.lab.structures import element_of
from engine.records import CompileError, NotRunnable, RunFailed
from tests.lab.public_rules import fitting

NOTES = Path(__file__).parents[2] / "docs" / "notes"
LIST, PAGE = NOTES / "public-kernels.csv", NOTES / "public-kernels.md"
ADDRESS = "https://raw.githubusercontent.com/{repository}/{commit}/{file}"
PATIENCE_S, LAUNCH_S, KERNEL_S = 20.0, 2.0, 20.0
ELEMENTS = 8192  # of every array
FACTOR = 1.5  # of every floating-point argument
LAUNCHES: tuple[tuple[tuple[int, ...], tuple[int, ...]], ...] = (
    ((4,), (64,)), ((1,), (256,)), ((1, 1), (16, 16)), ((2, 2), (16, 16)), ((4, 4), (8, 8)), ((2,), (128,)),
    ((1,), (1,)),
)  # fmt: skip
_PINNED = re.compile(r"github\.com/([\w.-]+/[\w.-]+)/tree/([0-9a-f]{40})")
_KINDS = {"double": "f8", "float": "f4", "char": "i1", "short": "i2", "long": "i8", "int": "i4", "bool": "?"}


@dataclass(frozen=True)
class Row:
    """A line of the list. `verdict`: right, no rule, stopped, struct, refused, template, not compiled."""

    repository: str
    file: str
    kernel: str
    verdict: str
    grid: str = ""
    block: str = ""
    said: str = ""
    findings: str = ""


def main(arguments: Sequence[str] | None = None) -> int:
    """Fetch, try and compare."""
    parser = argparse.ArgumentParser(prog="python -m tests.lab.public_kernels")
    parser.add_argument("--from", type=Path, dest="folder")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args(arguments)
    with LIST.open(encoding="utf-8", newline="") as file:
        known = [Row(*line) for line in list(csv.reader(file))[1:]]
    commits = dict(_PINNED.findall(PAGE.read_text(encoding="utf-8")))
    wanted = [each for each in dict.fromkeys((row.repository, row.file) for row in known)
              if all(word in "/".join(each) for word in options.words)]  # fmt: skip
    tried: list[Row] = []
    missing: list[str] = []
    for repository, name in wanted:
        try:
            raw = fetched(repository, commits[repository], name, options.folder)
        except OSError as error:
            missing.append(f"{repository}/{name}: {error}")
            if len(missing) == 3 and not tried:  # no network: it would be the same for hundreds
                missing.append(f"and {len(wanted) - 3} more, which were not asked for")
                break
            continue
        rows = list(tried_file(repository, name, raw))
        tried += rows
        for row in rows:
            print(row.repository, row.file, row.kernel, row.verdict, row.said[:80], flush=True)
    return _told(known, tried, missing, options.write)


def fetched(repository: str, commit: str, name: str, folder: Path | None) -> bytes:
    """A file's bytes, of a checkout in `folder`, else from its public address. OSError says why not."""
    if folder is not None and (folder / repository / name).is_file():
        return (folder / repository / name).read_bytes()
    address = ADDRESS.format(repository=repository, commit=commit, file=name.replace(" ", "%20").replace("+", "%2B"))
    try:
        with urlopen(address, timeout=PATIENCE_S) as answer:
            return bytes(answer.read())
    except HTTPError as error:
        raise OSError(f"{address} answers {error.code}") from None
    except URLError as error:
        raise OSError(f"{address} is out of reach ({error.reason})") from None


def _told(known: list[Row], tried: list[Row], missing: list[str], write: bool) -> int:
    print(dict(Counter(row.verdict for row in tried)))
    for line in missing:
        print(f"not fetched: {line}")
    files = {(row.repository, row.file) for row in tried}
    before = {(row.repository, row.file, row.kernel): row for row in known if (row.repository, row.file) in files}
    now = {(row.repository, row.file, row.kernel): row for row in tried}
    lost = [place for place, row in before.items()
            if row.verdict == "right" and (place not in now or now[place].verdict != "right")]  # fmt: skip
    for place in dict.fromkeys([*before, *now]):
        was, found = (each[place].verdict if place in each else "not there" for each in (before, now))
        if was != found:
            print(f"{'/'.join(place)}: was {was}, is {found}")
    if write and tried and not missing:
        with LIST.open("w", encoding="utf-8", newline="") as file:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow([field.name for field in fields(Row)])
            others = [row for row in known if (row.repository, row.file) not in files]
            order = {place: at for at, place in enumerate(dict.fromkeys((row.repository, row.file) for row in known))}
            rows = sorted([*others, *tried], key=lambda row: order[row.repository, row.file])
            lines.writerows([list(asdict(row).values()) for row in rows])
    return 2 if not tried else 1 if lost else 0


def tried_file(repository: str, name: str, raw: bytes) -> Iterator[Row]:
    """A row for every kernel of a file; one for the file where none compiles."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / Path(name).name
        path.write_bytes(raw)
        answer = check(path, None)
        try:
            found = kernels(path)
        except (NotRunnable, CompileError) as error:
            template = isinstance(error, NotRunnable) and not re.search("no kernel|only declared", str(error))
            yield Row(repository, name, "", "template" if template else "not compiled", said=str(error))
            return
    lacking = {row["kernel"]: row["not_emulated"] for row in answer.record.get("kernels", ())}
    declared = kernels_in(found[0].text)
    for one in found:
        yield _tried(Row(repository, name, one.name, "stopped"), one, declared[bare(one.name)], lacking.get(one.name))
    for each, why in found[0].made.refused:
        yield Row(repository, name, each, "refused", said=why)


def _tried(row: Row, kernel: OwnKernel, declared: Declared, lacking: list[str] | None) -> Row:
    made = asdict(row)
    if lacking:
        return Row(**{**made, "verdict": "refused", "said": f"not emulated: {', '.join(lacking)}"})
    if any(each.kind == "b" for each in kernel.parameters) or len(kernel.parameters) != len(declared.written):
        return Row(**{**made, "verdict": "struct"})
    until, ended, said = time.process_time() + KERNEL_S, False, ""
    ways = ((*launch, kinds) for kinds in _types(kernel, declared) for launch in LAUNCHES)
    for grid, block, kinds in ways:
        for sizes in _sizes(grid, block):
            if time.process_time() > until:
                break
            arguments, lengths = _arguments(kernel, kinds, sizes)
            try:
                run = kernel.run(grid, block, arguments, shared=8 * prod(block), seconds=LAUNCH_S)
            except (RunFailed, NotRunnable) as error:
                if "not emulated" in str(error):
                    return Row(**{**made, "verdict": "refused", "said": str(error)})
                said = said or str(error)
                continue
            ended = True
            names = [each.name for each in kernel.parameters]
            before = {name: each for name, each in zip(names, arguments, strict=True) if isinstance(each, np.ndarray)}
            rule = fitting(before, {name: run.arrays[name] for name in before}, lengths, prod(block))
            if rule is not None:
                words = (" ".join(map(str, each)) for each in (grid, block))
                return Row(*list(made.values())[:3], "right", *words, rule, str(len(run.findings)))
    return Row(**{**made, "verdict": "no rule" if ended else "stopped", "said": "" if ended else said})


def _sizes(grid: Sequence[int], block: Sequence[int]) -> list[tuple[int, ...]]:
    """What the whole-number arguments may be, in turn: all threads, those of a row and of a column, a block's."""
    threads = [one * other for one, other in zip(grid, block, strict=True)]
    return list(dict.fromkeys([(prod(threads),), tuple(threads), (prod(threads), 4), (16,), (prod(block),)]))


def _arguments(kernel: OwnKernel, kinds: Sequence[str], sizes: tuple[int, ...]) -> tuple[list[Any], list[int]]:
    """An argument each, and the whole numbers among them. `kinds`: NumPy's name of each pointer's element. Random
    numbers, the same ones every time."""
    make, turn = np.random.default_rng(7), cycle(sizes)
    arguments: list[Any] = []
    lengths = [*sizes, prod(sizes)]
    for parameter, kind in zip(kernel.parameters, kinds, strict=True):
        if kind:
            whole = make.integers(0, 2 if kind == "?" else 9, ELEMENTS)
            arguments.append((make.random(ELEMENTS) + 0.5 if kind[0] == "f" else whole).astype(kind))
        elif parameter.kind == "f":
            arguments.append(FACTOR)
        else:
            arguments.append(next(turn))
            lengths.append(arguments[-1])
    return arguments, list(dict.fromkeys(lengths))


def _types(kernel: OwnKernel, declared: Declared) -> list[list[str]]:
    """NumPy's name of each pointer's element, "" of a number; twice where a typedef of the file has two meanings."""
    typed = typed_parameters(kernel.text, kernel.name, declared)
    made = [_kinds(written, kernel.text) if re.search(r"[*\[]", written) else [""] for written in typed]
    return [[kinds[min(turn, len(kinds) - 1)] for kinds in made] for turn in range(max(map(len, made), default=1))]


def _kinds(written: str, text: str) -> list[str]:
    if element := element_of(text, written):
        return [np.dtype(element.kind).str[1:]]
    names = "|".join(re.findall(r"[A-Za-z_]+", written))
    meant = [written, *re.findall(rf"typedef\s+([^;]*?)\b(?:{names})\s*;", text)]
    made = [kind for words in meant for kind in [_kind(words)] if kind]
    return list(dict.fromkeys(made)) or ["u4" if "unsigned" in written or "uint" in written else "f4"]


def _kind(words: str) -> str:
    for word, kind in _KINDS.items():
        if re.search(rf"\bu?{word}\d*(?:_t)?\b", words):
            return kind.replace("i", "u") if re.search(r"\bu(?:nsigned|int|char|short|long)\b", words) else kind
    return ""


if __name__ == "__main__":
    sys.exit(main())
