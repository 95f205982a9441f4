"""The answer of a compilation's process as JSON: bytes of a process in which a foreign text went wrong run no code."""

from __future__ import annotations

import base64
import builtins
import importlib
import json
from dataclasses import fields, is_dataclass
from typing import Any

MOST_BYTES = 64 << 20
_PACKAGE = "engine."


class BadAnswer(Exception):
    """The bytes are no answer."""


def packed(value: object) -> bytes:
    """Return a value or an exception as bytes: records, exceptions, numbers, texts, bytes, tuples and frozen sets."""
    return json.dumps(_flat(value)).encode()


def unpacked(answer: bytes) -> Any:
    """Return the value of `packed`. BadAnswer."""
    try:
        return _made(json.loads(answer))
    except (ValueError, TypeError, KeyError, AttributeError, ImportError, RecursionError) as error:
        raise BadAnswer(f"{type(error).__name__}: {error}") from None


def _flat(value: object) -> object:
    kind = f"{type(value).__module__}:{type(value).__qualname__}"
    if is_dataclass(value) and not isinstance(value, type):
        return {"record": kind, "holds": {one.name: _flat(getattr(value, one.name)) for one in fields(value)}}
    if isinstance(value, Exception):
        known = kind.startswith((_PACKAGE, "builtins:"))
        args = [one if isinstance(one, str | int | None) else str(one) for one in value.args]
        return {"error": kind, "holds": args} if known else {"error": "builtins:RuntimeError", "holds": [str(value)]}
    if isinstance(value, bytes):
        return {"bytes": base64.b64encode(value).decode()}
    if isinstance(value, tuple | frozenset):
        return {"tuple" if isinstance(value, tuple) else "set": [_flat(one) for one in value]}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    raise TypeError(f"{kind} cannot leave a compilation's process")


def _made(flat: Any) -> Any:
    match flat:
        case {"record": str(kind), "holds": dict(holds)} if is_dataclass(made := _class(kind)):
            return made(**{name: _made(value) for name, value in holds.items()})
        case {"error": str(kind), "holds": list(holds)} if issubclass(made := _class(kind), Exception):
            return made(*holds)
        case {"bytes": str(text)}:
            return base64.b64decode(text, validate=True)
        case {"tuple": list(values)}:
            return tuple(map(_made, values))
        case {"set": list(values)}:
            return frozenset(map(_made, values))
        case dict() | list():
            raise ValueError("it has another form")
    return flat


def _class(kind: str) -> type[Any]:
    module, _, name = kind.partition(":")
    found = getattr(builtins if module == "builtins" else _own(module), name)
    if not isinstance(found, type):
        raise TypeError(f"{kind} is no class")
    return found


def _own(module: str) -> object:
    if not module.startswith(_PACKAGE):
        raise ValueError(f"{module} is no module of this program")
    return importlib.import_module(module)
