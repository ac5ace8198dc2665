"""gemm.h against numpy in float64: tile shapes, tails, strides, batches, divisions of the units."""

import re

import numpy as np
import pytest

from cuvil_pack.kernels.tiles import shared_sums, sums_table
from cuvil_pack.targets import TARGETS
from tests.kernels.harness import (
    RUNNABLE,
    assembly,
    build,
    call,
    divisions,
    fenced,
    load,
    panels,
    poison,
    random,
    relative_error,
    scratch,
)

# mr, nr, mb, nb, kc, columns_outer
SCHEDULES = {
    "x86-64-v2": ["3, 16, 12, 16, 0, 1", "2, 16, 16, 64, 20, 0"],
    "x86-64-v3": ["6, 16, 12, 16, 0, 1", "4, 16, 64, 64, 33, 0"],
    "x86-64-v4": ["6, 64, 48, 128, 0, 1", "14, 32, 28, 32, 0, 0", "9, 48, 9, 96, 7, 1"],
    "aarch64": ["6, 16, 24, 64, 0, 0", "8, 16, 24, 64, 32, 1"],
}
CASES = [(level, schedule) for level in RUNNABLE for schedule in SCHEDULES[level]]
SIZES = [(1, 64, 33), (2, 80, 7), (3, 16, 1), (4, 100, 65), (5, 17, 40), (29, 130, 61), (67, 1, 5), (50, 257, 96)]

SOURCE = """
#include "gemm.h"

static const cv_gemm_schedule S = {SCHEDULE};
SUMS

typedef struct {
    float *c;
    int64_t stride;
} store_to;

static void store(void *ctx, const float *tile, int64_t stride, int64_t m0, int64_t mb, int64_t n0, int64_t nb)
{
    const store_to *to = ctx;
    for (int64_t i = 0; i < mb; i++)
        for (int64_t j = 0; j < nb; j++)
            to->c[(m0 + i) * to->stride + n0 + j] = tile[i * stride + j];
}

void pack(float *panels, const float *b, int64_t stride, int64_t k, int64_t n)
{
    cv_pack_rows(panels, b, stride, k, n);
}

int64_t units(int64_t batch, int64_t m, int64_t n, int64_t k)
{
    return cv_gemm_units(S, (cv_gemm_size){batch, m, n, k});
}

int64_t floats(int64_t batch, int64_t m, int64_t n, int64_t k)
{
    return cv_gemm_activations_floats(S, (cv_gemm_size){batch, m, n, k});
}

void weights(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a, int64_t stride, int64_t batch_stride,
             const float *b, float *c, int64_t c_stride, float *partial, int64_t begin, int64_t end)
{
    const cv_gemm_size size = {batch, m, n, k};
    store_to to = {c, c_stride};
    cv_gemm(S, TABLE, size, (cv_matrix){a, stride, batch_stride}, b, partial, store, &to, begin, end);
}

void activations(int64_t batch, int64_t m, int64_t n, int64_t k, const float *a, int64_t stride, int64_t batch_stride,
                 const float *b, int64_t b_stride, int64_t b_batch, int64_t transposed,
                 float *c, int64_t c_stride, float *scratch, int64_t begin, int64_t end)
{
    const cv_gemm_size size = {batch, m, n, k};
    const cv_gemm_operand operand = {{b, b_stride, b_batch}, transposed};
    store_to to = {c, c_stride};
    cv_gemm_activations(S, TABLE, size, (cv_matrix){a, stride, batch_stride}, operand, scratch, store, &to, begin, end);
}
"""


