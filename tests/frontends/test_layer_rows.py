"""ATen's products and layers, a row for each way to call them: the graph says what torch says."""

from __future__ import annotations

from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .rows import Row, Table, cases

F3 = "f32[b, 3]"


class Multihead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.inner(x, x, x, need_weights=False)[0]
        return result


PRODUCTS: dict[str, Row] = {
    "matmul": (torch.matmul, "f32[b, 3], f32[3, 4]"),
    "matmul batched": (torch.matmul, "f32[b, s, 3], f32[b, 3, 4]"),
    "matmul broadcast": (torch.matmul, "f32[b, 1, s, 3], f32[2, 3, 4]"),
    "vector by vector": (torch.matmul, "f32[5], f32[5]"),
    "matrix by vector": (torch.matmul, "f32[b, 5], f32[5]"),
    "vector by matrix": (torch.matmul, "f32[5], f32[5, 3]"),
    "vector by batch": (torch.matmul, "f32[5], f32[b, 5, 3]"),
    "mm": (torch.mm, "f32[b, 3], f32[3, 2]"),
    "bmm": (torch.bmm, "f32[b, s, 3], f32[b, 3, s]"),
    "mv": (torch.mv, "f32[b, 3], f32[3]"),
    "outer": (torch.outer, "f32[b], f32[3]"),
    "linear": (nn.Linear(3, 4), "f32[b, s, 3]"),
    "linear without bias": (nn.Linear(3, 4, bias=False), F3),
    "linear of a vector": (nn.Linear(3, 4), "f32[3]"),
    "linear int8 weight": (lambda x, w: F.linear(x, w.to(x.dtype) * 0.1), "f32[b, 3], i8[4, 3]"),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), "f32[4], f32[b, 3], f32[3, 4]"),
    "baddbmm": (torch.baddbmm, "f32[b, 2, 4], f32[b, 2, 3], f32[b, 3, 4]"),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), "f32[b, 2, 3], f32[b, 3, 4]"),
    "einsum heads": (lambda q, k: torch.einsum("bihd,bjhd->bhij", q, k), "f32[b, s, 2, 3], f32[b, s, 2, 3]"),
    "einsum sum": (lambda a, b: torch.einsum("bi,i->b", a, b), "f32[b, 3], f32[3]"),
    "einsum outer": (lambda a, b: torch.einsum("i,j->ij", a, b), "f32[3], f32[4]"),
    "kron-like": (lambda a: a[:, :, None] * a[:, None, :], F3),
    "attention": (F.scaled_dot_product_attention, "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]"),
    "attention causal": (
        partial(F.scaled_dot_product_attention, is_causal=True),
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention scaled": (
        partial(F.scaled_dot_product_attention, scale=0.3),
        "f32[b, 2, 3, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention float mask": (
        F.scaled_dot_product_attention,
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 1, s, s]",
    ),
    "attention bool mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m | (torch.arange(m.shape[-1]) == 0)),
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4], bool[b, 1, 1, s]",
    ),
    "attention 2-d mask": (
        F.scaled_dot_product_attention,
        "f32[b, 2, 3, 4], f32[b, 2, 3, 4], f32[b, 2, 3, 4], f32[3, 3]",
    ),
    "attention grouped": (
        partial(F.scaled_dot_product_attention, enable_gqa=True),
        "f32[b, 4, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention rank 3": (F.scaled_dot_product_attention, "f32[b, s, 4], f32[b, s, 4], f32[b, s, 4]"),
    "attention rank 5": (
        F.scaled_dot_product_attention,
        "f32[b, 2, 2, 3, 4], f32[b, 2, 2, 3, 4], f32[b, 2, 2, 3, 4]",
    ),
    "attention other values": (F.scaled_dot_product_attention, "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 6]"),
    "multihead": (Multihead(), "f32[b, s, 8]"),
}

