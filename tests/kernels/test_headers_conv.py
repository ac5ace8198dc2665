"""conv.h against torch in float64: taps outside of the image, strides, dilation, groups, tails, wider images."""

from dataclasses import dataclass

import numpy as np
import pytest
import torch

from cuvil_pack.kernels.tiles import shared_sums, sums_table
from tests.kernels.harness import (
    RUNNABLE,
    Array,
    build,
    call,
    divisions,
    fenced,
    load,
    panels,
    poison,
    random,
    relative_error,
)

# mr, nr, mb, nb, kc, columns_outer
SCHEDULES = {
    "x86-64-v2": ["2, 16, 8, 16, 0, 1"],
    "x86-64-v3": ["6, 16, 12, 16, 0, 1", "3, 32, 9, 32, 0, 0"],
    "x86-64-v4": ["6, 64, 48, 128, 0, 1", "14, 32, 28, 32, 0, 0", "8, 48, 8, 48, 0, 0"],
    "aarch64": ["6, 16, 24, 64, 0, 0"],
}
CASES = [(level, schedule) for level in RUNNABLE for schedule in SCHEDULES[level]]

SOURCE = """
#include "conv.h"

static const cv_gemm_schedule S = {SCHEDULE};
SUMS

typedef struct {
    float *y;
    int64_t channels;
} store_to;

static void store(void *ctx, const float *tile, int64_t stride, int64_t m0, int64_t mb, int64_t n0, int64_t nb)
{
    const store_to *to = ctx;
    for (int64_t i = 0; i < mb; i++)
        for (int64_t j = 0; j < nb; j++)
            to->y[(m0 + i) * to->channels + n0 + j] = tile[i * stride + j];
}

int64_t units(const cv_conv_size *size)
{
    return cv_conv_units(S, *size);
}

void conv(const cv_conv_size *size, const cv_images *images, const float *weights, const float *zeros, float *y,
          int64_t begin, int64_t end)
{
    store_to to = {y, size->groups * size->out_channels};
    cv_conv(S, TABLE, *size, *images, weights, zeros, store, &to, begin, end);
}
"""


@dataclass(frozen=True)
class Conv:
    """A convolution whose padding may differ on the four sides: top, left, bottom, right."""

    height: int
    width: int
    channels: int
    out_channels: int
    kernel: tuple[int, int] = (3, 3)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: tuple[int, int, int, int] = (1, 1, 1, 1)
    groups: int = 1
    batch: int = 1

    def expected(self, x: Array, w: Array) -> Array:
        top, left, bottom, right = self.padding
        padded = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right))).astype(np.float64)
        y = torch.nn.functional.conv2d(
            torch.from_numpy(padded), torch.from_numpy(w.astype(np.float64)),
            stride=self.stride, dilation=self.dilation, groups=self.groups,
        )  # fmt: skip
        return np.ascontiguousarray(y.numpy().transpose(0, 2, 3, 1))

    def size(self, out_height: int, out_width: int) -> Array:
        return np.array(
            [self.batch, self.height, self.width, out_height, out_width,
             self.groups, self.channels // self.groups, self.out_channels // self.groups,
             *self.kernel, *self.stride, *self.dilation, *self.padding[:2]],
            np.int64,
        )  # fmt: skip


CONVS = [
    Conv(7, 9, 5, 20),
    Conv(5, 5, 16, 64, batch=3),
    Conv(14, 14, 8, 33, stride=(2, 2)),
    Conv(11, 13, 3, 40, kernel=(7, 7), stride=(2, 2), padding=(3, 3, 3, 3)),
    Conv(9, 8, 4, 16, kernel=(3, 2), stride=(1, 2), dilation=(2, 3), padding=(2, 0, 1, 3)),
    Conv(6, 6, 12, 24, groups=4),
    Conv(6, 7, 6, 102, groups=2, kernel=(1, 3), padding=(0, 1, 0, 1)),
    Conv(8, 8, 7, 70, kernel=(1, 1), padding=(0, 0, 0, 0), stride=(2, 2)),
    Conv(1, 40, 6, 10, kernel=(1, 5), padding=(0, 2, 0, 2)),
    Conv(2, 2, 3, 5, kernel=(3, 3), padding=(2, 2, 2, 2), batch=2),
]


