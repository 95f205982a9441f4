"""The README says what the catalogue says."""

from engine.catalogue.readme import README, with_table


def test_the_readme_table_is_up_to_date_with_the_catalogue():
    text = README.read_text(encoding="utf-8")
    assert with_table(text) == text, "run `python -m engine kernels --readme`"