IMAGE = "f32[b, 4, 7, 6]"
LAYERS: dict[str, Row] = {
    "conv2d": (nn.Conv2d(4, 6, 3), IMAGE),
    "conv2d strided": (nn.Conv2d(4, 6, 3, 2, 1), IMAGE),
    "conv2d dilated": (nn.Conv2d(4, 6, (3, 2), 1, (2, 1), (2, 1)), IMAGE),
    "conv2d grouped": (nn.Conv2d(4, 6, 3, groups=2, bias=False), IMAGE),
    "conv2d depthwise": (nn.Conv2d(4, 8, 3, padding=1, groups=4), IMAGE),
    "conv2d same": (nn.Conv2d(4, 6, (4, 3), padding="same"), IMAGE),
    "conv2d valid": (nn.Conv2d(4, 6, 3, padding="valid"), IMAGE),
    "conv2d reflect": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "conv2d of one image": (nn.Conv2d(4, 6, 3), "f32[4, 7, 6]"),
    "conv1d": (nn.Conv1d(4, 6, 3, 2, 1), "f32[b, 4, t]"),
    "conv3d": (nn.Conv3d(2, 3, (1, 3, 2), padding=1), "f32[b, 2, 3, 4, 5]"),
    "batch norm": (nn.BatchNorm2d(4), IMAGE),
    "batch norm 1-d": (nn.BatchNorm1d(4), "f32[b, 4]"),
    "batch norm of sequences": (nn.BatchNorm1d(4), "f32[b, 4, s]"),
    "batch norm without scale": (nn.BatchNorm2d(4, affine=False), IMAGE),
    "batch norm without statistics": (nn.BatchNorm2d(4, track_running_stats=False), IMAGE),
    "layer norm": (nn.LayerNorm(3), "f32[b, s, 3]"),
    "layer norm of two axes": (nn.LayerNorm((2, 3)), "f32[b, 2, 3]"),
    "layer norm without scale": (nn.LayerNorm(3, elementwise_affine=False), F3),
    "layer norm without bias": (nn.LayerNorm(3, bias=False), F3),
    "rms norm": (nn.RMSNorm(3, eps=1e-6), "f32[b, s, 3]"),
    "rms norm without eps": (nn.RMSNorm(3), F3),
    "group norm": (nn.GroupNorm(2, 4), IMAGE),
    "group norm of sequences": (nn.GroupNorm(4, 4), "f32[b, 4, t]"),
    "instance norm": (nn.InstanceNorm2d(4), IMAGE),
    "instance norm with scale": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "local response norm": (nn.LocalResponseNorm(3), IMAGE),
    "max pool": (nn.MaxPool2d(2), IMAGE),
    "max pool padded": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "max pool dilated": (nn.MaxPool2d(2, 1, 0, 2), IMAGE),
    "max pool ceil": (nn.MaxPool2d(3, 2, ceil_mode=True), "f32[b, 4, 8, 6]"),
    "max pool 1-d": (nn.MaxPool1d(2), "f32[b, 4, 6]"),
    "max pool 3-d": (nn.MaxPool3d(2), "f32[b, 2, 4, 4, 4]"),
    "avg pool": (nn.AvgPool2d(2), IMAGE),
    "avg pool padded": (nn.AvgPool2d(3, 2, 1), IMAGE),
    "avg pool without pads": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "avg pool ceil": (nn.AvgPool2d(2, ceil_mode=True), IMAGE),
    "avg pool 1-d": (nn.AvgPool1d(3, 2), "f32[b, 4, t]"),
    "avg pool divisor": (nn.AvgPool2d(2, divisor_override=3), IMAGE),
    "adaptive to 1": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive even": (nn.AdaptiveAvgPool2d((4, 3)), "f32[b, 4, 8, 6]"),
    "adaptive same": (nn.AdaptiveAvgPool2d((7, 6)), IMAGE),
    "adaptive 1-d": (nn.AdaptiveAvgPool1d(1), "f32[b, 4, s]"),
    "adaptive uneven": (nn.AdaptiveAvgPool2d((3, 4)), IMAGE),
    "adaptive max uneven": (nn.AdaptiveMaxPool2d((3, 4)), IMAGE),
    "adaptive one axis": (nn.AdaptiveAvgPool2d((None, 1)), IMAGE),
    "adaptive of one image": (nn.AdaptiveAvgPool2d((3, 4)), "f32[4, 7, 6]"),
    "adaptive max": (nn.AdaptiveMaxPool2d(1), IMAGE),
    "adaptive max even": (nn.AdaptiveMaxPool2d((4, 3)), "f32[b, 4, 8, 6]"),
}

IMAGES: dict[str, Row] = {
    "conv transpose": (nn.ConvTranspose2d(4, 6, 4, 2, 1), IMAGE),
    "conv transpose output padding": (nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1), IMAGE),
    "conv transpose grouped": (nn.ConvTranspose2d(4, 6, 3, groups=2, dilation=2), IMAGE),
    "conv transpose 1-d": (nn.ConvTranspose1d(4, 6, 3, 2), "f32[b, 4, s]"),
    "conv transpose of one image": (nn.ConvTranspose2d(4, 2, 2, 2), "f32[4, 7, 6]"),
    "nearest": (nn.Upsample(scale_factor=2), IMAGE),
    "nearest to size": (nn.Upsample(size=(10, 9)), IMAGE),
    "nearest exact": (nn.Upsample(size=(10, 9), mode="nearest-exact"), IMAGE),
    "nearest 1-d": (nn.Upsample(scale_factor=2), "f32[b, 4, s]"),
    "bilinear": (nn.Upsample(scale_factor=2, mode="bilinear"), IMAGE),
    "bilinear corners": (nn.Upsample(size=(4, 11), mode="bilinear", align_corners=True), IMAGE),
    "bilinear factor": (nn.Upsample(scale_factor=1.5, mode="bilinear"), IMAGE),
    "linear": (nn.Upsample(size=9, mode="linear"), "f32[b, 4, s]"),
    "bicubic": (nn.Upsample(size=(10, 9), mode="bicubic"), IMAGE),
    "grid_sample": (partial(F.grid_sample, align_corners=False), "f32[b, 4, 7, 6], f32[b, 3, 5, 2]"),
    "grid_sample border": (
        partial(F.grid_sample, padding_mode="border", align_corners=True),
        "f32[b, 4, 7, 6], f32[b, 3, 5, 2]",
    ),
    "affine grid": (lambda t: F.affine_grid(t, [t.shape[0], 2, 4, 5], align_corners=False), "f32[b, 2, 3]"),
    "pixel_shuffle": (nn.PixelShuffle(2), "f32[b, 8, 3, 2]"),
    "pixel_unshuffle": (nn.PixelUnshuffle(2), "f32[b, 2, 4, 6]"),
    "im2col": (nn.Unfold(3, padding=1, stride=2), IMAGE),
    "col2im": (nn.Fold((4, 5), (2, 2)), "f32[b, 8, 12]"),
}

TABLES = {
    "products": Table(PRODUCTS),
    "layers": Table(LAYERS),
    "images": Table(IMAGES),
}


@pytest.mark.parametrize(("family", "row"), cases(TABLES), ids=lambda x: str(x).replace(" ", "-"))
def test_row(family: str, row: str) -> None:
    TABLES[family].check(row)
