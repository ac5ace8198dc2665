"""What follows the heavy op of a kernel: a function that takes each finished tile, computes the rest and stores it."""

from __future__ import annotations

from collections.abc import Callable

from ..ir.graph import Graph, Node, Result, Value
from ..ir.size import Dim
from ..ops.view import flatten_index
from .blocks import c_name, indented, sole_symbol
from .loops import names, size_lines, store
from .lower import Level, Lowering, stored_type
from .strides import is_view


def only(body: Graph, op: str) -> Node | None:
    """The node of this op, where the body has exactly one and it is the only heavy one."""
    heavy = [n for n in body.nodes() if n.op.anchor or n.op.element is None]
    return heavy[0] if len(heavy) == 1 and heavy[0].op.name == op else None


def destination(body: Graph, anchor: Node, at: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The index in the body's result that the element `at` of the heavy op's result goes to.

    Raises TypeError where what follows is not elementwise or a view that moves every element once.
    """
    places: dict[Value, tuple[Dim, ...]] = {Result(anchor): at}
    for node in body.nodes():
        known = next((v for v in node.inputs if v in places), None)
        if known is None or node is anchor:
            continue
        if node.op.elementwise and node.types[0].shape == known.type.shape:
            places[Result(node)] = places[known]
        elif is_view(node) and node.op.forward is not None:
            places[Result(node)] = node.op.forward(places[known], known.type, **node.attrs)
        else:
            raise TypeError(f"{node.op.name} cannot follow {anchor.op.name} in one kernel")
    return places[body.outputs[0]]


def refusal(body: Graph, found: object, write: Callable[[], object]) -> str | None:
    """Why a body is not for a template: what its analysis says, or why `write` cannot write its epilogue."""
    if len(body.outputs) != 1:
        return f"{len(body.outputs)} results"
    if isinstance(found, str):
        return found
    try:
        write()
    except TypeError as e:
        return str(e)
    return None


def struct(body: Graph, name: str) -> list[str]:
    """The arguments of a kernel as a struct, for its epilogue."""
    pointers = [f"const {stored_type(i.type)} *in{n};" for n, i in enumerate(body.inputs)]
    pointers += [f"{stored_type(o.type)} *out{n};" for n, o in enumerate(body.outputs)]
    return [
        "typedef struct {",
        *indented([*pointers, "const int64_t *sizes;", "int32_t *fault;"]),
        f"}} {name}_arguments;",
    ]


def gathered(body: Graph, name: str) -> str:
    """The statement that fills that struct."""
    fields = [
        *(f"in{n}" for n in range(len(body.inputs))),
        *(f"out{n}" for n in range(len(body.outputs))),
        "sizes",
        "fault",
    ]
    return f"{name}_arguments arguments = {{{', '.join(fields)}}};"


def epilogue(
    body: Graph, anchor: Node, name: str, row: Dim, column: Dim, at: tuple[Dim, ...], wide: int, inline: bool = False
) -> list[str]:
    """The epilogue of a kernel: rows `row` and columns `column` of a tile lie at index `at` of the heavy op's result.

    Most tiles have `wide` columns; `inline` is for kernels with little work a tile.
    """

    def tile(index: tuple[Dim, ...]) -> str:
        if index != at:
            raise TypeError(f"the epilogue reads {index}, the tile is {at}")
        return "sum"

    m, n = sole_symbol(row), sole_symbol(column)
    lowering = Lowering(names(body), {Result(anchor): tile}, frozenset({m, n}))
    lowering.levels += [Level(m), Level(n)]
    place = flatten_index(destination(body, anchor, at), body.outputs[0].type.shape)
    text = lowering.value(body.outputs[0], destination(body, anchor, at))
    _, over_rows, over_columns = lowering.levels
    pointers = [
        f"const {stored_type(i.type)} *restrict in{k} = a->in{k}; (void)in{k};" for k, i in enumerate(body.inputs)
    ]
    pointers += [f"{stored_type(o.type)} *restrict out{k} = a->out{k};" for k, o in enumerate(body.outputs)]
    inner = [
        "const float sum = tile[i * stride + j];",
        *over_columns.lines,
        store(text, place, body.outputs[0].type.dtype),
    ]
    lines = [
        "const int64_t *sizes = a->sizes; (void)sizes;",
        "int32_t *fault = a->fault; (void)fault;",
        *pointers,
        *size_lines(body),
        *lowering.levels[0].lines,
        "for (int64_t i = 0; i < mb; i++) {",
        *indented([f"const int64_t {c_name(m)} = m0 + i;", *over_rows.lines]),
        "    for (int64_t j = 0; j < nb; j++) {",
        *indented(indented([f"const int64_t {c_name(n)} = n0 + j;", *inner])),
        "    }",
        "}",
    ]
    tile_of = "const float *tile, int64_t stride, int64_t m0, int64_t mb, int64_t n0, int64_t nb"
    passed = "tile, stride, m0, mb, n0"
    return [
        *struct(body, name),
        f"CV_INLINE void {name}_finish(const {name}_arguments *a, {tile_of})",
        "{",
        *indented(lines),
        "}",
        f"{'CV_INLINE' if inline else 'static __attribute__((noinline))'} void {name}_epilogue(void *ctx, {tile_of})",
        "{",
        f"    if (nb == {wide})",
        f"        {name}_finish(ctx, {passed}, {wide});",
        "    else",
        f"        {name}_finish(ctx, {passed}, nb);",
        "}",
    ]
