"""Attention in f32, block of keys by block of keys, so that the scores are never all in memory."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Graph, Input, Node, Value
from ..ir.size import Dim, ceildiv, index, nominal
from ..ir.types import DType
from ..ops.view import expand, flatten_index
from ..targets import Target
from .blocks import c_dim, indented, sole_symbol
from .epilogue import destination, only
from .loops import comment, parameters, size_lines
from .strides import Strided, coefficient, strided
from .template import Schedule, Source, Template, template

PANEL = 16
PAD = 16


@dataclass(frozen=True)
class Heads:
    """An attention as the C driver takes it."""

    node: Node
    q: Strided
    k: Strided
    v: Strided
    mask: Strided | None
    out: tuple[Dim, Dim, Dim]


def operand(value: Value) -> Strided | None:
    """`[batch, heads, length, depth]` as strides, rows dense."""
    found = strided(value)
    dense = found is not None and (found.strides[3] == 1 or value.type.shape[3] == 1)
    return found if dense else None


def mask_of(node: Node) -> Strided | None:
    """The mask, spread over `[batch, heads, queries, keys]`, as strides."""
    q, k, _, mask = node.inputs
    shape = (*q.type.shape[:3], k.type.shape[2])
    return strided(mask if mask.type.shape == shape else expand(mask, shape=shape))


def analyse(body: Graph) -> Heads | str:
    """The attention a body is built around, or why it has none."""
    node = only(body, "attention")
    if node is None or node.types[0].dtype is not DType.F32:
        return "it is not built around one attention in f32"
    if len(node.inputs) > 4:
        return f"{len(node.inputs) - 3} masks"
    q, k, v = (operand(i) for i in node.inputs[:3])
    mask = mask_of(node) if len(node.inputs) == 4 else None
    if q is None or k is None or v is None or (len(node.inputs) == 4 and mask is None):
        return "an operand does not lie in strides"
    out = _out_strides(body, node)
    if out is None:
        return "its result does not go to strides"
    return Heads(node, q, k, v, mask, out)


def _out_strides(body: Graph, node: Node) -> tuple[Dim, Dim, Dim] | None:
    """Strides of batch, head and row in the body's result; None where rows do not stay dense."""
    shape = node.types[0].shape
    at = tuple(index(f"o{n}", d) if d != 1 else 0 for n, d in enumerate(shape))
    try:
        place = flatten_index(destination(body, node, at), body.outputs[0].type.shape)
    except TypeError:
        return None
    if any(n.op.elementwise and n.inputs for n in body.nodes() if n is not node):
        return None
    steps = [coefficient(place, sole_symbol(i)) if i != 0 else 0 for i in at]
    if any(s is None for s in steps) or steps[3] not in (0, 1):
        return None
    batch, head, row, _ = (s for s in steps if s is not None)
    return batch, head, row


def accepts(body: Graph) -> str | None:
    if len(body.outputs) != 1:
        return f"{len(body.outputs)} results"
    found = analyse(body)
    return found if isinstance(found, str) else None


def schedules(body: Graph, target: Target) -> list[tuple[Schedule, float]]:
    found = analyse(body)
    assert isinstance(found, Heads)
    queries, keys = nominal(found.node.types[0].shape[2]), nominal(found.node.inputs[1].type.shape[2])
    size = (*(nominal(d) for d in found.node.types[0].shape), nominal(found.node.inputs[0].type.shape[3]))
    flops = 2 * size[0] * size[1] * queries * keys * (size[3] + size[4])
    most = 64 if target.lanes >= 16 else 32
    block = min(most, -(-queries // PANEL) * PANEL)
    room = target.l2_bytes // 2 // (4 * (block + size[3] + size[4]))
    return [({"queries": block, "keys": max(64, min(512, keys, room))}, flops * 1.5 / target.peak_flops)]


def write(body: Graph, schedule: Schedule, target: Target, name: str) -> Source:
    found = analyse(body)
    assert isinstance(found, Heads)
    node = found.node
    q, k, v = (i.type.shape for i in node.inputs[:3])
    size = (q[0], q[1], k[1], q[2], k[2], q[3], v[3])
    queries, keys = int(schedule["queries"]), int(schedule["keys"])
    scale = float(node.attrs["scale"])
    lines = [
        *size_lines(body),
        "const cv_attention_call call = {",
        f"    .schedule = {{{queries}, {keys}}},",
        f"    .size = {{{', '.join(map(c_dim, size))}}},",
        f"    .q = {_heads(body, found.q)}, .k = {_heads(body, found.k)}, .v = {_heads(body, found.v)},",
        f"    .out = {{out0, {', '.join(map(c_dim, found.out))}}},",
        f"    .scale = {scale.hex()}f, .causal = {int(node.attrs['causal'])},",
        f"    .mask = {_mask(body, found)},",
        "};",
        "cv_attention(call, (float *)scratch, begin, end);",
    ]
    head = f"static void {name}({', '.join(parameters(body))})"
    text = [*comment(body), head, "{", *indented(lines), "}", ""]
    blocks = ceildiv(ceildiv(q[2], PANEL), queries // PANEL)
    columns = ceildiv(v[3], PANEL) * PANEL
    scratch = ((q[3] + keys + PAD) * queries + (queries + PAD) * (columns + 3)) * 4
    return Source("\n".join(text), q[0] * q[1] * blocks, scratch, ("attention.h",))


def _heads(body: Graph, s: Strided) -> str:
    assert isinstance(s.root, Input)
    start = f"(float *)in{body.inputs.index(s.root)} + {c_dim(s.offset)}"
    return f"{{{start}, {', '.join(map(c_dim, s.strides[:3]))}}}"


def _mask(body: Graph, found: Heads) -> str:
    if found.mask is None:
        return "{CV_MASK_NONE, 0, 0, 0, 0, 0}"
    root = found.mask.root
    assert isinstance(root, Input)
    kind = "CV_MASK_ALLOW" if root.type.dtype is DType.BOOL else "CV_MASK_ADD"
    start = f"in{body.inputs.index(root)} + {c_dim(found.mask.offset)}"
    return f"{{{kind}, {start}, {', '.join(map(c_dim, found.mask.strides))}}}"


def reads(node: Node, place: int) -> bool | None:
    if node.op.name != "attention" or node.types[0].dtype is not DType.F32:
        return None
    if place == 3:
        return mask_of(node) is not None
    return operand(node.inputs[place]) is not None


attention = template(Template("attention", 10, accepts, schedules, write, reads))
