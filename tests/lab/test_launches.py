"""The launch that is proposed for a file is the one that its own host code says."""

from __future__ import annotations

import pytest

from engine.lab.setups import LaunchSizes, launch_in_text, propose_setup

KERNEL = "__global__ void k(const float *a, float *b, int n) { }\n"
FILES = {
    "numbers": ("int main() { k<<<4, 64>>>(a, b, n); }", LaunchSizes((64,), 0)),
    "a macro": (
        "#define THREADS (2 * 64)\nint main() { k<<<n / THREADS, THREADS>>>(a, b, n); }",
        LaunchSizes((128,), 0),
    ),
    "a variable": ("int main() { int t = 32; k<<<n / t, t, t * sizeof(float)>>>(a, b, n); }", LaunchSizes((32,), 128)),
    "a dim3": ("const int T = 16;\nint main() { dim3 g(4, 4), t(T, T); k<<<g, t>>>(a, b, n); }", None),
    "dim3s": (
        "const int T = 16;\nint main() { dim3 g(4, 4); dim3 t(T, T); k<<<g, t>>>(a, b, n); }",
        LaunchSizes((16, 16), 0),
    ),
    "assigned": ("int main() { dim3 t = dim3(8, 4, 1); k <<< 1, t >>> (a, b, n); }", LaunchSizes((8, 4), 0)),
    "in place": ("int main() { k<<<dim3(1, 2), dim3(8, 4, 2)>>>(a, b, n); }", LaunchSizes((8, 4, 2), 0)),
    "unknown": ("int main(int c, char **v) { int t = atoi(v[1]); k<<<1, t>>>(a, b, n); }", None),
    "too many": ("int main() { k<<<1, 2048>>>(a, b, n); }", None),
    "itself": ("int main() { int t = t; k<<<1, t>>>(a, b, n); }", None),
    "not launched": ("", None),
}


@pytest.mark.parametrize("name", FILES)
def test_a_block_is_read_off_the_launch(name: str) -> None:
    host, wanted = FILES[name]
    assert launch_in_text(KERNEL + host, "k") == wanted


def test_what_is_proposed_fits_the_file() -> None:
    plane = propose_setup(KERNEL + FILES["dim3s"][0])
    assert plane.call == (
        "k<<<dim3((n + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(float32[n, n]=random, float32[n, n]=zeros, n)"
    )
    text = "template <class A, int N> __global__ void k(A *a, A by) { __shared__ A s[N]; }\n"
    assert propose_setup(text + "int main() { k<double, 32><<<1, 32, 8>>>(a, 1); }").call == (
        "k<<<(n + block - 1) / block, 32, 8>>>(float64[n]=zeros, 1)"
    )


@pytest.mark.parametrize("piece", ["k<<<1, ", "t = t;", "k<", "#define t t\n"])
def test_a_text_that_says_it_a_thousand_times_is_read_soon(piece: str) -> None:
    launch_in_text(KERNEL + "k<<<1, t>>>();" + piece * (30_000 // len(piece)), "k")
    launch_in_text(KERNEL + piece * (30_000 // len(piece)), "k")
