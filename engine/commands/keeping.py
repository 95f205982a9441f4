"""The command `store`: back it up, restore it, show or delete what one person left, end a term."""

from __future__ import annotations

import argparse
import json
import sqlite3
import sys
from datetime import date
from pathlib import Path
from typing import Any

from engine.records import NotRunnable
from engine.records.words import many
from engine.sheets.progress import plain_name
from engine.store import database, keeping


def add_parsers(commands: Any) -> None:
    """Add `store backup`, `store restore`, `store person` and `store end-term`."""
    store = commands.add_parser("store", help="what this server has kept: back it up, restore it, delete a person's")
    actions = store.add_subparsers(required=True, metavar="{backup,restore,person,end-term}")
    backup = actions.add_parser("backup", help="into one file, while servers run")
    backup.add_argument("file", metavar="FILE.zip", type=Path)
    backup.set_defaults(command=_backup)
    restore = actions.add_parser("restore", help="from such a file; what was there is backed up first")
    restore.add_argument("file", metavar="FILE.zip", type=Path)
    restore.set_defaults(command=_restore)
    person = actions.add_parser("person", help="what is kept of one student: progress in sheets, and drafts")
    person.add_argument("name", metavar="NAME", help="as typed on the Sheets page, or an account")
    person.add_argument("--delete", action="store_true", help="delete it")
    person.add_argument("--json", action="store_true", help="all of it, with the texts")
    person.set_defaults(command=_person)
    term = actions.add_parser("end-term", help="delete what students and halls left before a day; measurements stay")
    term.add_argument("--before", metavar="YYYY-MM-DD", required=True, type=_day)
    term.set_defaults(command=_end_term)


def _day(text: str) -> str:
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no day such as 2026-09-01") from None


def _backup(options: argparse.Namespace) -> int:
    try:
        size = keeping.back_up(options.file)
    except (NotRunnable, OSError, sqlite3.Error) as refused:
        return _refuse(refused)
    print(f"{options.file}: {size:,} bytes. It holds keys: keep it as safe as the server.")
    return 0


def _restore(options: argparse.Namespace) -> int:
    try:
        before = keeping.restore(options.file)
    except (NotRunnable, OSError, sqlite3.Error) as refused:
        return _refuse(refused)
    print(f"Restored from {options.file}." + (f" What was there is in {before}." if before else ""))
    return 0


def _person(options: argparse.Namespace) -> int:
    wanted = keeping.delete_person if options.delete else keeping.of_person
    found = wanted(options.name)
    found = wanted(plain_name(options.name)) if found.nothing else found  # as the page writes names
    if (trouble := database.trouble()) and (options.delete or found.nothing):
        raise NotRunnable(f"{'Nothing was deleted' if options.delete else 'Nothing can be read'}. {trouble}")
    if options.json:
        print(
            json.dumps(
                {"name": options.name, "deleted": options.delete, "sheets": found.sheets, "drafts": found.drafts}
            )
        )
    elif found.nothing:
        print(f"Nothing is kept of {options.name!r}.")
    else:
        for owner, sheet, task, state, _ in found.sheets:
            print(f"{owner}: {sheet}, {task}: {state}")
        for name, text, utc in found.drafts:
            print(f"draft {name} of {utc}: {many(len(text.encode()), 'byte')}")
        counts = f"{many(len(found.sheets), 'result')} and {many(len(found.drafts), 'text')} of drafts"
        print(f"{counts}{' deleted' if options.delete else ''}.")
    return 0 if not found.nothing else 1


def _end_term(options: argparse.Namespace) -> int:
    gone = {table: rows for table, rows in keeping.end_term(options.before).items() if rows}
    if trouble := database.trouble():
        raise NotRunnable(f"Nothing was deleted. {trouble}")
    said = ", ".join(f"{rows:,} of {table}" for table, rows in gone.items()) or "nothing"
    print(f"Deleted what is older than {options.before}: {said}. Measurements stay.")
    return 0


def _refuse(refused: Exception) -> int:
    if isinstance(refused, OSError):
        refused = NotRunnable(f"{refused.filename or 'The file'} cannot be written or read: {refused.strerror}.")
    said = f"The store cannot be copied: {refused}." if isinstance(refused, sqlite3.Error) else str(refused)
    print(said, file=sys.stderr)
    return 2
