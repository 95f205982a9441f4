"""Every kernel of the catalogue, on the emulator, against NumPy. A new catalogue entry is tested by being there."""

import zlib
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from engine.backends.cpu import host_step
from engine.backends.measure import failed
from engine.catalogue import KERNELS, Kernel, default_choice, topic_of
from engine.catalogue.entries import Topic
from engine.catalogue.plans import without_own
from engine.catalogue.products import MULTIPLE
from engine.lab.checking import orders_of
from engine.plan import plan
from engine.records import Choice, CompileError, Measurement, NotRunnable, RunFailed
from engine.records.counters import IN_JSON
from tests.cases import case, turn
from tests.made import measure
from tests.sentences import says

SIZES = (1, 31, 32, 33, 1000, 4096 + 1, 2**18)
SIZES_OF_WIDTHS = (1, 31, 32, 33, 100)  # where n is the width of a matrix

ON_THE_CPU = {name for name in KERNELS if host_step(plan(default_choice(name)))}

ENDING = [kernel for kernel in KERNELS.values() if kernel.expect != "deadlock" and kernel.emulated]


def sizes_of(topic: Topic) -> tuple[int, ...]:
    """Ragged ones, where the topic takes any."""
    if topic.name == "tensor":
        return (MULTIPLE,)
    return SIZES_OF_WIDTHS if "width" in topic.size_label else SIZES


# The quick run meets every kernel that compiles in less than a second with its middle block size, at many ragged
# blocks. The thorough run draws one other case, for half of these kernels and for all others: any size with that block
# size, many of the smallest, one of the largest; of kernels that compile for seconds only the middle block size, which
# other tests compile too. A release runs every size with all three.
QUICK_SIZES = (100, 4096 + 1)
QUICK_LINES = 90  # of a kernel that compiles in less than a second
MANY_BLOCKS, ONE_BLOCK = (100, 1000), 33
SHARE = 4