def program(schedule: str, level: str) -> str:
    mr, nr, *_ = (int(part) for part in schedule.split(","))
    tiles, lanes, few = {"mr": mr, "nr": nr}, TARGETS.get(level, TARGETS["x86-64-v2"]).lanes, (1, 4)
    sums = "\n".join(shared_sums("gemm", tiles, lanes, few))
    source = SOURCE.replace("SCHEDULE", schedule).replace("SUMS", sums)
    return source.replace("TABLE", sums_table("gemm", tiles, lanes, few))


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("size", SIZES)
def test_weights(level: str, schedule: str, size: tuple[int, int, int]) -> None:
    m, n, k = size
    library = load(program(schedule, level), level)
    a, b = random(2, m, k + 3), random(k, n)
    rows = a.reshape(-1)[: 2 * m * (k + 3) - 3]
    units, floats = (call(library, name, 2, m, n, k) for name in ("units", "floats"))
    results = []
    for division in divisions(units):
        with fenced(rows, panels(b), poison((2 * m, n + 1)), scratch(floats)) as (x, y, c, s):
            for begin, end in division:
                call(library, "weights", 2, m, n, k, x, k + 3, m * (k + 3), y, c, n + 1, s, begin, end)
            results.append(c.copy())
    assert relative_error(results[0][:, :n], (a[..., :k].astype(np.float64) @ b).reshape(2 * m, n)) < 5e-7
    assert (results[0][:, n] == poison((1,))[0]).all()
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("transposed", [0, 1])
def test_activations(level: str, schedule: str, size: tuple[int, int, int], transposed: int) -> None:
    m, n, k = size
    library = load(program(schedule, level), level)
    a, b = random(3, m, k), random(3, k, n)
    stored = np.ascontiguousarray(b.transpose(0, 2, 1)) if transposed else b
    units, floats = (call(library, name, 3, m, n, k) for name in ("units", "floats"))
    results = []
    for division in divisions(units):
        with fenced(a, stored, poison((3 * m, n)), scratch(floats)) as (x, y, c, s):
            for begin, end in division:
                call(library, "activations", 3, m, n, k, x, k, m * k,
                     y, stored.shape[2], k * n, transposed, c, n, s, begin, end)  # fmt: skip
            results.append(c.copy())
    assert relative_error(results[0], (a.astype(np.float64) @ b).reshape(3 * m, n)) < 5e-7
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize("level", RUNNABLE)
def test_nan_and_infinity_stay_in_their_rows_and_columns(level: str) -> None:
    a, b, c = random(7, 20), random(20, 40), poison((7, 40))
    a[2, 3], b[5, 6] = np.nan, np.inf
    library = load(program(SCHEDULES[level][0], level), level)
    units = call(library, "units", 1, 7, 40, 20)
    call(library, "weights", 1, 7, 40, 20, a, 20, 0, panels(b), c, 40, None, 0, units)
    np.testing.assert_array_equal(np.isfinite(c), np.isfinite(a @ b))


def test_packing_is_the_layout_of_packed_weights() -> None:
    b = random(37, 61)
    level = RUNNABLE[0]
    with fenced(b, poison((4, 37, 16))) as (source, to):
        call(load(program(SCHEDULES[level][0], level), level), "pack", to, source, 61, 37, 61)
        np.testing.assert_array_equal(to, panels(b))


@pytest.mark.parametrize(("level", "register", "lanes"), [("x86-64-v3", "%ymm", 8), ("x86-64-v4", "%zmm", 16)])
def test_sums_stay_in_wide_registers(level: str, register: str, lanes: int) -> None:
    for schedule in SCHEDULES[level][:2]:
        mr, nr = map(int, schedule.split(",")[:2])
        blocks = re.split(r"^\.LBB.*:", assembly(program(schedule, level), level), flags=re.M)
        loops = [block for block in blocks if block.count("vfmadd231ps") == 2 * mr * nr // lanes]
        assert loops
        assert all(register in loop for loop in loops)
        assert not any(re.search("(32|64)-byte Spill", loop) for loop in loops)


def test_cross_compiles() -> None:
    for schedule in SCHEDULES["aarch64"]:
        build(program(schedule, "aarch64"), "aarch64")