def packed(conv: Conv, w: Array) -> Array:
    """The panels of every group: K runs over the kernel's rows, its columns, and the input channels."""
    k = w[0].size
    groups = w.reshape(conv.groups, -1, *w.shape[1:]).transpose(0, 3, 4, 2, 1).reshape(conv.groups, k, -1)
    return np.stack([panels(group) for group in groups])


def program(schedule: str) -> str:
    mr, nr, *_ = (int(part) for part in schedule.split(","))
    tiles = {"mr": mr, "nr": nr}
    sums = "\n".join(shared_sums("conv", tiles, 16))
    return SOURCE.replace("SCHEDULE", schedule).replace("SUMS", sums).replace("TABLE", sums_table("conv", tiles, 16))


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("conv", CONVS, ids=str)
def test_conv(level: str, schedule: str, conv: Conv) -> None:
    library = load(program(schedule), level)
    x = random(conv.batch, conv.channels, conv.height, conv.width)
    w = random(conv.out_channels, conv.channels // conv.groups, *conv.kernel)
    expected = conv.expected(x, w)
    size = conv.size(*expected.shape[1:3])
    strides = np.array([conv.height * conv.width * conv.channels, conv.width * conv.channels, conv.channels], np.int64)
    zeros = np.zeros(conv.channels // conv.groups, np.float32)
    results = []
    for division in divisions(call(library, "units", size)):
        with fenced(x.transpose(0, 2, 3, 1), packed(conv, w), zeros, poison(expected.shape)) as (images, b, zero, y):
            place = np.array([images.ctypes.data, *strides], np.int64)
            for begin, end in division:
                call(library, "conv", size, place, b, zero, y, begin, end)
            results.append(y.copy())
    assert relative_error(results[0], expected) < 5e-7
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize(("level", "schedule"), CASES)
def test_an_image_inside_a_wider_one(level: str, schedule: str) -> None:
    """A padded buffer read without padding, its pixels wider than the channels that the convolution takes."""
    conv = Conv(6, 7, 5, 20, padding=(0, 0, 0, 0))
    library = load(program(schedule), level)
    wide, w = random(1, 6, 7, 9), random(20, 5, 3, 3)
    expected = conv.expected(wide[..., :5].transpose(0, 3, 1, 2), w)
    y, size = poison(expected.shape), conv.size(4, 5)
    place = np.array([wide.ctypes.data, 6 * 7 * 9, 7 * 9, 9], np.int64)
    units = call(library, "units", size)
    call(library, "conv", size, place, packed(conv, w), np.zeros(5, np.float32), y, 0, units)
    assert relative_error(y, expected) < 5e-7


@pytest.mark.parametrize(("level", "schedule"), CASES)
def test_nan_reaches_what_its_taps_reach(level: str, schedule: str) -> None:
    conv = Conv(6, 6, 4, 16)
    library = load(program(schedule), level)
    x, w = random(1, 4, 6, 6), random(16, 4, 3, 3)
    x[0, 1, 2, 5] = np.nan
    expected = conv.expected(x, w)
    y, size, images = poison(expected.shape), conv.size(6, 6), np.ascontiguousarray(x.transpose(0, 2, 3, 1))
    place = np.array([images.ctypes.data, 6 * 6 * 4, 6 * 4, 4], np.int64)
    units = call(library, "units", size)
    call(library, "conv", size, place, packed(conv, w), np.zeros(4, np.float32), y, 0, units)
    np.testing.assert_array_equal(np.isnan(y), np.isnan(expected))


def test_cross_compiles() -> None:
    for schedule in SCHEDULES["aarch64"]:
        build(program(schedule), "aarch64")