def cases_of(kernel: Kernel) -> Iterator[Any]:
    """All sizes of a kernel with three block sizes; the kernel's name alone decides which one is drawn."""
    sizes, middle = sizes_of(topic_of(kernel)), kernel.block_sizes[len(kernel.block_sizes) // 2]
    first = next(((n, middle) for n in sizes if n in QUICK_SIZES), (sizes[0], middle))
    short = {kernel.block_sizes[0]: MANY_BLOCKS, kernel.block_sizes[-1]: (ONE_BLOCK,), middle: sizes}
    lean = kernel.text.count("\n") <= QUICK_LINES
    others = [(n, size) for size, some in short.items() for n in sizes if n in some and (lean or size == middle)]
    others = [place for place in others if place != first]
    number, half = divmod(zlib.crc32(kernel.name.encode()), 2)
    drawn = others[number % len(others)] if others else first
    quick = first if lean and first[0] in QUICK_SIZES else None
    thorough = drawn if quick is None or half else None
    for n in sizes:
        for block_size in sorted(short):
            yield case(kernel, n, block_size, quick=(n, block_size) == quick, thorough=(n, block_size) == thorough,
                       id=f"{kernel.name}-{n}-{block_size}")  # fmt: skip


CASES = [made for kernel in ENDING for made in cases_of(kernel)]


def test_the_sample_of_the_thorough_run_meets_every_kernel_every_size_and_every_class_of_block_size():
    met: dict[str, set[tuple[int, int]]] = {kernel.name: set() for kernel in ENDING}
    for kernel, n, block_size in (values for values, marks, _ in CASES if "release" not in {m.name for m in marks}):
        middle = kernel.block_sizes[len(kernel.block_sizes) // 2]
        met[kernel.name].add((n, (block_size > middle) - (block_size < middle)))
    assert all(met.values())
    found = set().union(*met.values())
    assert found >= {(n, 0) for n in (*SIZES, *SIZES_OF_WIDTHS)} | {(n, -1) for n in MANY_BLOCKS} | {(ONE_BLOCK, 1)}


# What a kernel must come to: those that are wrong on purpose are found out even where they are right by luck.
OUTCOMES = {"ok": {"ok"}, "rounds": {"ok"}, "hazard": {"hazard"}, "wrong": {"wrong", "hazard"}}
TOO_FEW = {"trapezoid": 1}  # elements that a topic refuses


def measured(choice: Choice, schedule: str | None = None) -> Measurement:
    try:
        return measure(replace(choice, device="emulator"), schedule=schedule)
    except (NotRunnable, CompileError, RunFailed) as error:
        return failed(choice, error)


@pytest.mark.parametrize("kernel", [kernel for kernel in KERNELS.values() if not kernel.emulated], ids=lambda k: k.name)
def test_a_kernel_that_the_emulator_cannot_run_is_refused_there_and_planned_for_a_gpu(kernel: Kernel):
    found = measured(default_choice(kernel.name))
    assert found.status == "refused" and found.reason is not None
    assert says("catalogue.only-on-gpu", found.reason) and found.reason.startswith(kernel.name)
    assert plan(replace(default_choice(kernel.name), device="gpu")).steps


@pytest.mark.sampled(thorough=2)
@pytest.mark.parametrize(("kernel", "n", "block_size"), CASES)
def test_a_kernel_gives_the_right_answer_and_only_the_hazards_it_teaches(kernel: Kernel, n: int, block_size: int):
    dtype = kernel.dtypes[(n + block_size) % len(kernel.dtypes)]  # every type meets every kernel, not every size
    found = measured(Choice(kernel.name, n, block_size, dtype=dtype))
    if n == TOO_FEW.get(kernel.topic):
        assert found.status == "refused" and f"at least {n + 1}, not {n}" in found.reason
        return
    alone = {"ok"} if n == 1 and kernel.name == "reduce_racy" else set()  # who races with nobody is right
    assert found.status in OUTCOMES[kernel.expect] | alone, found.reason
    assert found.check.result is not None and found.check.expected is not None
    if found.status != "wrong":
        assert abs(found.check.result - found.check.expected) <= found.check.error_bound
    assert found.timing is None and found.rates.bandwidth_gb_s is None
    counted = kernel.name not in ON_THE_CPU
    assert set(found.counters or ()) == set(IN_JSON if counted else ())


@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if k.expect == "wrong"], ids=lambda k: k.name)
def test_a_kernel_that_is_wrong_on_purpose_is_found_out(kernel: Kernel):
    found = measured(replace(default_choice(kernel.name), n=4096))
    assert found.status in ("wrong", "hazard") and found.findings and found.reason


@pytest.mark.sampled(quick=4, thorough=9)
@pytest.mark.parametrize(
    ("kernel", "dtype"),
    [
        case(kernel, dtype, quick=len(kernel.combines) > 1 and dtype == kernel.dtypes[0],
             thorough=len(kernel.combines) > 1 or turn(kernel.name, at, SHARE), id=f"{kernel.name}-{dtype}")
        for kernel in ENDING
        for at, dtype in enumerate(kernel.dtypes)
    ],
)  # fmt: skip
def test_every_way_to_combine_agrees_for_every_type(kernel: Kernel, dtype: str):
    wanted = set()
    for combine in kernel.combines:
        n = MULTIPLE if kernel.topic == "tensor" else 77
        found = measured(replace(default_choice(kernel.name), n=n, dtype=dtype, combine=combine))
        assert found.status in OUTCOMES[kernel.expect], (combine, found.reason)
        assert (found.choice.combine, found.choice.dtype) == (combine, dtype)
        wanted.add(found.check.expected)
    assert len(wanted) == 1, wanted


@pytest.mark.parametrize(
    "kernel",
    [
        case(kernel, quick=False, thorough=turn(kernel.name, 0, 4 * SHARE), id=kernel.name)
        for kernel in ENDING
        if kernel.expect in ("ok", "rounds")
    ],
)
def test_a_right_kernel_is_right_in_the_other_orders_too(kernel: Kernel):
    choice = replace(default_choice(kernel.name), n=sizes_of(topic_of(kernel))[-1] % 4096 or 1000)
    for order in orders_of(choice):
        assert measured(choice, order).status == "ok", order


