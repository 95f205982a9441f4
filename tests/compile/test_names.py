import pytest

from engine.compile.names import readable


@pytest.mark.parametrize(
    ("symbol", "name"),
    [
        ("_Z3sumPf", "sum"),
        ("_ZN3own1fEv", "f"),
        ("_ZZ3sumE4part", "part"),
        ("_ZZ3sumILi64EE6__halfS0_E6shared", "shared"),  # of a template: its arguments and types come between
        ("_ZZ3sumILi64EEvP6__halfS1_ffiiE6s_mean_$_0", "s_mean"),
        ("_ZZ1kvE1a_0", "a"),  # the second one of that name
        ("_ZZ3fooE9E6sharedX", "E6sharedX"),
        ("plain$1", "plain"),
    ],
)
def test_a_symbol_is_read_as_the_name_in_the_source(symbol: str, name: str) -> None:
    assert readable(symbol) == name
