"""The commands `history` and `votes`: export what this computer measured and what its halls voted."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engine.catalogue import KERNELS
from engine.commands.output import sentence, write_file
from engine.history.contract import measurement_of
from engine.records import Measurement, NotRunnable
from engine.store import database, measurements, votes


def add_parsers(commands: Any, number: Callable[[str], int]) -> None:
    """Add `history export`, `history prune` and `votes`. `number` parses a number."""
    history = commands.add_parser("history", help="what was measured here: export it, or keep less of it")
    actions = history.add_subparsers(required=True, metavar="{export,prune}")
    export = actions.add_parser("export", help="every measurement, the earliest first")
    export.add_argument("--kernel", nargs="+", metavar="KERNEL", help="of these kernels only")
    export.add_argument("--days", type=number, metavar="D", help="of the last D days only")
    export.add_argument("--csv", metavar="FILE", help="as a table")
    export.set_defaults(command=_export)
    prune = actions.add_parser("prune", help="remove old measurements; one of the two must be said")
    prune.add_argument("--keep", type=number, metavar="COUNT", help="keep the last COUNT")
    prune.add_argument("--days", type=number, metavar="D", help="keep what was measured in the last D days")
    prune.set_defaults(command=_prune)
    asked = commands.add_parser("votes", help="the questions of the lectures that were given here, and their votes")
    asked.add_argument("--csv", metavar="FILE", help="as a table")
    asked.set_defaults(command=_votes)
    for action in (export, prune, asked):
        action.add_argument("--json", action="store_true")


def _export(options: argparse.Namespace) -> int:
    records = [
        record for record in _records(options.days) if options.kernel is None or record["kernel"] in options.kernel
    ]
    known = list(filter(None, map(_measurement, records)))
    if options.csv:
        from engine.history.tables import csv_of  # heavy: pandas

        write_file(Path(options.csv), csv_of(known))
        print(f"Rows in {options.csv}: {len(known):,}", file=sys.stderr)
    if options.json:
        print(json.dumps(records))
        return 0
    if not options.csv:
        for measurement in known:
            print(f"{measurement.environment.get('utc') or 'without a date':25}  {sentence(measurement)}")
    if len(known) < len(records):
        print(f"{len(records) - len(known)} of {len(records)} were written by another version of this program, "
              "whose kernels or fields this one lacks: --json has them.", file=sys.stderr)  # fmt: skip
    return 0


def _prune(options: argparse.Namespace) -> int:
    if options.keep is None and options.days is None:
        raise NotRunnable("Say how much is to be kept: --keep COUNT, --days D, or both.")
    before = None if options.days is None else _days_ago(options.days)
    removed, kept = measurements.prune(options.keep, before), measurements.count()
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
    return 0


def _records(days: int | None) -> Iterator[dict[str, Any]]:
    """Return the stored flat records of `--json`."""
    since = "" if days is None else _days_ago(days)
    return (json.loads(row.record) for row in measurements.all_rows() if row.utc >= since)


def _measurement(record: dict[str, Any]) -> Measurement | None:
    try:
        return measurement_of(record) if record["kernel"] in KERNELS else None
    except (KeyError, TypeError, ValueError, AttributeError):
        return None


def _days_ago(days: int) -> str:
    return (datetime.now(UTC) - timedelta(days=days)).isoformat(timespec="seconds")
