"""The template for all that index notation says: elementwise chains, views, gathers, reductions, pooling."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Graph, Input, Result, Value
from ..ir.scalar import Loop, Scalar
from ..ir.size import Dim, ceildiv, index, nominal, product
from ..ir.types import DType
from ..ops.view import flatten_index, unflatten_index
from ..targets import Target
from .blocks import LANES, c_dim, c_name, indented, lane_loop, sole_symbol
from .lower import Lowering, element, expand, stored_type
from .strides import coefficient, divides
from .template import Schedule, Source, Template, size_names, template

BLOCK = 4096
FEW = 16


def parameters(body: Graph) -> list[str]:
    """The parameters of a kernel's C function."""
    ins = [f"const {stored_type(i.type)} *restrict in{n}" for n, i in enumerate(body.inputs)]
    outs = [f"{stored_type(o.type)} *restrict out{n}" for n, o in enumerate(body.outputs)]
    return [*ins, *outs, "const int64_t *sizes", "int64_t begin", "int64_t end", "uint8_t *scratch", "int32_t *fault"]


def names(body: Graph) -> dict[Input, str]:
    return {i: f"in{n}" for n, i in enumerate(body.inputs)}


def size_lines(body: Graph) -> list[str]:
    """Named sizes as C constants; `CV_SIZE_<name>` is the place of a size in the call."""
    return [f"const int64_t size_{n} = sizes[CV_SIZE_{n}];" for n in size_names(body)]


def comment(body: Graph) -> list[str]:
    """The body as a comment."""
    from ..ir.text import to_text

    return [
        f"// {line}".rstrip()
        for line in to_text(Graph("kernel", body.inputs, body.outputs), places=False).splitlines()
        if line
    ]


def function(name: str, body: Graph, lines: list[str]) -> str:
    """The text of a kernel."""
    head = [*comment(body), f"static void {name}({', '.join(parameters(body))})", "{"]
    return "\n".join([*head, *indented([*size_lines(body), *lines]), "}", ""])


def store(text: str, at: Dim, dtype: DType) -> str:
    value = f"cv_f32_to_f16({text})" if dtype is DType.F16 else text
    return f"out0[{c_dim(at)}] = {value};"


@dataclass(frozen=True)
class Nest:
    """The loops over a result: `at` is the index of the element in terms of the loops, outermost first."""

    loops: tuple[Loop, ...]
    at: tuple[Dim, ...]


def reads(value: Value, at: tuple[Dim, ...], limit: int = 4000) -> list[tuple[Input | None, Dim]]:
    """Where the element of `value` at an index is read from: inputs and positions (without data-dependent ones).

    Indices that decide what is read come without an input.
    """
    found: dict[tuple[Input | None, Dim], None] = {}
    done: set[object] = set()
    stack: list[object] = [Scalar("read", (value, at), value.type.dtype)]
    while stack and len(done) < limit:
        s = stack.pop()
        if not isinstance(s, Scalar):
            continue
        if s.op in ("in_range", "size"):
            found[None, s.args[0]] = None
        if s.op != "read":
            stack += s.args
            continue
        of, place = s.args
        if any(isinstance(i, Scalar) for i in place):
            stack += place
            place = tuple(0 if isinstance(i, Scalar) else i for i in place)
        if (of, place) in done:
            continue
        done.add((of, place))
        if isinstance(of, Result):
            stack.append(element(of.node, place))
        elif isinstance(of, Input):
            found[of, flatten_index(place, of.type.shape)] = None
    return list(found)


def nest(value: Value) -> Nest:
    """Loops over a result: neighbouring axes are one where no read then divides; innermost the best to vectorise."""
    shape = value.type.shape
    groups = [[n] for n, d in enumerate(shape) if d != 1]
    n = len(groups) - 1
    while n > 0:
        merged = [*groups[: n - 1], groups[n - 1] + groups[n], *groups[n + 1 :]]
        if _is_clean(value, merged, n - 1):
            groups = merged
        n -= 1
    return _innermost_last(value, _nest(shape, groups))


def _nest(shape: tuple[Dim, ...], groups: list[list[int]]) -> Nest:
    at: list[Dim] = [0] * len(shape)
    loops = []
    for n, group in enumerate(groups):
        extents = tuple(shape[a] for a in group)
        total = product(extents)
        i = index(f"i{n}", total)
        for a, part in zip(group, unflatten_index(i, extents), strict=True):
            at[a] = part
        loops.append(Loop(i, total))
    return Nest(tuple(loops), tuple(at))


