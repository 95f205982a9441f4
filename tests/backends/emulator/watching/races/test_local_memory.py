"""Local arrays start with undefined values: what reads them is found, and is not right by luck."""

from __future__ import annotations

import numpy as np
import pytest

import engine
from engine.lab.kernels import KernelRun
from engine.records import RunFailed
from tests.sentences import sentence

pytestmark = pytest.mark.sampled(quick=2)

READS_UNWRITTEN = {
    "an array that was meant to be shared": """
    float tile[8]; if (t < 4) tile[t] = x[t];
    __syncthreads();
    float sum = 0; for (int i = 0; i < n; i++) sum += tile[i];
    out[t] = sum;""",
    "sums without a first value": """
    float sum[8]; for (int i = 0; i < n; i++) sum[(i + t) % 8] += x[i];
    out[t] = sum[t % 8];""",
    "a count of some": """
    int some[32]; for (int i = 0; i < n / 2; i++) some[i] = 1 + x[i];
    int c = 0; for (int i = 0; i < n; i++) if (some[i] > 0) c++;
    out[t] = c ? __int_as_float(~0) : c;""",
    "one element too far": """
    double part[9]; for (int i = 0; i < n; i++) part[i] = x[i];
    double sum = 0; for (int i = 0; i <= n; i++) sum += part[i];
    out[t] = sum;""",
}
NARROW = {
    "a sieve that is not set": """
    bool prime[64]; for (int i = 4; i < 64; i += 2) prime[i] = false;
    for (int i = 3; i < n; i += 2) for (int j = i * i; j < 64; j += i) prime[j] = false;
    int c = 0; for (int i = 2; i < 64; i++) if (prime[i]) c++;
    out[t] = c;""",
    "counts in short": """
    short count[16]; for (int i = 0; i < n; i++) count[(i * 5 + t) % 16] += i;
    out[t] = count[(n + t) % 16];""",
    "letters": """
    unsigned char letter[40]; for (int i = 0; i < n; i++) letter[(i * 3) % 40] = i;
    int sum = 0; for (int i = 0; i < n; i++) sum += letter[(i * 7) % 40];
    out[t] = sum;""",
}
READS_ITS_OWN = {
    "a stack": """
    int top = 0; float stack[16];
    for (int i = 0; i < n; i++) { if (x[i] > 0.2f) stack[top++] = x[i]; else if (top > 0) top--; }
    out[t] = top > 0 ? stack[top - 1] : -1;""",
    "a structure with padding": """
    Padded own[4], other[4];
    for (int i = 0; i < 4; i++) { own[i].a = i; own[i].b = n; }
    for (int i = 0; i < 4; i++) other[(i + t) % 4] = own[i];
    out[t] = other[n % 4].a + other[t % 4].b;""",
    "an array that is filled in part": """
    float part[32]; for (int i = 0; i < n; i++) part[i] = x[i];
    float most = 0; for (int i = 0; i < n; i++) most = fmaxf(most, part[n - 1 - i]);
    out[t] = most;""",
    "a sieve": """
    bool prime[64]; for (int i = 0; i < 64; i++) prime[i] = true;
    for (int i = 2; i < n; i++) for (int j = i * i; j < 64; j += i) prime[j] = false;
    int c = 0; for (int i = 2; i < 64; i++) if (prime[i]) c++;
    out[t] = c;""",
    "small numbers of the first content": """
    short few[16]; for (int i = 0; i < 16; i++) few[(i * 5) % 16] = i & 1 ? -1 : -11;
    int sum = 0; for (int i = 0; i < n; i++) sum += few[(i + t) % 16];
    out[t] = sum;""",
    "letters that are copied": """
    char word[8], other[8]; for (int i = 0; i < n; i++) word[(i + t) % 8] = i;
    for (int i = 0; i < 8; i++) other[(i * 3 + t) % 8] = word[i];
    out[t] = other[t % 8] + other[(t + 1) % 8];""",
    "letters written as one word": """
    union { unsigned words[4]; unsigned char letters[16]; } both;
    for (int i = 0; i < 4; i++) both.words[(i + n) % 4] = i * 0x01020304;
    int sum = 0; for (int i = 0; i < n; i++) sum += both.letters[(i * 3 + t) % 16];
    out[t] = sum;""",
    "a default that is chosen": """
    float few[4]; if (n > 2) few[n % 4] = x[0];
    out[t] = n > 2 ? few[n % 4] : 0;""",
}


def run_of(body: str) -> KernelRun:
    text = f"""struct __align__(16) Padded {{ double a; int b; }};
__global__ void k(const float *x, float *out, int n) {{ int t = threadIdx.x; {body} }}
"""
    return engine.kernel(text).run(1, 32, (np.linspace(0, 1, 32, dtype=np.float32), np.zeros(32, np.float32), 8))


