"""docs/kernels.md says what the catalogue says."""

from __future__ import annotations

from engine.catalogue.kernels_page import PAGE, page


def test_the_page_of_kernels_is_up_to_date_with_the_catalogue() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m engine kernels --page`"
