"""The catalogue is consistent with the .cu files, the ladders with the catalogue, and the figures with the lectures."""

import ast
import csv
import difflib
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest

from engine.catalogue import KERNELS, LADDERS, TOPICS, Kernel, Ladder, default_choice, published
from engine.catalogue.entries import CUDA_FOLDER, HEADER_LABELS
from engine.compile.nvrtc import compile_source
from engine.history.tables import comparable
from engine.plan import plan, settle
from engine.records import C_TYPES, COMBINES, Choice, HostRun, Launch, Source
from tests.test_walks import steps_of

ROOT = Path(__file__).parents[2]
EVERY_KERNEL = pytest.mark.parametrize("kernel", KERNELS.values(), ids=lambda kernel: kernel.name)
EVERY_LADDER = pytest.mark.parametrize("ladder", LADDERS.values(), ids=lambda ladder: ladder.name)

PARAMETERS = {
    "reduction": ["const T *in", "T *out", "unsigned int n"],
    "matmul": ["const float *M", "const float *N", "float *P", "int width"],
}
# Kernels for the later launches of a plan stand in the same file.
SECOND_KERNELS = {
    "trapezoid_global_race": ["evaluate"],
    "trapezoid_shared_relaunch": ["reduce_sums"],
    "trapezoid_sequential": ["reduce_sums"],
    "grid_prefix_sum": ["add_block_sums"],
    "argmax_tree": ["best_of_blocks"],
    "atomic_and": ["set_bits"],
    "max_shuffle_atomic": ["first_number"],
    "matmul_split": ["split"],
}
# Kernels whose matrices come as maps for the copy engine.
MAPPED = {"matmul_split": ["const __grid_constant__ TensorMap M", "const __grid_constant__ TensorMap N"]}


def code(kernel: Kernel) -> list[str]:
    """The lines below the header comment, with the kernel's own name taken out."""
    lines = kernel.text.replace(kernel.name, "NAME").splitlines()
    return [line for line in lines if not line.startswith("//")]


def source(kernel: Kernel, dtype: str, block_size: int) -> Source:
    n = default_choice(kernel.name).n if kernel.topic == "tensor" or kernel.name in MAPPED else 64
    steps = plan(Choice(kernel.name, n, block_size, dtype=dtype)).steps  # the plan knows the macros of each topic
    made = (step.source for step in steps if isinstance(step, Launch))
    return next(made, Source(kernel.file_name, kernel.text, dtype))


def test_every_cu_file_is_in_the_catalogue():
    assert {path.stem for topic in TOPICS for path in (CUDA_FOLDER / topic).glob("*.cu")} == set(KERNELS)


@EVERY_KERNEL
def test_the_header_has_every_label_in_sentences(kernel: Kernel):
    assert list(kernel.header) == ["Summary", *HEADER_LABELS]
    assert kernel.header["Summary"].startswith(f"{kernel.name}: ")
    for label, text in kernel.header.items():
        assert text.endswith("."), f"{label}: {text}"


@EVERY_KERNEL
def test_the_file_holds_one_kernel_of_its_name_with_the_signature_of_its_topic(kernel: Kernel):
    bounds = r"(?:__launch_bounds__\(.*\)\s+)?"
    found = re.findall(rf'extern "C" __global__ void {bounds}(\w+)\(([^)]*)\)', kernel.text)
    assert {name for name, _ in found} == {kernel.name, *SECOND_KERNELS.get(kernel.name, [])}
    assert "\n".join(code(kernel)).count("__global__") == len(found)
    parameters, expected = [part.strip() for part in found[0][1].split(",")], PARAMETERS.get(kernel.topic, [])
    if maps := MAPPED.get(kernel.name):
        expected = [*maps, *expected[len(maps) :]]
    assert parameters[: len(expected)] == expected


@pytest.mark.sampled(quick=3)
@EVERY_KERNEL
def test_the_file_is_short_and_fits_the_projector(kernel: Kernel):
    lines = kernel.text.splitlines()
    beyond = kernel.header["Lecture"].startswith(("after ", "none"))  # a rung on the way to the library's speed
    assert len(lines) <= (119 if beyond else 90) and max(map(len, lines)) <= 120
    assert "\t" not in kernel.text and kernel.text.endswith("}\n")


