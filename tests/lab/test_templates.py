"""Every template runs as it is: right, without a finding or a warning, at its own n and at others."""

from __future__ import annotations

import pytest

from engine.lab.checking import check_own
from engine.lab.setups import propose_setup, setup_of
from engine.lab.templates import TEMPLATES


@pytest.mark.sampled(quick=0, thorough=2)
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_template_is_right_at_every_n(name: str) -> None:
    template = TEMPLATES[name]
    assert setup_of(template.setup.call, str(template.setup.right)) == template.setup
    for n in (template.n, 32 if name == "tile" else 1000):
        found = check_own(template.setup, n, template.text, template.file_name)
        assert found.measurement.status == "ok" and found.marks == (), found
        assert found.measurement.check is not None and found.measurement.counters
    launched = propose_setup(template.text)
    assert len(launched.arguments) == len(template.setup.arguments) and launched.kernel == template.setup.kernel