@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if k.expect == "deadlock"], ids=lambda k: k.name)
def test_a_kernel_that_never_ends_in_lockstep_ends_where_lanes_run_on_their_own(kernel: Kernel):
    choice = Choice(kernel.name, 33, 64)
    assert measured(choice).status == "deadlock"
    assert measured(choice, "independent:1").status == "ok"


@pytest.mark.sampled(quick=5, thorough=4)
@pytest.mark.parametrize("grid_size", [case(grid_size, quick=grid_size == 7) for grid_size in (1, 2, 7, 300)])
@pytest.mark.parametrize("kernel", [k for k in KERNELS.values() if k.coverage is None], ids=lambda k: k.name)
def test_a_grid_stride_kernel_is_right_with_any_grid(kernel: Kernel, grid_size: int):
    found = measured(Choice(kernel.name, 10_000, 64, grid_size=grid_size, dtype=kernel.dtypes[0]))
    assert found.status == kernel.expect and found.check.ok, found.reason
    assert found.grid_size == grid_size


def test_a_students_source_runs_in_place_of_the_kernel_and_a_wrong_one_is_found_out():
    right = KERNELS["reduce_sequential"].text
    choice = replace(default_choice("reduce_sequential"), n=1000)
    assert measured(replace(choice, source=right)).status == "ok"
    wrong = right.replace("+=", "-=", 1)
    assert wrong != right
    assert measured(replace(choice, source=wrong)).status == "wrong"


def test_a_compile_error_names_the_students_line_and_keeps_the_whole_log():
    broken = KERNELS["reduce_sequential"].text + "\nthis is not C;\n"
    line = broken.count("\n")
    found = measured(replace(default_choice("reduce_sequential"), source=broken, source_name="mine.cu"))
    assert found.status == "compile-error"
    assert f"mine.cu does not compile: line {line}" in found.reason and "mine.cu" in found.log


def test_reading_past_the_end_is_reported_with_the_line_and_the_buffer():
    source = KERNELS["reduce_sequential"].text
    lines = source.splitlines()
    at = next(i for i, line in enumerate(lines) if "in[i]" in line)
    lines[at] = lines[at].replace("in[i]", "in[i + 100000000]")
    found = measured(replace(default_choice("reduce_sequential"), n=1000, source="\n".join(lines)))
    assert found.status == "out-of-bounds" and found.findings[0].kind == "out-of-bounds"
    assert f"line {at + 1}" in found.reason and "`in`" in found.reason


def test_what_a_kernel_prints_is_kept():
    source = KERNELS["reduce_sequential"].text.replace(
        "    // write the sum", '    if (tid == 0) printf("block %d\\n", blockIdx.x);\n    // write the sum'
    )
    found = measured(replace(default_choice("reduce_sequential"), n=300, block_size=128, source=source))
    assert found.status == "ok", found.reason
    assert sorted(found.printed) == ["block 0", "block 0", "block 1", "block 2"]  # three blocks, then the last level


OWN = {
    "#define BLOCK_SIZE 256  // threads\n": "\n",
    "#undef BLOCK_SIZE\n  # define BLOCK_SIZE (1 << 8)\n": "\n\n",
    "const int BLOCK_SIZE = 256;\n": "\n",
    "static constexpr unsigned int BLOCK_SIZE = 1 << 8;\n": "\n",
    "typedef float T;\nusing T = int;\n#define T int\n": "\n\n\n",
    "#define BLOCK_SIZE(n) n\n#define THREADS BLOCK_SIZE\n": "#define BLOCK_SIZE(n) n\n#define THREADS BLOCK_SIZE\n",
    "int half = BLOCK_SIZE / 2;\n": "int half = BLOCK_SIZE / 2;\n",
    "struct S { using T = int; };\n": "struct S { using T = int; };\n",
}


@pytest.mark.parametrize("text", OWN)
def test_own_values_of_the_launch_give_way_to_it(text: str) -> None:
    assert without_own(text, ["BLOCK_SIZE", "BINS"]) == OWN[text]
    assert without_own(text, []) == (OWN[text] if "typedef" in text else text)