def _is_clean(value: Value, groups: list[list[int]], which: int) -> bool:
    tried = _nest(value.type.shape, groups)
    symbol = sole_symbol(tried.loops[which].index)
    return not any(divides(d, symbol) for _, d in reads(value, tried.at))


def _innermost_last(value: Value, made: Nest) -> Nest:
    if len(made.loops) < 2:
        return made
    places = [(i.type.numel, d) for i, d in reads(value, made.at) if i is not None]
    out = (value.type.numel, flatten_index(made.at, value.type.shape))

    def score(loop: Loop) -> float:
        symbol = sole_symbol(loop.index)
        total = 2.0 * (coefficient(out[1], symbol) == 1)
        total += sum(
            _large(n) * (1.0 if coefficient(d, symbol) == 1 else 0.25 if coefficient(d, symbol) == 0 else 0.0)
            for n, d in places
        )
        short = isinstance(loop.extent, int) and loop.extent < FEW
        return total * (0.25 if short else 1.0)

    def _large(numel: Dim) -> float:
        return 0.2 if isinstance(numel, int) and numel < 4096 else 1.0

    best = max(reversed(made.loops), key=score)
    return Nest((*(loop for loop in made.loops if loop is not best), best), made.at)


def accepts(body: Graph) -> str | None:
    if len(body.outputs) != 1:
        return f"{len(body.outputs)} results"
    for node in expand(body).nodes():
        if node.op.element is None:
            return f"{node.op.name} has no index notation"
    return None


def schedules(body: Graph, target: Target) -> list[tuple[Schedule, float]]:
    bytes_moved = sum(nominal(v.type.nbytes) for v in (*body.inputs, *body.outputs))
    work = sum(nominal(t.numel) for n in body.nodes() for t in n.types)
    seconds = bytes_moved / (target.l2_bytes_per_cycle * target.hertz) + work / (target.lanes * target.hertz)
    return [({"block": BLOCK}, seconds)]


def write(body: Graph, schedule: Schedule, target: Target, name: str) -> Source:
    body = expand(body)
    root = body.outputs[0]
    made = nest(root)
    if not made.loops:
        made = Nest((Loop(index("i0", 1), 1),), made.at)
    *outer, inner = made.loops
    lowering = Lowering(names(body))
    lowering.levels += [type(lowering.levels[0])(sole_symbol(loop.index)) for loop in made.loops]
    lane = sole_symbol(inner.index)
    lowering.lane = lane
    text = lowering.value(root, made.at)
    level = lowering.levels[-1]
    steps = [*level.lines, store(text, flatten_index(made.at, root.type.shape), root.type.dtype)]
    has_rows = any("_lanes[" in line or line.startswith("for (") for lv in lowering.levels[1:-1] for line in lv.lines)
    block = LANES if lowering.lane_blocks else 0 if has_rows else int(schedule["block"])
    blocks = ceildiv(inner.extent, block) if block else 1
    units = product(loop.extent for loop in outer) * blocks
    lines = [
        *lowering.levels[0].lines,
        "for (int64_t unit = begin; unit < end; unit++) {",
        *indented(_unit(lowering, list(outer), inner, blocks, block, steps)),
        "}",
    ]
    return Source(function(name, body, lines), units)


def _unit(lowering: Lowering, outer: list[Loop], inner: Loop, blocks: Dim, block: int, steps: list[str]) -> list[str]:
    lines = []
    position: Dim = index("unit", 1 << 62)
    for loop, at in zip(outer, unflatten_index(position, (*(o.extent for o in outer), blocks)), strict=False):
        lines.append(f"const int64_t {c_name(sole_symbol(loop.index))} = {c_dim(at) if at != 0 else '0'};")
    for level in lowering.levels[1:-1]:
        lines += level.lines
    name, extent = c_name(sole_symbol(inner.index)), c_dim(inner.extent)
    start = "0" if blocks == 1 else f"unit % ({c_dim(blocks)}) * {block}"
    lines.append(f"const int64_t first = {start};")
    if lowering.lane_blocks:
        lines.append(f"const int64_t lanes = {extent} - first < {LANES} ? {extent} - first : {LANES};")
        return [*lines, *lowering.lane_blocks, *lane_loop(steps, name)]
    last = extent if blocks == 1 else f"{extent} - first < {block} ? {extent} : first + {block}"
    return [
        *lines,
        f"const int64_t last = {last};",
        f"for (int64_t {name} = first; {name} < last; {name}++) {{",
        *indented(steps),
        "}",
    ]


loops = template(Template("loops", 0, accepts, schedules, write))
