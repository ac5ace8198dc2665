"""Convolutions over images, channels last, in f32: register tiles over pixels and filters, and the depthwise form."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..ir.graph import Graph, Input, Node, Result, Value
from ..ir.size import Dim, ceildiv, index, nominal
from ..ir.types import DType
from ..ops.join import pad
from ..ops.panel import WIDTH, panels, unpanel
from ..ops.view import reshape, slice_, transpose, unflatten_index
from ..targets import Target
from .blocks import c_dim, indented
from .epilogue import epilogue, gathered, only, refusal
from .loops import comment, parameters, size_lines
from .strides import strided, view_source
from .template import Packing, Schedule, Source, Template, template
from .tiles import shared_sums, sums_table, tile_seconds, tiles


@dataclass(frozen=True)
class Images:
    """A convolution as the C drivers take it: one- and two-dimensional ones alike, `spots` = (height, width)."""

    node: Node
    batch: Dim
    spots: tuple[Dim, Dim]
    outs: tuple[Dim, Dim]
    groups: int
    channels: int
    filters: int
    taps: tuple[int, int]
    stride: tuple[int, int]
    dilation: tuple[int, int]
    pads: tuple[int, int]

    @property
    def depthwise(self) -> bool:
        return self.groups > 1 and self.channels == 1 and self.filters == 1

    @property
    def pixels(self) -> Dim:
        return self.batch * self.outs[0] * self.outs[1]

    @property
    def depth(self) -> int:
        return self.taps[0] * self.taps[1] * self.channels


def images(node: Node) -> Images | None:
    """The convolution of a node; None where it is no f32 one over lines or images."""
    if node.op.name != "conv" or node.types[0].dtype is not DType.F32 or node.types[0].rank not in (3, 4):
        return None
    x, w = (v.type.shape for v in node.inputs)
    attrs = node.attrs
    line = (1,) * (4 - len(x))
    numbers = [n for n in w if isinstance(n, int)]
    if len(numbers) != len(w):
        return None
    *taps, channels, filters = numbers
    groups = attrs["groups"]
    return Images(
        node,
        x[0],
        _two((*line, *x[1:-1])),
        _two((*line, *node.types[0].shape[1:-1])),
        groups,
        channels,
        filters // groups,
        _two((*line, *taps)),
        _two((*line, *attrs["stride"])),
        _two((*line, *attrs["dilation"])),
        _two((*(0 for _ in line), *(lo for lo, _ in attrs["pads"]))),
    )


def _two(pair: tuple[Any, ...]) -> tuple[Any, Any]:
    first, second = pair
    return first, second


def analyse(body: Graph) -> Images | str:
    """The convolution a body is built around, or why it has none."""
    node = only(body, "conv")
    found = images(node) if node is not None else None
    if node is None or found is None:
        return "it is not built around one f32 convolution of lines or images"
    if not isinstance(view_source(node.inputs[0]), Input) or not _dense(node.inputs[0]):
        return "the images do not lie in memory as they are"
    if _stored(node.inputs[1]) is None:
        return "the filters are not packed"
    return found


def _dense(value: Value) -> bool:
    found = strided(value)
    if found is None or found.offset != 0:
        return False
    wanted: Dim = 1
    for d, s in zip(reversed(value.type.shape), reversed(found.strides), strict=True):
        if d != 1 and s != wanted:
            return False
        wanted = wanted * d
    return True


def _stored(value: Value) -> Input | None:
    """The stored form of filters that are packed."""
    packed = False
    while isinstance(value, Result) and len(value.node.inputs) == 1:
        packed |= value.node.op in (unpanel, slice_)
        value = value.node.inputs[0]
    return value if packed and isinstance(value, Input) else None


def accepts(body: Graph) -> str | None:
    found = analyse(body)
    return refusal(body, found, lambda: isinstance(found, Images) and _epilogue(body, found, "k", 16))


def _epilogue(body: Graph, found: Images, name: str, wide: int) -> list[str]:
    shape = found.node.types[0].shape
    row, column = index("m", found.pixels), index("n", found.groups * found.filters)
    at = (*unflatten_index(row, shape[:-1]), column if shape[-1] != 1 else 0)
    return epilogue(body, found.node, name, row, column, at, wide, found.depthwise)


def schedules(body: Graph, target: Target) -> list[tuple[Schedule, float]]:
    found = analyse(body)
    assert isinstance(found, Images)
    if found.depthwise:
        return _depthwise_schedules(found, target)
    m, n, k = nominal(found.pixels), found.filters, found.depth
    result: list[tuple[Schedule, float]] = []
    rows_first = nominal(found.pixels) * found.channels > n * k
    for mr, nr in tiles(target):
        seconds = found.groups * tile_seconds(m, n, k, mr, nr, target)
        wide = {"nb": -(-n // nr) * nr, "columns_outer": 0}
        blocks = wide if rows_first else {"nb": nr, "columns_outer": 1}
        result.append(({"mr": mr, "nr": nr, "mb": mr * 8, "kc": 0, **blocks}, seconds))
    return result


def _depthwise_schedules(found: Images, target: Target) -> list[tuple[Schedule, float]]:
    seconds = 2.0 * nominal(found.pixels) * found.groups * found.depth / target.peak_flops * 4
    mr = 4 if target.vector_registers < 32 else 7
    nr = max(16, 2 * target.lanes)
    return [({"mr": mr, "nr": nr, "nb": 64}, seconds)]


def write(body: Graph, schedule: Schedule, target: Target, name: str) -> Source:
    found = analyse(body)
    assert isinstance(found, Images)
    x, w = (view_source(found.node.inputs[0]), _stored(found.node.inputs[1]))
    ins = {i: f"in{n}" for n, i in enumerate(body.inputs)}
    assert isinstance(x, Input) and isinstance(w, Input)
    height, width = found.spots
    pixel = found.groups * found.channels
    size = (
        found.batch, height, width, *found.outs, found.groups, found.channels, found.filters,
        *found.taps, *found.stride, *found.dilation, *found.pads,
    )  # fmt: skip
    zeros = max(found.channels, 64)
    kind = "depthwise" if found.depthwise else "conv"
    order = ("mr", "nr", "nb") if found.depthwise else ("mr", "nr", "mb", "nb", "kc", "columns_outer")
    plan = "cv_depthwise_schedule" if found.depthwise else "cv_gemm_schedule"
    sums = f"{sums_table('conv', schedule, target.lanes)}, " if kind == "conv" else ""
    lines = [
        *size_lines(body),
        gathered(body, name),
        "float *const zeros = (float *)scratch;",
        f"for (int64_t i = 0; i < {zeros}; i++) zeros[i] = 0;",
        f"const {plan} schedule = {{{', '.join(str(schedule[f]) for f in order)}}};",
        f"const cv_conv_size size = {{{', '.join(map(c_dim, size))}}};",
        f"const cv_images images = {{{ins[x]}, {c_dim(height * width * pixel)}, {c_dim(width * pixel)}, {pixel}}};",
        f"cv_{kind}(schedule, {sums}size, images, {ins[w]}, zeros, {name}_epilogue, &arguments, begin, end);",
    ]
    head = f"static void {name}({', '.join(parameters(body))})"
    text = [*comment(body), *_epilogue(body, found, name, int(schedule["nr"])), head, "{", *indented(lines), "}", ""]
    shared = () if found.depthwise else shared_sums("conv", schedule, target.lanes)
    return Source("\n".join(text), units(found, schedule), zeros * 4, (f"{kind}.h",), shared)


def units(found: Images, schedule: Schedule) -> Dim:
    """As cv_conv_units and cv_depthwise_units."""
    mr, nr, nb = (int(schedule[f]) for f in ("mr", "nr", "nb"))
    if found.depthwise:
        return found.batch * found.outs[0] * ceildiv(ceildiv(found.groups, nr), max(nb // nr, 1))
    rows = ceildiv(ceildiv(found.pixels, mr), max(int(schedule["mb"]) // mr, 1))
    return found.groups * rows * ceildiv(ceildiv(found.filters, nr), max(nb // nr, 1))


def reads(node: Node, operand: int) -> bool | None:
    if images(node) is None:
        return None
    return operand == 1 or _dense(node.inputs[0])


def packing(node: Node, operand: int) -> Packing | None:
    found = images(node)
    if found is None or operand != 1:
        return None
    shape = node.inputs[1].type.shape
    if found.depthwise:
        return _depthwise_packing(found, shape)
    deep, groups, filters = found.depth, found.groups, found.filters
    if groups == 1:
        return Packing(
            "panels",
            lambda w: panels(reshape(w, shape=(deep, filters))),
            lambda p: reshape(unpanel(p, columns=filters), shape=shape),
        )
    return Packing(
        "panels",
        lambda w: panels(transpose(reshape(w, shape=(deep, groups, filters)), axes=(1, 0, 2))),
        lambda p: reshape(transpose(unpanel(p, columns=filters), axes=(1, 0, 2)), shape=shape),
    )


def _depthwise_packing(found: Images, shape: tuple[Dim, ...]) -> Packing:
    taps, channels = found.depth, found.groups
    wide = -(-channels // WIDTH) * WIDTH
    return Packing(
        "rows",
        lambda w: pad(reshape(w, shape=(taps, channels)), pads=((0, 0), (0, wide - channels))),
        lambda p: reshape(slice_(p, axis=1, start=0, stop=channels), shape=shape),
    )


conv = template(Template("conv", 10, accepts, schedules, write, reads, packing))