@pytest.mark.parametrize("name", READS_UNWRITTEN)
def test_an_element_that_its_thread_has_not_written_is_found(name: str) -> None:
    run = run_of(READS_UNWRITTEN[name])
    assert [found.kind for found in run.findings] == ["uninitialised-local"]
    assert np.isnan(run.arrays["out"]).any()  # so no reference calls it right
    if "shared" in name:
        assert sentence("finding.uninitialised-local", run.findings[0].message)


@pytest.mark.parametrize("name", NARROW)
def test_an_element_of_few_bytes_that_its_thread_has_not_written_is_found(name: str) -> None:
    assert {found.kind for found in run_of(NARROW[name]).findings} == {"uninitialised-local"}


@pytest.mark.parametrize("name", READS_ITS_OWN)
def test_what_a_thread_has_written_or_never_uses_is_no_finding(name: str) -> None:
    run = run_of(READS_ITS_OWN[name])
    assert run.ok and np.isfinite(run.arrays["out"]).all()


OF_ANOTHER = {
    "a local array, by shared memory": """__shared__ float *first; float own[4] = {1, 2, 3, x[0]}; own[t & 3] += t;
    if (t == 0) first = own;
    __syncthreads(); out[t] = first[n & 3];""",
    "a local array, by global memory": """float own[4] = {1, 2, 3, x[0]}; own[t & 3] += t; box[t] = own;
    __syncthreads(); out[t] = box[t ^ 1][n & 3];""",
    "a node of a list": """__shared__ Node *head; Node node = {t, nullptr}; if (t == 0) head = &node;
    __syncthreads(); if (t == 5) head->value = n;
    __syncthreads(); out[t] = node.value;""",
    "a stack of nodes, by atomics": """__shared__ unsigned long long head; if (t == 0) head = 0;
    __syncthreads(); if (t == 9) { Node node = {t, nullptr}; atomicExch(&head, (unsigned long long)&node); }
    __syncthreads(); if (t == 3) { Node *found = (Node *)atomicExch(&head, 0ull); out[t] = found->value; }""",
    "shared memory of another block": """__shared__ float own[32]; own[t] = x[t]; __shared__ int ticket;
    if (t == 0) { if (blockIdx.x == 0) *(float *volatile *)box = own; __threadfence(); ticket = atomicAdd(count, 1); }
    __syncthreads(); if (ticket == 1 && t < n) { __threadfence(); out[t] = (*(float *volatile *)box)[t]; }""",
}
OF_ITS_OWN = {
    "a local array": """float own[4] = {1, 2, 3, x[0]}; own[t & 3] += t; box[t] = own; out[t] = box[t][n & 3];""",
    "shared memory": """__shared__ float own[32]; own[t] = x[t]; if (t == 0) box[blockIdx.x] = own;
    __syncthreads(); out[t] = box[blockIdx.x][31 - t];""",
    "a place that is used again": """__shared__ double place[32]; float own[4] = {1, 2, 3, x[0]}; own[t & 3] += t;
    ((float **)place)[t] = own; out[t] = ((float **)place)[t][n & 3];
    __syncthreads(); place[t] = t;
    __syncthreads(); out[t] += place[31 - t];""",
}


def run_with_addresses(body: str) -> KernelRun:
    text = f"""struct Node {{ int value; Node *next; }};
__global__ void k(const float *x, float *out, float **box, int *count, int n) {{ int t = threadIdx.x; {body} }}
"""
    blocks = 2 if "blockIdx" in body else 1
    given = np.linspace(0, 1, 32, dtype=np.float32), np.zeros(32, np.float32), np.zeros(32, np.uint64)
    return engine.kernel(text).run(blocks, 32, (*given, np.zeros(1, np.int32), 8))


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", OF_ANOTHER)
def test_the_address_of_another_threads_or_blocks_variable_is_found(name: str) -> None:
    (found,) = (each for each in run_with_addresses(OF_ANOTHER[name]).findings if each.kind == "address-of-another")
    assert found.line in (3, 4) and found.other_line in (2, 3)


@pytest.mark.sampled(quick=3)
@pytest.mark.parametrize("name", OF_ITS_OWN)
def test_the_address_of_its_own_variable_is_no_finding(name: str) -> None:
    assert run_with_addresses(OF_ITS_OWN[name]).ok


def test_an_access_behind_a_local_array_names_elements_of_its_own_size() -> None:
    body = "Node own[2]; for (int k = 0; k <= n; k++) own[k].value = t; out[t] = own[t & 1].value;"
    with pytest.raises(RunFailed, match=r"writes element 2 of its local array `own`, which has 2 elements"):
        run_with_addresses(body)
