"""What this machine can do at most with the instructions of a target, measured: the floor under a step's time."""

from __future__ import annotations

import ctypes
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from threading import Barrier
from time import perf_counter
from typing import Any

import numpy as np

from ..targets import Target
from ..targets.toolchain import compile_program

CHAINS = 12
TRY_SECONDS = 0.004
SECONDS = 0.15
L3_BYTES = 6 << 20
DRAM_BYTES = 256 << 20

SOURCE = """
#include <stdint.h>
typedef float vector __attribute__((vector_size(%(bytes)d)));
enum { CHAINS = %(chains)d, LANES = %(bytes)d / 4 };

static float total(const vector *sums)
{
    float sum = 0;
    for (int c = 0; c < CHAINS; c++)
        for (int i = 0; i < LANES; i++)
            sum += sums[c][i];
    return sum;
}

#define EXPORT __attribute__((visibility("default")))

EXPORT float multiply_add(int64_t repeats, const float *given)
{
    vector sums[CHAINS], x = given[0] - (vector){0}, y = given[1] - (vector){0};
    for (int c = 0; c < CHAINS; c++)
        sums[c] = (float)c - (vector){0};
    for (int64_t i = 0; i < repeats; i++)
#pragma clang loop unroll(full)
        for (int c = 0; c < CHAINS; c++)
            sums[c] = sums[c] * x + y;
    return total(sums);
}

EXPORT float read_all(int64_t repeats, const vector *memory, int64_t vectors)
{
    vector sums[CHAINS] = {0};
    for (int64_t i = 0; i < repeats; i++)
        for (int64_t k = 0; k + CHAINS <= vectors; k += CHAINS)
#pragma clang loop unroll(full)
            for (int c = 0; c < CHAINS; c++)
                sums[c] += memory[k + c];
    return total(sums);
}
"""

Work = Callable[[int], None]


@dataclass(frozen=True)
class Ceilings:
    """Of all threads together: f32 operations a second, and bytes read a second from a working set of each size."""

    threads: int
    flops: float
    bandwidth: tuple[tuple[int, float], ...]

    def floor_ns(self, flops: float, moved: float) -> float:
        """Nanoseconds below which no step gets that computes and moves so much; memory as near as it could lie."""
        return 1e9 * max(flops / self.flops, moved / self._bytes_a_second(moved))

    def _bytes_a_second(self, moved: float) -> float:
        held = (speed for size, speed in self.bandwidth if moved <= size * self.threads)
        return next(held, self.bandwidth[-1][1])


def measure(target: Target, threads: int) -> Ceilings:
    """The ceilings of `threads` threads; about a second.

    What a core has for itself is measured on one and multiplied, what the cores share is measured on all.
    """
    source = SOURCE % {"bytes": target.vector_bytes, "chains": CHAINS}
    with tempfile.TemporaryDirectory(prefix="cuvil-") as folder:
        path = Path(folder) / "ceilings.so"
        path.write_bytes(compile_program(source, target))
        library = ctypes.CDLL(str(path))
    given = np.array([0.5, 0.25], np.float32)
    operations = 2 * CHAINS * target.lanes / _seconds([_work(library.multiply_add, given.ctypes.data)])

    def read(size: int, readers: int) -> float:
        buffers = [np.ones(size + 64, np.uint8) for _ in range(readers)]
        starts = (b.ctypes.data + -b.ctypes.data % 64 for b in buffers)
        return size / _seconds([_work(library.read_all, start, size // target.vector_bytes) for start in starts])

    dram = max(2 * L3_BYTES, DRAM_BYTES // threads)
    l1, l2 = read(target.l1_bytes // 2, 1), read(target.l2_bytes // 2, 1)
    l3, memory = read(L3_BYTES, threads), read(dram, threads)
    speeds = ((target.l1_bytes, l1), (target.l2_bytes, l2), (L3_BYTES, l3), (dram, memory))
    return Ceilings(threads, threads * operations, tuple((size, threads * speed) for size, speed in speeds))


def _work(function: Any, address: int, *numbers: int) -> Work:
    function.restype = ctypes.c_float
    arguments = (ctypes.c_void_p(address), *map(ctypes.c_int64, numbers))
    return lambda repeats: function(ctypes.c_int64(repeats), *arguments)


def _seconds(work: list[Work]) -> float:
    """Seconds of one repeat, when every thread does its work at the same time; the best of several short tries."""
    repeats = 1
    while (once := _best(work, repeats, 1)) < TRY_SECONDS:
        repeats = max(2 * repeats, int(repeats * TRY_SECONDS / max(once, 1e-6)))
    return _best(work, repeats, max(3, int(SECONDS / once))) / repeats


def _best(work: list[Work], repeats: int, tries: int) -> float:
    gate = Barrier(len(work))

    def run(each: Work) -> list[tuple[float, float]]:
        spans = []
        for _ in range(tries):
            gate.wait()
            start = perf_counter()
            each(repeats)
            spans.append((start, perf_counter()))
        return spans

    with ThreadPoolExecutor(len(work)) as pool:
        rounds = list(zip(*pool.map(run, work), strict=True))
    took: list[float] = [max(end for _, end in spans) - min(start for start, _ in spans) for spans in rounds]
    return min(took)
