"""Whatever a JSON text holds, the reader has one error."""

from __future__ import annotations

import pytest

from engine.records.json_text import read_json


def test_the_value_of_a_text() -> None:
    assert read_json('{"a": [1, 2.5]}') == {"a": [1, 2.5]} and read_json(b'"\xc3\xa9"') == "é"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' * 100_000, b"\xff\xfe\xff", "1" * 5000], ids=range(6))
def test_what_is_no_value_is_one_error(text: str | bytes) -> None:
    with pytest.raises(ValueError):
        read_json(text)
