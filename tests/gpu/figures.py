"""Measure the figures that the project states, on a GPU, and print them as tables.

    python tests/gpu/figures.py [FILE.json]

The top rung against CUB at every power of two, the ladder at 2^22, the matrix kernels against cuBLAS, and the time from
a submitted choice to its measurement through the isolated worker: what a page waits for.
"""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter

sys.path.insert(0, str(Path(__file__).parents[2]))

from engine.catalogue import KERNELS, LADDERS, TOPICS, default_choice
from engine.plan import settle
from engine.records import Choice, Measurement
from engine.service import service

TOP_RUNG = "reduce_vectorized"
TOP_BLOCKS = (512, 1024)


def measured(choice: Choice) -> Measurement:
    asked = settle(replace(choice, device="gpu"))
    return service.measurement_of(service.submit(asked, "figures", fresh=True), asked)


def against_cub() -> list[dict]:
    rows = []
    for dtype in KERNELS[TOP_RUNG].dtypes:
        for power in range(10, 31):
            for block_size in TOP_BLOCKS:
                found = measured(Choice(TOP_RUNG, 2**power, block_size, dtype=dtype))
                peer = found.peers.get("CUB")
                rows.append({"dtype": dtype, "power": power, "block_size": block_size, "status": found.status,
                             "time_us": found.time_us, "bandwidth_gb_s": found.rates.bandwidth_gb_s,
                             "ratio": peer and peer.ratio, "low": peer and peer.ratio_low,
                             "high": peer and peer.ratio_high})  # fmt: skip
            best = max((row for row in rows[-len(TOP_BLOCKS) :] if row["ratio"]), key=lambda row: row["ratio"])
            print(f"{dtype:8} 2^{power:<2} block {best['block_size']:4} {best['time_us']:9.2f} us "
                  f"{best['bandwidth_gb_s']:7.0f} GB/s  CUB/this {best['ratio']:.3f} "
                  f"[{best['low']:.3f}, {best['high']:.3f}]", flush=True)  # fmt: skip
    return rows


def ladders() -> list[dict]:
    rows = []
    for name, ladder in LADDERS.items():
        if not name.startswith("all-"):
            for rung in ladder.rungs:
                choice = replace(default_choice(rung.kernel), n=ladder.n, block_size=ladder.block_size,
                                 dtype=ladder.dtype, combine=rung.combine)  # fmt: skip
                found = measured(choice)
                rows.append({"ladder": name, "rung": rung.kernel, "status": found.status, "time_us": found.time_us,
                             "gb_s": found.rates.bandwidth_gb_s, "gflop_s": found.rates.gflop_s})  # fmt: skip
                time = f"{found.time_us:10.2f} us" if found.time_us else f"{found.status}: {found.reason}"
                print(f"{name:16} {rung.kernel:28} {time}", flush=True)
    return rows


def matmul() -> list[dict]:
    rows = []
    for kernel in TOPICS["matmul"].kernels:
        for tile in kernel.block_sizes:
            found = measured(Choice(kernel.name, 4096, tile, dtype="float32"))
            peer = found.peers.get("cuBLAS")
            rows.append({"kernel": kernel.name, "tile": tile, "status": found.status, "gflop_s": found.rates.gflop_s,
                         "ratio": peer and peer.ratio, "cublas_us": peer and peer.time_us})  # fmt: skip
            speed = (
                f"{found.rates.gflop_s / 1e3:6.2f} TFLOP/s"
                if found.rates.gflop_s
                else f"{found.status}: {found.reason}"
            )
            ratio = f"  cuBLAS {2 * 4.096**3 / peer.time_us * 1e3:6.2f} TFLOP/s" if peer else ""
            print(f"{kernel.name:24} tile {tile:2} {speed}{ratio}", flush=True)
    return rows


def waits() -> list[dict]:
    """Submit to measurement in hand, warm: the median of five runs of each reduction at 2^22."""
    rows = []
    for kernel in TOPICS["reduction"].kernels:
        choice = replace(default_choice(kernel.name), n=2**22)
        measured(choice)
        times = []
        for _ in range(5):
            started = perf_counter()
            measured(choice)
            times.append((perf_counter() - started) * 1e3)
        rows.append({"kernel": kernel.name, "median_ms": median(times)})
        print(f"{kernel.name:28} {median(times):7.1f} ms", flush=True)
    print(f"median of the rungs {median(row['median_ms'] for row in rows):.1f} ms")
    return rows


if __name__ == "__main__":
    found = {"against_cub": against_cub(), "ladders": ladders(), "matmul": matmul(), "waits": waits()}
    if sys.argv[1:]:
        Path(sys.argv[1]).write_text(json.dumps(found, indent=0), encoding="utf-8")
    service.disconnect()
