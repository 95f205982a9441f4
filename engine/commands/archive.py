"""The commands `history` and `votes`: export what this computer measured and what its halls voted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS, kernel_named
from engine.commands.output import exit_status, sentence, write_file
from engine.history.contract import measurement_of
from engine.records import Measurement, NotRunnable
from engine.store import database, measurements, votes


def add_parsers(commands: Any, number: Callable[[str], int]) -> None:
    """Add `history export`, `history prune` and `votes`. `number` parses a number."""

    def amount(text: str) -> int:
        if (found := number(text)) < 0:
            raise argparse.ArgumentTypeError(f"{text!r} is below 0")
        return min(found, 2**62)  # SQLite has 64 bits

    history = commands.add_parser("history", help="what was measured here: export it, or keep less of it")
    actions = history.add_subparsers(required=True, metavar="{export,prune}")
    export = actions.add_parser("export", help="every measurement, the earliest first")
    export.add_argument("--kernel", nargs="+", metavar="KERNEL", help="of these kernels only")
    export.add_argument("--days", type=amount, metavar="D", help="of the last D days only")
    export.add_argument("--csv", metavar="FILE", help="as a table")
    export.set_defaults(command=_export)
    prune = actions.add_parser("prune", help="remove old measurements; one of the two must be said")
    prune.add_argument("--keep", type=amount, metavar="COUNT", help="keep the last COUNT")
    prune.add_argument("--days", type=amount, metavar="D", help="keep what was measured in the last D days")
    prune.set_defaults(command=_prune)
    asked = commands.add_parser("votes", help="the questions of the lectures that were given here, and their votes")
    asked.add_argument("--csv", metavar="FILE", help="as a table")
    asked.set_defaults(command=_votes)
    for action in (export, prune, asked):
        action.add_argument("--json", action="store_true")


def _export(options: argparse.Namespace) -> int:
    unknown = [name for name in options.kernel or () if name not in KERNELS]
    records = [
        record for record in _records(options.days) if options.kernel is None or record["kernel"] in options.kernel
    ]
    for name in unknown:
        if all(record["kernel"] != name for record in records):  # an earlier version may have had it
            kernel_named(name)
    known = list(filter(None, map(_measurement, records)))
    if options.csv:
        from engine.history.tables import csv_of  # heavy: pandas

        write_file(Path(options.csv), csv_of(known))
        print(f"Rows in {options.csv}: {len(known):,}", file=sys.stderr)
    if options.json:
        print(json.dumps(records))
        return _status_of_store()
    if not options.csv:
        for measurement in known:
            print(f"{measurement.environment.get('utc') or 'without a date':25}  {sentence(measurement)}")
    if len(known) < len(records):
        print(f"{len(records) - len(known)} of {len(records)} were written by another version of this program, "
              "whose kernels or fields this one lacks: --json has them.", file=sys.stderr)  # fmt: skip
    return _status_of_store()


def _prune(options: argparse.Namespace) -> int:
    if options.keep is None and options.days is None:
        raise NotRunnable("Say how much is to be kept: --keep COUNT, --days D, or both.")
    removed, kept = measurements.prune(options.keep, _days_ago(options.days) or None), measurements.count()
    if database.trouble():
        raise NotRunnable(f"Nothing was removed. {database.trouble()}")
    if options.json:
        print(json.dumps({"removed": removed, "kept": kept}))
    else:
        print(f"{removed:,} measurements were removed, {kept:,} are kept.")
    return 0


def _votes(options: argparse.Namespace) -> int:
    known = votes.all_asked()
    if options.csv:
        write_file(Path(options.csv), votes.csv_of(known))
        print(f"Questions in {options.csv}: {len(known):,}", file=sys.stderr)
    if options.json:
        print(votes.json_of(known))
    elif not options.csv:
        for one in known:
            rounds = "; ".join(", ".join(map(str, round.counts)) for round in one.rounds) or "no votes"
            print(f"{one.utc}  {one.name}: {one.record['text']} {' / '.join(one.record['choices'])}: {rounds}")
    return _status_of_store()


def _status_of_store() -> int:
    """Return the exit status after the store was read: one that cannot be used has rows that nobody sees."""
    if (trouble := database.trouble()) is None:
        return 0
    print(trouble, file=sys.stderr)
    return exit_status("failed")


def _records(days: int | None) -> Iterator[dict[str, Any]]:
    """Return the stored flat records of `--json`."""
    since = _days_ago(days)
    return (json.loads(row.record) for row in measurements.all_rows() if row.utc >= since)


def _measurement(record: dict[str, Any]) -> Measurement | None:
    try:
        return measurement_of(record) if record["kernel"] in KERNELS else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _days_ago(days: int | None) -> str:
    """Return the moment so many days ago; "", which is before every moment, without a number or before the year 1."""
    try:
        return "" if days is None else (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
    except OverflowError:
        return ""