@pytest.mark.sampled(quick=0, thorough=16)
@EVERY_KERNEL
def test_it_compiles_for_every_type_for_old_and_new_gpus(kernel: Kernel):
    oldest = f"compute_{kernel.capability or 75}"
    if "#include" in kernel.text:  # a second each
        compile_source(source(kernel, kernel.dtypes[-1], kernel.block_sizes[0]), oldest)
        return
    for dtype in kernel.dtypes:
        for block_size in (kernel.block_sizes[0], kernel.block_sizes[-1]):
            assert kernel.name.encode() in compile_source(source(kernel, dtype, block_size), oldest)
    assert compile_source(source(kernel, kernel.dtypes[-1], kernel.block_sizes[:2][-1]), "sm_90").startswith(b"\x7fELF")


@pytest.mark.release
@pytest.mark.parametrize("capability", ["75", "80", "86", "89", "90", "100"])
@EVERY_KERNEL
def test_it_compiles_for_every_generation_from_its_own_on(kernel: Kernel, capability: str):
    if kernel.capability.endswith("a") or int(kernel.capability or 75) > int(capability):
        with_it = kernel.capability  # those with an "a" are of one GPU alone
    else:
        with_it = capability
    made = compile_source(source(kernel, kernel.dtypes[0], kernel.block_sizes[0]), f"compute_{with_it}")
    assert kernel.name.encode() in made


@EVERY_KERNEL
def test_the_entry_uses_the_words_of_the_contract(kernel: Kernel):
    assert kernel.name in {entry.name for entry in TOPICS[kernel.topic].kernels}
    assert set(kernel.dtypes) <= set(C_TYPES) and kernel.dtypes
    assert set(kernel.combines) <= set(COMBINES) and kernel.combines
    assert kernel.expect in ("ok", "wrong", "hazard", "deadlock", "rounds")
    assert list(kernel.block_sizes) == sorted(set(kernel.block_sizes))
    for dtype, reason in kernel.refuses.items():
        assert dtype not in kernel.dtypes and reason.endswith(".")


@EVERY_LADDER
def test_a_ladder_names_kernels_of_its_topic_that_run_at_its_own_choice(ladder: Ladder):
    topic = TOPICS[ladder.topic]
    assert 1 <= ladder.n <= topic.max_n and 0 <= ladder.baseline < len(ladder.rungs)
    assert len({rung.label for rung in ladder.rungs}) == len(ladder.rungs) == len({r.kernel for r in ladder.rungs})
    for rung in ladder.rungs:
        kernel = KERNELS[rung.kernel]
        assert kernel.topic == ladder.topic
        assert ladder.block_size in kernel.block_sizes and ladder.dtype in kernel.dtypes
        assert rung.combine is None or rung.combine in kernel.combines
        assert rung.lead[0].isupper() or not rung.lead[0].isalpha()
        assert rung.lead.endswith(".")


@EVERY_LADDER
def test_every_rung_says_what_was_wrong_with_the_rung_before_it(ladder: Ladder):
    assert ladder.rungs[0].fixes == ""
    for before, rung in pairwise(ladder.rungs):
        assert ladder.name.startswith("all-") or rung.fixes.endswith("."), f"{rung.kernel} after {before.kernel}"
    own = [one.rungs for one in TOPICS[ladder.topic].ladders if one.name == ladder.name]
    for before, rung in pairwise(own[0] if own else ()):
        assert not (rung.fixes and KERNELS[rung.kernel].fault_of(before.kernel)), "the same fault twice"


@pytest.mark.sampled(quick=3)
@EVERY_KERNEL
def test_a_header_names_predecessors_that_are_other_kernels_of_its_topic(kernel: Kernel):
    names = {each.name for each in TOPICS[kernel.topic].kernels} - {kernel.name}
    assert set(kernel.predecessors) <= names and len(set(kernel.predecessors)) == len(kernel.predecessors)


@pytest.mark.sampled(quick=3)
@EVERY_KERNEL
def test_a_header_speaks_of_kernels_and_not_of_a_place_in_one_ladder(kernel: Kernel):
    """A kernel stands in several ladders, so "the rung before" differs from page to page."""
    assert not re.findall(r"\b(?:rung before|next rung|other rungs|last rung)\b", " ".join(kernel.header.values()))


