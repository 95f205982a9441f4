"""Every sheet of the program: its start misses something, its solution passes, and each wrong answer is rejected by the
check that is meant for it. They grow from the folder: a new sheet is tested at once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from engine.backends.measure import failed, measure
from engine.catalogue import LADDERS, default_choice, kernel_named
from engine.history import history
from engine.lab.checking import check_own
from engine.lectures.claim import STATUS, TimeRatio
from engine.model.rungs import estimated
from engine.plan import settle
from engine.records import Choice, CompileError, NotRunnable, RunFailed
from engine.sheets.folder import load, names, of_rung, recorded
from engine.sheets.grading import START, launch_for, trials
from engine.sheets.judging import Answer, Asked, Estimation, Run, Submission, verdicts
from engine.sheets.sheet import LEVELS, ORIGINS, Check, Question, Sheet
from tests.sentences import wording

SAMPLE = ("first-saxpy",)
SHEETS = [pytest.param(name, marks=() if name in SAMPLE else pytest.mark.thorough) for name in names()]


def run_of(sheet: Sheet) -> Run:
    def run(asked: Asked) -> Answer:
        if isinstance(asked, Estimation):
            return estimated(settle(asked.choice), "")
        choice = asked
        if sheet.launch is not None:
            return check_own(
                launch_for(sheet, choice), choice.n, str(choice.source), "mine.cu", choice.schedule, again=False
            ).measurement
        try:
            return measure(settle(choice))
        except (NotRunnable, CompileError, RunFailed) as error:
            return failed(choice, error)

    return run


@pytest.mark.sampled(thorough=50)
@pytest.mark.parametrize("name", SHEETS)
def test_start_solution_and_wrong_answers_end_as_the_sheet_says(name: str) -> None:
    sheet = load(name)
    found = list(trials(sheet, run_of(sheet)))
    assert [trial for trial in found if not trial.good] == []
    assert len(found) == bool(sheet.function) + 1 + len(sheet.wrong)
    counts_of_wrong = wording("sheets.counts-of-a-wrong-answer")
    assert [trial.name for trial in found if counts_of_wrong in trial.sentence and trial.name != START] == []


@pytest.mark.parametrize(("n", "status"), [(4000, "ok"), (4096, "ok"), (5000, "wrong"), (20_000, "wrong")])
def test_the_slides_grid_width_is_right_for_a_small_array_that_the_grid_covers(n: int, status: str) -> None:
    sheet = load("crovella-grid-stride")
    assert "at most `blockDim.x * blockDim.x` elements" in sheet.afterwards
    covered = Choice(sheet.kernel, n, 64, -(-n // 64), device="emulator", source=sheet.start)
    assert measure(settle(covered)).status == status


SHUFFLES = "".join(f"    sum += __shfl_down_sync(0xffffffff, sum, {offset});\n" for offset in (16, 8, 4, 2, 1))
BY_TWOS = "jump = 1; jump < blockDim.x; jump *= 2) {\n        if (tid % (2 * jump) == 0 && "
# (sheet, rung that takes the place of its solution, changes of that text)
OTHERS = {
    "one reduction of a warp": ("heidelberg-2", "", {SHUFFLES: "    sum = __reduce_add_sync(0xffffffff, sum);\n"}),
    "waits": ("heidelberg-2", "reduce_unroll_syncwarp", {}),
    "in place": ("hekun-barriers", "", {"            sum = partial[tid] + ": "            partial[tid] += ",
                                        "        if (tid < stride)\n            partial[tid] = sum;\n": ""}),
    "sequential addresses": ("cooper-race", "",
                             {BY_TWOS: "jump = blockDim.x / 2; jump > 0; jump /= 2) {\n        if (tid < jump && "}),
    "words mixed in place of padding": ("coalescing-columns", "", {"[32][32 + 1]": "[32][32]", "[row][lane]":
                                        "[row][lane ^ row]", "[lane][column]": "[lane][column ^ lane]"}),
    "each constant once": ("constant-one-word", "", {"round < ROUNDS": "round < 32", "sum += ": "sum += 2 * "}),
    "shuffles in each row": ("crovella-row-sums", "row_sums_shuffle", {}),
    "a copy per warp": ("histogram-shared", "histogram_warps", {}),
    "one lane adds for its equals": ("histogram-shared", "", {
        "        atomicAdd(&counts[in[i]], 1);": "        unsigned equal = __match_any_sync(__activemask(), in[i]);\n"
        "        if (threadIdx.x % 32 == __ffs(equal) - 1) atomicAdd(&counts[in[i]], __popc(equal));"}),
    "two columns too many and one": ("one-matrix-padding", "", {"[32 + 1]": "[32 + 3]"}),
    "words mixed in the tile": ("one-matrix-padding", "", {"[32 + 1]": "[32]", "[r][tid % 32]": "[r][(tid ^ r) % 32]",
                                "[tid][c]": "[tid][(c ^ tid) % 32]"}),
    "padding in place of sequential addresses": ("harris-banks", "reduce_strided", {
        "partial[BLOCK_SIZE]": "partial[BLOCK_SIZE * 33 / 32]", "partial[tid] =": "partial[tid + tid / 32] =",
        "partial[index] += partial[index + stride]":
        "partial[index + index / 32] += partial[index + stride + (index + stride) / 32]"}),
    "shuffles in the last warp": ("harris-banks", "reduce_unroll_shuffle", {}),
    "the tile of N turned": ("cs121-tiling", "",
                             {"tile_N[ty][tx]": "tile_N[tx][ty]", "tile_N[k][tx]": "tile_N[tx][k]"}),
    "the element of N in the inner loop": ("beyond-tiling-registers", "", {
        "            float n = tile_N[k][tx];\n": "", " * n;": " * tile_N[k][tx];"}),
    "no volatile": ("banks-pairs", "", {"volatile __shared__": "__shared__"}),
    "parameters with other names": ("first-saxpy", "", {
        "float a, const float *x, float *y, int n": "float factor, const float *y, float *in, int x", "i < n": "i < x",
        "y[i] = a * x[i] + y[i]": "in[i] = factor * y[i] + in[i]"}),
    "a kernel without extern C": ("transpose-tile", "", {'extern "C" ': ""}),
    "a return in the tree": ("heidelberg-1", "", {"        if (tid < stride)": "        if (tid >= stride) return;"}),
    "a step that reads, waits and writes": ("harris-banks", "", {
        "        if (tid < stride)\n            partial[tid] += partial[tid + stride];": "        T sum = T(0);\n"
        "        if (tid < stride) sum = partial[tid] + partial[tid + stride];\n        __syncthreads();\n"
        "        if (tid < stride) partial[tid] = sum;"}),
    "the slide's return": ("cooper-race", "", {
        "        if (tid % (2 * jump) == 0 && i + jump < n)":
        "        if (tid % (2 * jump)) return;\n        if (i + jump < n)"}),
    "the smallest number without a header": ("crovella-max", "", {
        "in[0];  // an element of the array, which is a safe start for every type":
        "T(0.5) == T(0) ? T(INT_MIN) : T(-INFINITY);"}),
    "an element once more": ("crovella-max", "", {
        "in[0];  // an element of the array, which is a safe start for every type": "in[0];",
        "    partial[tid] = largest;": "    partial[tid] = tid == 0 ? max(largest, in[n - 1]) : largest;"}),
    "shuffles in every warp": ("heidelberg-2", "", {
        "    partial[tid] = ((": "    T own = ((",
        "    if (BLOCK_SIZE < 64) partial[tid + 32] = T(0);": "    for (int lanes = 16; lanes > 0; lanes /= 2)\n"
        "        own += __shfl_down_sync(0xffffffff, own, lanes);\n    if (tid % 32 == 0) partial[tid / 32] = own;",
        "stride = blockDim.x / 2;": "stride = 0;",
        "    T sum = partial[tid];\n    sum += partial[tid + 32];":
        "    T sum = tid < BLOCK_SIZE / 32 ? partial[tid] : T(0);"}),
    "a return behind the barrier": ("hekun-barriers", "", {
        "all have written before anyone reads\n": "all have written\n        if (tid >= stride) return;\n"}),
    "a return before the step": ("hekun-barriers", "", {
        "        if (tid < stride)\n            sum = ": "        if (tid >= stride) return;\n            sum = "}),
    "the barrier at the beginning of each step": ("hekun-barriers", "", {
        "    partial[tid] = sum;\n    __syncthreads();\n": "    partial[tid] = sum;\n",
        "        __syncthreads();  // all have written before anyone reads\n": "",
        "        if (tid < stride)\n            sum = ":
        "        __syncthreads();\n        if (tid < stride)\n            sum = "}),
    "a return behind the barrier of a tree": ("harris-banks", "", {
        "partial[tid + stride];\n        __syncthreads();\n":
        "partial[tid + stride];\n        __syncthreads();\n        if (tid >= stride) return;\n"}),
    "an exchange by shuffles": ("volta-exchange", "", {
        "        left[tid] = value;\n": "",
        "    __syncwarp();\n": "    value = __shfl_xor_sync(0xffffffff, value, 31);\n",
        "left[tid ^ 31]": "value", "    __shared__ unsigned int left[BLOCK_SIZE];\n": ""}),
    "two arrays": ("banks-pairs", "", {
        "pairs[2 * BLOCK_SIZE];": "pairs[BLOCK_SIZE], later[BLOCK_SIZE];", "pairs[tid + blockDim.x]": "later[tid]"}),
    "own values of the launch": ("crovella-max", "", {
        'extern "C"': "#define BLOCK_SIZE 256  // threads\ntypedef float T;\nextern \"C\""}),
    "a constant in place of a macro": ("histogram-shared", "", {
        'extern "C"': "const int BINS = 1 << 8;\nextern \"C\""}),
    "a loop that is not unrolled": ("cs121-tiling", "", {
        "        for (int k = 0;": "#pragma unroll 1\n        for (unsigned long long k = 0;"}),
    "a tile without dimensions": ("coalescing-columns", "", {
        "tiles[BLOCK_SIZE / 32][32][32 + 1]": "tiles[BLOCK_SIZE * 33]",
        "    for (unsigned int row = 0; row < 32; ++row)\n":
        "    for (int k = lane; k < 1024; k += 32)\n", "tiles[warp][row][lane] = matrix[row * 32 + lane]":
        "tiles[warp * 32 * 33 + k / 32 * 33 + k % 32] = matrix[k]", "tiles[warp][lane][column]":
        "tiles[warp * 32 * 33 + lane * 33 + column]"}),
    "two kernels without extern C": ("argmax-pairs", "", {'extern "C" ': ""}),
    "a file from Windows": ("one-matrix-padding", "", {'extern "C" ': "\ufeff", "\n": "\r\n"}),
    "a tree of neighbours": ("crovella-row-sums", "", {
        "stride = blockDim.x / 2; stride > 0; stride >>= 1": "stride = 1; stride < blockDim.x; stride *= 2",
        "if (tid < stride)": "if (tid % (2 * stride) == 0)"}),
    "shuffles before the tree": ("cs121-halving", "", {
        "        if (tid < stride)\n            partial[tid] += partial[tid + stride];\n        __syncthreads();\n": "",
        "    // reduce in shared memory,": "    T own = partial[tid];\n    for (int k = 16; k > 0; k /= 2)\n"
        "        own += __shfl_xor_sync(0xffffffff, own, k);\n    __syncthreads();\n    partial[tid] = T(0);\n"
        "    __syncthreads();\n    partial[tid / 32] = own;\n    __syncthreads();\n    //"}),
    "the last element in place of zeros": ("cs121-tiling", "", {
        "(Row < width && phase + tx < width) ? M[Row * width + phase + tx] : 0":
        "(phase + tx < width) * M[min(Row, width - 1) * width + min(phase + tx, width - 1)]",
        "(phase + ty < width && Col < width) ? N[(phase + ty) * width + Col] : 0":
        "(phase + ty < width) * N[min(phase + ty, width - 1) * width + min(Col, width - 1)]"}),
    "a tree of neighbours with a return": ("crovella-row-sums", "", {
        "stride = blockDim.x / 2; stride > 0; stride >>= 1": "stride = 1; stride < blockDim.x; stride *= 2",
        "        if (tid < stride)\n    ": "        if (tid % (2 * stride)) return;\n"}),
    "one place for each warp": ("order-reserve", "", {
        "    if (i < n) {\n        unsigned int my_dsize = 1 + (in[i] & 3);\n":
        "    unsigned int lane = threadIdx.x % 32, my_dsize = i < n ? 1 + (in[i] & 3) : 0, upto = my_dsize, end = 0;\n"
        "    for (int k = 1; k < 32; k *= 2) {\n        unsigned int below = __shfl_up_sync(0xffffffff, upto, k);\n"
        "        if (lane >= k) upto += below;\n    }\n    if (lane == 31) end = atomicAdd(buffer_idx, upto);\n"
        "    end = __shfl_sync(0xffffffff, end, 31);\n    if (i < n) {\n",
        "= atomicAdd(buffer_idx, my_dsize);": "= end + upto - my_dsize;"}),
    "a swap that reads before each try": ("atomics-by-cas", "", {
        "        assumed = old;\n":
        "        assumed.word = atomicCAS(&((Bits *)address)->word, old.word, old.word);\n"}),
    "a return in Cooper's tree from the middle": ("cooper-race", "", {
        BY_TWOS + "i + jump < n)": "jump = blockDim.x / 2; jump > 0; jump /= 2) {\n        if (tid >= jump) return;\n"
        "        if (i + jump < n)"}),
    "neighbours who count": ("hekun-barriers", "", {
        "stride = blockDim.x / 2; stride > 0; stride >>= 1": "stride = 1; stride < blockDim.x; stride *= 2",
        "if (tid < stride)": "if (tid % (2 * stride) == 0)"}),
    "the lane that is opposite": ("volta-exchange", "", {
        "    __syncwarp();\n\n    if (i < n) out[i] = left[tid ^ 31]":
        "    __syncwarp(0xffffffff);\n    unsigned int other = left[tid / 32 * 32 + 31 - tid % 32];\n"
        "    if (i < n) out[i] = other"}),
    "the own number in a register": ("stencil-shared", "", {
        "    s[at] = i < n ? in[i] : 0;": "    const int own = i < n ? in[i] : 0;\n    s[at] = own;",
        "int sum = 0;\n    for (int k = -RADIUS; k <= RADIUS; k++)\n        sum += s[at + k];":
        "int sum = own;\n    for (int k = 1; k <= RADIUS; k++)\n        sum += s[at - k] + s[at + k];"}),
    "a column of N in registers": ("beyond-tiling-registers", "", {
        "        for (int k = 0; k < TILE_WIDTH; ++k) {\n            float n = tile_N[k][tx];\n"
        "            for (int r = 0; r < ROWS; ++r)\n"
        "                Pvalue[r] += tile_M[ty + r * TILE_WIDTH][k] * n;\n        }":
        "        float n[TILE_WIDTH];\n        for (int k = 0; k < TILE_WIDTH; ++k) n[k] = tile_N[k][tx];\n"
        "        for (int r = 0; r < ROWS; ++r)\n            for (int k = 0; k < TILE_WIDTH; ++k)\n"
        "                Pvalue[r] += tile_M[ty + r * TILE_WIDTH][k] * n[k];"}),
    "work in one turn": ("barriers-needless", "", {"step < 4; ++step": "step < 1; ++step", "warp % 4 == step": "true"}),
}  # fmt: skip


@pytest.mark.sampled(quick=0, thorough=20)
@pytest.mark.parametrize("case", OTHERS)
def test_another_right_answer_passes(case: str) -> None:
    name, rung, changes = OTHERS[case]
    sheet = load(name)
    text = of_rung(kernel_named(rung), kernel_named(str(sheet.kernel))) if rung else sheet.solution
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    checks = tuple(check for check in sheet.checks if isinstance(check, Check))
    found = verdicts(replace(sheet, checks=checks), Submission(text, {}, "mine.cu"), run_of(sheet), seed=1)
    assert [verdict for verdict in found if verdict.passed is False] == []


@pytest.mark.parametrize("name", names())
def test_a_sheet_is_complete(name: str) -> None:
    """It has words, hints and a solution; its own wrong answers reach every check that a file can miss here."""
    sheet = load(name)
    assert sheet.text and sheet.title and sheet.lecture and sheet.hints and sheet.afterwards
    texts = [sheet.text, sheet.afterwards, *sheet.hints, *(check.aim for check in sheet.checks)]
    assert all(text.rstrip()[-1] in ".?!`*)" for text in texts), "a text ends as a sentence does"
    meant = {wrong.check for wrong in sheet.wrong}
    for check in sheet.checks:
        if isinstance(check, Question):
            assert all(check.choices.count(choice) == 1 for choice in check.choices)
        elif check.quantity == STATUS:
            assert len(check.runs.n) > 1 and len([*check.runs.of(str(sheet.function), None, None, "emulator")]) > 2
            assert check.name in meant
        elif not isinstance(check.quantity, TimeRatio):
            assert check.name in meant, f"no wrong answer is meant for {check.name}"


@pytest.mark.thorough
def test_what_is_to_be_faster_was_faster_where_it_was_recorded() -> None:
    """A ratio that a sheet asks for is one that its solution reached on a named GPU, where it is a kernel of ours."""
    found = 0
    for sheet in map(load, names()):
        for check in sheet.checks:
            if _is_timed(check) and sheet.solution == of_rung(*[kernel_named(str(sheet.kernel))] * 2):
                (choice,) = check.runs.of(str(sheet.kernel), None, None, "gpu")
                own, other = (_recorded(choice, kernel) for kernel in (choice.kernel, check.limits[0].against))
                assert other / own >= check.limits[0].expected, sheet.name
                found += 1
    assert found


def _is_timed(check: Check | Question) -> bool:
    return isinstance(check, Check) and isinstance(check.quantity, TimeRatio)


def _recorded(choice: Choice, kernel: str) -> float:
    usual = default_choice(kernel)
    wanted = Choice(kernel, choice.n, choice.block_size, dtype=choice.dtype, cache=usual.cache, device="gpu")
    measurement = history.recorded_for(settle(wanted))
    assert measurement is not None and measurement.time_us is not None
    return measurement.time_us


def test_every_ladder_has_a_sheet() -> None:
    ladders = {name for name in LADDERS if not name.startswith("all-")}
    assert ladders == {load(name).ladder for name in names()} - {""}


@pytest.mark.thorough
def test_whatever_a_sheet_says_of_today_was_recorded() -> None:
    assert names()
    for sheet in map(load, names()):
        assert len(recorded(sheet).sentences) == len(sheet.today), sheet.name


def test_beginners_sheets_come_first_then_the_lectures_own() -> None:
    listed = [(list(LEVELS).index(sheet.level), list(ORIGINS).index(sheet.origin)) for sheet in map(load, names())]
    assert listed == sorted(listed) and names()[0] == "first-saxpy"
