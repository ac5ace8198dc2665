"""Laws of convolution: the ones that a simpler op says as well."""

from __future__ import annotations

from ..ir.graph import Node, Value
from ..ops.conv import conv
from ..ops.join import pad
from ..ops.matmul import matmul
from .settle import law
from .values import make, shaped

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
    pads, channels = node.attrs["pads"], x.type.shape[-1]
    if node.attrs["groups"] != 1 or all(p == (0, 0) for p in pads):
        return None
    if not isinstance(channels, int) or channels > FEW_CHANNELS:
        return None
    wide = make(pad, x, pads=((0, 0), *pads, (0, 0)))
    none = tuple((0, 0) for _ in pads)
    return make(conv, wide, w, **{**node.attrs, "pads": none})
