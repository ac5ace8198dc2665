"""depthwise.h against torch in float64: kernels, strides, dilation, taps outside of the image, tails."""

import numpy as np
import pytest

from tests.kernels.harness import RUNNABLE, Array, build, call, divisions, fenced, load, poison, random, relative_error
from tests.kernels.test_headers_conv import Conv

# mr, nr, nb
SCHEDULES = {
    "x86-64-v2": ["2, 16, 16"],
    "x86-64-v3": ["4, 16, 32", "2, 32, 64"],
    "x86-64-v4": ["7, 32, 64", "4, 64, 4096"],
    "aarch64": ["4, 16, 64"],
}
CASES = [(level, schedule) for level in RUNNABLE for schedule in SCHEDULES[level]]


def depthwise(height: int, width: int, channels: int, **options: object) -> Conv:
    return Conv(height, width, channels, channels, groups=channels, **options)  # type: ignore[arg-type]


CONVS = [
    depthwise(9, 14, 32),
    depthwise(5, 9, 70, batch=2),
    depthwise(8, 3, 5),
    depthwise(11, 17, 48, stride=(2, 2)),
    depthwise(7, 10, 80, kernel=(5, 5), padding=(2, 2, 2, 2)),
    depthwise(12, 12, 33, kernel=(3, 2), stride=(1, 2), dilation=(2, 3), padding=(2, 0, 1, 3)),
    depthwise(1, 40, 20, kernel=(1, 9), padding=(0, 4, 0, 4)),
]

SOURCE = """
#include "depthwise.h"

static const cv_depthwise_schedule S = {SCHEDULE};
static const cv_conv_size Z = {SIZE};

static void store(void *ctx, const float *tile, int64_t stride, int64_t m0, int64_t mb, int64_t n0, int64_t nb)
{
    float *y = ctx;
    for (int64_t i = 0; i < mb; i++)
        for (int64_t j = 0; j < nb; j++)
            y[(m0 + i) * Z.groups + n0 + j] = tile[i * stride + j];
}

int64_t units(void)
{
    return cv_depthwise_units(S, Z);
}

void depthwise(const float *x, const float *weights, const float *zeros, float *y, int64_t begin, int64_t end)
{
    const cv_images images = {x, Z.height * Z.width * Z.groups, Z.width * Z.groups, Z.groups};
    cv_depthwise(S, Z, images, weights, zeros, store, y, begin, end);
}
"""


def program(schedule: str, size: Array) -> str:
    return SOURCE.replace("SCHEDULE", schedule).replace("SIZE", ", ".join(map(str, size)))


def packed(conv: Conv, w: Array) -> Array:
    weights = np.zeros((*conv.kernel, -(-conv.channels // 16) * 16), np.float32)
    weights[..., : conv.channels] = w[:, 0].transpose(1, 2, 0)
    return weights


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("conv", CONVS, ids=str)
def test_depthwise(level: str, schedule: str, conv: Conv) -> None:
    x = random(conv.batch, conv.channels, conv.height, conv.width)
    w = random(conv.channels, 1, *conv.kernel)
    expected = conv.expected(x, w)
    library = load(program(schedule, conv.size(*expected.shape[1:3])), level)
    results = []
    for division in divisions(call(library, "units")):
        zeros = np.zeros(64, np.float32)
        with fenced(x.transpose(0, 2, 3, 1), packed(conv, w), zeros, poison(expected.shape)) as (images, b, zero, y):
            for begin, end in division:
                call(library, "depthwise", images, b, zero, y, begin, end)
            results.append(y.copy())
    assert relative_error(results[0], expected) < 5e-7
    assert all(result.tobytes() == results[0].tobytes() for result in results)


def test_cross_compiles() -> None:
    for schedule in SCHEDULES["aarch64"]:
        build(program(schedule, CONVS[1].size(5, 9)), "aarch64")