def test_a_fault_belongs_to_the_rung_before_and_not_to_the_kernel():
    ladder = LADDERS["crovella"]
    position = [rung.kernel for rung in ladder.rungs].index("reduce_grid_stride_host")
    kernel = KERNELS["reduce_grid_stride_host"]
    assert ladder.rungs[position].fixes not in ("", kernel.header["Fixes"])
    assert kernel.fault_of(ladder.rungs[position - 1].kernel) == "" != kernel.fault_of(kernel.predecessors[0])


def test_the_homework_names_its_public_source_in_ladders_and_headers():
    series = "NVIDIA's CUDA training series"
    homework = [ladder for ladder in LADDERS.values() if "homework" in ladder.title]
    assert len(homework) == 2 and all(ladder.summary.startswith(published.HW5) for ladder in homework)
    assert series in published.HW5
    own = [rung.kernel for ladder in homework for rung in ladder.rungs if rung.slide == "Homework"]
    assert own and all(series in KERNELS[kernel].header["Lecture"] for kernel in own)
    sheets = [file.read_text(encoding="utf-8") for file in (ROOT / "sheets").glob("*/sheet.toml")]
    exercises = [text for text in sheets if 'origin = "public"' in text]
    assert len(exercises) == 3 and all(series in text for text in exercises)


def test_every_kernel_stands_in_a_lecture_and_in_the_ladder_of_all_rungs():
    in_lectures = {rung.kernel for name, ladder in LADDERS.items() if not name.startswith("all-")
                   for rung in ladder.rungs}  # fmt: skip
    assert {kernel.name for kernel in KERNELS.values() if kernel.topic in PARAMETERS} <= in_lectures
    for topic in TOPICS.values():
        assert [rung.kernel for rung in LADDERS[f"all-{topic.name}"].rungs] == [k.name for k in topic.kernels]


# The largest number of lines added and removed from a rung to the next: a change of detail stays small.
NEIGHBOURS = {
    ("reduce_racy", "reduce_atomic"): 2,
    ("reduce_interleaved", "reduce_strided"): 5,
    ("reduce_strided", "reduce_sequential"): 7,
    ("reduce_sequential", "reduce_first_add"): 7,
    ("reduce_first_add", "reduce_unroll_volatile"): 17,
    ("reduce_first_add", "reduce_unroll_guarded"): 8,
    ("reduce_unroll_guarded", "reduce_complete_guarded"): 25,
    ("reduce_unroll_volatile", "reduce_complete_volatile"): 26,
    ("reduce_complete_volatile", "reduce_multiple_volatile"): 10,
    ("reduce_complete_volatile", "reduce_complete_unroll"): 16,
    ("reduce_multiple_volatile", "reduce_multiple_adds"): 16,
    ("reduce_unroll_volatile", "reduce_unroll_plain"): 2,
    ("reduce_unroll_volatile", "reduce_unroll_syncwarp"): 15,
    ("reduce_unroll_syncwarp", "reduce_complete_unroll"): 18,
    ("reduce_unroll_syncwarp", "reduce_unroll_shuffle"): 13,
    ("reduce_complete_unroll", "reduce_multiple_adds"): 10,
    ("reduce_sequential", "reduce_grid_stride_host"): 9,
    ("reduce_grid_stride_host", "reduce_grid_stride_atomic"): 4,
    ("reduce_grid_stride_atomic", "reduce_register_tree"): 15,
    ("matmul_uncoalesced", "matmul_naive"): 4,
    ("matmul_vectorized", "matmul_warp_tile"): 12,
    ("trapezoid_shared_relaunch", "trapezoid_sequential"): 8,
}


@pytest.mark.parametrize(("before", "after"), NEIGHBOURS)
def test_the_difference_between_two_neighbours_is_the_slide(before: str, after: str):
    lines = difflib.unified_diff(code(KERNELS[before]), code(KERNELS[after]), lineterm="", n=0)
    changed = [line for line in lines if line[0] in "+-" and line[:3] not in ("---", "+++")]
    assert 0 < len(changed) <= NEIGHBOURS[before, after], "\n".join(changed)


def test_the_published_figures_agree_with_each_other():
    rows = [figure for rung in LADDERS["harris"].rungs for figure in rung.published if figure.time_ms]
    assert len(rows) == 7
    for figure in rows:  # bandwidth = n * 4 bytes / time, in the lecture's rounding
        assert figure.bandwidth_gb_s == pytest.approx(figure.n * 4 / figure.time_ms / 1e6, rel=0.002)
    for before, after in pairwise(rows):
        assert after.step_speedup == pytest.approx(before.time_ms / after.time_ms, rel=0.01)
        assert after.cumulative_speedup == pytest.approx(rows[0].time_ms / after.time_ms, rel=0.01)


