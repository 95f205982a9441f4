"""The address on the room's card is one that phones reach."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from views.room import card

NETWORK = "192.168.1.5"


@pytest.mark.parametrize(
    "url, listens, address",
    [
        ("http://127.0.0.1:8501/?ladder=harris&present=1", "127.0.0.1", "http://127.0.0.1:8501/f"),
        ("http://localhost:8501/?present=1", "0.0.0.0", f"http://{NETWORK}:8501/f"),
        ("http://[::1]:8501/", None, f"http://{NETWORK}:8501/f"),
        ("http://10.0.0.9:8501/?present=1", "0.0.0.0", "http://10.0.0.9:8501/f"),
        ("https://school.edu/ladder/?present=1", "127.0.0.1", "https://school.edu/ladder/f"),
        ("http://[2001:db8::7]:8501/", None, "http://[2001:db8::7]:8501/f"),
    ],
)
def test_the_address_is_the_browsers_own_or_the_servers(
    url: str, listens: str | None, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = SimpleNamespace(context=SimpleNamespace(url=url, headers={}), get_option=lambda name: listens)
    monkeypatch.setattr(card, "st", page)
    monkeypatch.setattr(card, "own_address", lambda: NETWORK)
    assert card.address() == address


def test_a_computer_without_a_network_has_no_address_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(card.socket.socket, "connect", lambda *_: (_ for _ in ()).throw(OSError))
    assert card.own_address() == ""
