"""Laws of convolution: the ones that a simpler op says as well."""

from __future__ import annotations

from itertools import chain

from ..ir.graph import Input, Node, Value
from ..ir.size import product
from ..ops.conv import conv
from ..ops.join import pad
from ..ops.matmul import matmul
from ..ops.view import transpose
from .settle import law
from .values import made_by, make, shaped, turned

FEW_CHANNELS = 4


@law(
    conv,
    given=(
        "x: f32[1, 5, 5, 8], w: f32[1, 1, 8, 4] -> conv(x, w, stride=(1, 1), pads=((0, 0), (0, 0)), dilation=(1, 1))",
    ),
)
def pointwise(node: Node) -> Value | None:
    """A convolution with windows of one element is a product over channels."""
    x, w = node.inputs
    taps = w.type.shape[:-2]
    if any(t != 1 for t in taps) or not _plain(node) or any(s != 1 for s in node.attrs["stride"]):
        return None
    return make(matmul, x, shaped(w, w.type.shape[-2:]))


def _plain(node: Node) -> bool:
    return node.attrs["groups"] == 1 and all(p == (0, 0) for p in node.attrs["pads"])


@law(
    conv,
    given=(
        "x: f32[1, 9, 9, 3], w: f32[3, 3, 3, 8] -> conv(x, w, stride=(2, 2), pads=((1, 1), (1, 1)), dilation=(1, 1))",
    ),
)
def pad_few_channels(node: Node) -> Value | None:
    """An image with few channels is padded while it is brought in order, so that a window row is one run of memory."""
    x, w = node.inputs
    pads = node.attrs["pads"]
    if all(p == (0, 0) for p in pads) or not _has_few_channels(node):
        return None
    wide = make(pad, x, pads=((0, 0), *pads, (0, 0)))
    none = tuple((0, 0) for _ in pads)
    return make(conv, wide, w, **{**node.attrs, "pads": none})


def _has_few_channels(node: Node) -> bool:
    channels = node.inputs[0].type.shape[-1]
    return node.attrs["groups"] == 1 and isinstance(channels, int) and channels <= FEW_CHANNELS


@law(
    conv,
    given="x: f32[1, 9, 9, 8], w: f32[3, 3, 8, 8] "
    "-> conv(pad(x, pads=((0, 0), (0, 1), (0, 1), (0, 0))), w, stride=(2, 2), pads=((0, 0), (1, 1)), dilation=(1, 1))",
)
def pads_of_conv(node: Node) -> Value | None:
    """A convolution pads by itself."""
    padded = made_by(node.inputs[0], pad)
    if padded is None or _has_few_channels(node) or padded.attrs["mode"] != "constant" or padded.attrs["value"] != 0:
        return None
    first, *places, last = padded.attrs["pads"]
    if first != (0, 0) or last != (0, 0) or not all(isinstance(n, int) for p in places for n in p):
        return None
    pads = tuple((a + c, b + d) for (a, b), (c, d) in zip(places, node.attrs["pads"], strict=True))
    return make(conv, padded.inputs[0], node.inputs[1], **{**node.attrs, "pads": pads})


@law(
    conv,
    given="x: f32[2, 3, 8, 12], w: f32[4, 4, 3, 5] "
    "-> conv(transpose(x, axes=(0, 2, 3, 1)), w, stride=(4, 4), pads=((0, 0), (0, 0)), dilation=(1, 1))",
)
def patches(node: Node) -> Value | None:
    """An input image cut into patches is brought in order patch by patch; then each patch is a row of a product."""
    x, w = node.inputs
    order = made_by(x, transpose)
    taps, stride = w.type.shape[:-2], node.attrs["stride"]
    if order is None or taps != stride or not _plain(node) or any(d != 1 for d in node.attrs["dilation"]):
        return None
    image, places = order.inputs[0], len(taps)
    if not isinstance(image, Input) or order.attrs["axes"] != (0, *range(2, places + 2), 1):
        return None
    batch, channels, *extents = image.type.shape
    counts = tuple(d // t for d, t in zip(extents, taps, strict=True))
    if any(n * t != d for n, t, d in zip(counts, taps, extents, strict=True)):
        return None
    cut = shaped(image, (batch, channels, *chain(*zip(counts, taps, strict=True))))
    outer, inner = (tuple(range(first, 2 * places + 2, 2)) for first in (2, 3))
    rows = turned(cut, (0, *outer, 1, *inner))
    filters = turned(w, (places, *range(places), places + 1))
    depth = product((channels, *taps))
    return make(matmul, shaped(rows, (batch, *counts, depth)), shaped(filters, (depth, w.type.shape[-1])))