def test_heidelbergs_table_has_a_figure_for_every_block_size_and_its_maximum():
    path = Path(published.__file__).parent / "published" / "heidelberg_throughput.csv"
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    for row in csv.DictReader(lines):
        figures = published.throughput(row["kernel"])
        assert [figure.block_size for figure in figures] == [32, 64, 128, 256, 512, 1024]
        best = max(figures, key=lambda figure: figure.bandwidth_gb_s)
        assert (best.block_size, best.bandwidth_gb_s) == (int(row["max_threads"]), float(row["max_bandwidth"]))
    shown = [rung.published for rung in LADDERS["heidelberg"].rungs if rung.published]
    assert len(shown) == 6


def test_a_figure_that_no_lecture_prints_is_a_key_error():
    with pytest.raises(KeyError, match="prints no figure"):
        published.published("harris", "warp-shuffle")
    with pytest.raises(KeyError, match="prints no figure"):
        published.throughput("warp-shuffle")


@EVERY_KERNEL
def test_comparable_kernels_do_the_same_work(kernel: Kernel) -> None:
    topic = TOPICS[kernel.topic]
    choice = replace(default_choice(kernel.name), n=topic.sizes[1], device="gpu")
    made = plan(settle(choice))
    assert isinstance(made.steps[0], HostRun) == (kernel.processor == "cpu")
    for other in topic.kernels:
        same = [size for size in other.block_sizes if size in kernel.block_sizes]
        dtypes = [dtype for dtype in other.dtypes if dtype in kernel.dtypes]
        if not comparable(kernel, other) or not same or not dtypes:
            continue
        one, two = (plan(settle(replace(choice, kernel=each, block_size=same[0], dtype=dtypes[0])))
                    for each in (kernel.name, other.name))  # fmt: skip
        rated_by = "flops" if topic.metric == "gflop_s" else "bytes_moved"
        assert getattr(one, rated_by) == getattr(two, rated_by), other.name


def test_no_page_names_a_kernel():
    files = [file for end in ("*.py", "*.js") for file in (ROOT / "views").rglob(end) if ".min." not in file.name]
    assert len(files) > 20
    names = re.compile(rf"\b({'|'.join(KERNELS)})\b")
    assert {file.name: found for file in files if (found := names.findall(file.read_text(encoding="utf-8")))} == {}


def test_only_the_catalogue_and_the_lectures_name_kernels():
    """What holds of one kernel stands in its entry: elsewhere no value is the name of one."""
    lectures = {f"{name}.py" for name in ("cooper", "crovella", "cs121", "heidelberg", "hekun")}
    every = [file for file in (ROOT / "engine").rglob("*.py") if "catalogue" not in file.parts]
    files = [file for file in every if file.parent.name != "lectures" or file.name not in lectures]
    assert len(files) > 100
    names = re.compile("|".join(KERNELS))
    texts = [(file, file.read_text(encoding="utf-8")) for file in files]
    named = {
        (file.name, node.value)
        for file, text in texts
        if names.search(text)  # else it need not be parsed, which takes longer
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant) and node.value in KERNELS
    }
    assert named <= {("cupy_peers.py", "copy_offset")}  # CuPy copies a view there


def test_a_rung_in_the_middle_of_a_ladder_takes_at_most_four_files():
    steps = steps_of(ROOT / "docs" / "extending" / "rung.md")
    files = {file for step in steps for file in re.findall(r"`([\w/.]+)`(?:,|:)", step.words)}
    generated = set(re.findall(r"docs/\w+\.md", steps[-1].text))
    assert len(files) == 3 and generated == {"docs/kernels.md"}


def test_a_kernel_with_an_own_type_beside_integers_is_not_refused_as_one_for_integers():
    for kernel in KERNELS.values():
        floats = [dtype for dtype in kernel.dtypes if dtype.startswith("float")]
        told = [why for dtype, why in kernel.refuses.items() if dtype.startswith("float")]
        assert not floats or not any("integers only" in why for why in told), kernel.name
