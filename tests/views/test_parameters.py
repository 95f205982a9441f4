"""A kernel's own parameter on the ladder page: chosen, kept in the address, and held for every rung that has it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.catalogue import KERNELS
from engine.history import history
from engine.plan import settle
from engine.records import Choice
from tests.history.test_history import measured
from tests.sentences import says, wording
from tests.views.pages import asked, html_of, messages_of, opened


@pytest.mark.thorough
def test_a_parameter_is_chosen_kept_in_the_address_and_holds_for_every_rung_that_has_it() -> None:
    app = opened(ladder="all-memory", rung="banks_strided", n="1024")
    assert "parameter" not in asked(app) and app.selectbox(key="parameter").value == "32"
    app.selectbox(key="parameter").select("2").run()
    assert asked(app)["parameter"] == "2" and app.selectbox(key="parameter").label == "Stride"
    app.button(key="run_ladder").click().run()
    for kernel, stride in (("banks_strided", 2), ("copy_strided", 2), ("copy_offset", None)):
        choice = settle(Choice(kernel, 1024, 256, device="emulator", parameter=stride))
        found = history.latest(choice)
        assert found is not None and found.choice.parameter == (stride or KERNELS[kernel].parameter.default)  # type: ignore[union-attr]
    app.button(key="next").click().run()  # another parameter, with its own value
    assert "parameter" not in asked(app) and app.selectbox(key="parameter").label == "Different words"
    app.button(key="next").click().run()  # no parameter
    assert app.selectbox(key="parameter fixed").disabled
    app.button(key="previous").click().run()
    app.button(key="previous").click().run()
    assert asked(app)["parameter"] == "2" and not app.exception


def test_the_parameter_of_an_address_comes_back_also_while_presenting() -> None:
    address = {"ladder": "cs121-banks", "rung": "banks_strided", "parameter": "4", "n": "1024"}
    opened(**address).button(key="run").click().run()
    app = opened(**address, present="1", reveal="all")
    assert asked(app)["parameter"] == "4" and "✓ Correct" in html_of(app)
    assert "✓ Correct" not in html_of(opened(**{**address, "parameter": "5"}))


def test_the_default_of_a_parameter_is_the_same_choice_as_none() -> None:
    own = settle(Choice("banks_strided", 1024, 256, device="emulator"))
    history.remember(own, measured(own))
    assert history.latest(replace(own, parameter=32)) == measured(own)
    assert "NVIDIA H200" in html_of(opened(ladder="cs121-banks", rung="banks_strided", parameter="32", n="1024"))


def test_another_ladder_takes_its_own_parameter() -> None:
    app = opened(ladder="cs121-access", rung="copy_strided", parameter="3")
    app.selectbox(key="ladder").select("cs121-banks").run()
    assert "parameter" not in asked(app) and app.selectbox(key="parameter").value == "32"


@pytest.mark.parametrize(
    ("rung", "parameter", "key"),
    [
        ("banks_strided", "99", "parameter.not-offered"),
        ("banks_strided", "wide", "parameter.not-whole"),
        ("divergence_three", "3", "parameter.none"),
    ],
)
def test_a_parameter_that_cannot_be_is_one_sentence(rung: str, parameter: str, key: str) -> None:
    app = opened(ladder="all-memory", rung=rung, parameter=parameter)
    assert says(key, html_of(app), *messages_of(app))
    app.selectbox(key="parameter").select("none" if rung == "divergence_three" else "2").run()
    assert not app.exception and wording(key) not in html_of(app) + "".join(messages_of(app))
