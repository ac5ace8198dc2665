"""Matrix products: register tiles over panels of 16 columns, in f32."""

from __future__ import annotations

from dataclasses import dataclass

from ..ir.graph import Graph, Input, Node, Result, Value
from ..ir.size import Dim, ceildiv, index, lower, minimum, nominal, product, upper
from ..ir.types import DType
from ..ops.panel import WIDTH, panels, unpanel
from ..ops.view import expand, unflatten_index
from ..targets import Target
from .blocks import c_dim, indented
from .epilogue import epilogue, gathered, only, refusal
from .loops import comment, parameters, size_lines
from .strides import Strided, strided
from .template import Packing, Schedule, Source, Template, template
from .tiles import shared_sums, sums_table, tile_seconds, tiles

TALL = 512
LARGE = 1 << 16
"""Weights of this many elements are read once for all of up to TALL rows, a column of tiles after the other."""


@dataclass(frozen=True)
class Product:
    """One product as the C driver takes it: `batch` matrices of `m` rows, `k` deep; `b` is packed where `weights`."""

    node: Node
    batch: Dim
    m: Dim
    n: Dim
    k: Dim
    a: Strided
    b: Strided
    weights: bool
    transposed: bool


def spread(value: Value, batch: tuple[Dim, ...]) -> Value:
    """The value with its leading axes broadcast to `batch`."""
    shape = (*batch, *value.type.shape[-2:])
    if value.type.shape == shape:
        return value
    spread_out: Value = expand(value, shape=shape)
    return spread_out


def left(node: Node, flat: bool) -> Strided | None:
    """The left operand as `[batch, m, k]` with dense rows; `flat` takes all leading axes as rows."""
    shape = node.types[0].shape
    a = spread(node.inputs[0], shape[:-2])
    *batch, m, k = a.type.shape
    wanted = (1, product((*batch, m)), k) if flat else (product(batch), m, k)
    found = strided(a, wanted)
    return found if found is not None and (found.strides[2] == 1 or k == 1) else None


def right(node: Node) -> Strided | None:
    """The right operand as `[batch, k, n]`, dense along one of the last two axes."""
    b = spread(node.inputs[1], node.types[0].shape[:-2])
    *batch, k, n = b.type.shape
    found = strided(b, (product(batch), k, n))
    if found is None or (found.strides[2] != 1 and found.strides[1] != 1 and n != 1):
        return None
    return found


def packed(value: Value) -> Input | None:
    """The panels of a weight, where the value is one matrix unpacked from them."""
    if isinstance(value, Result) and value.node.op is unpanel and value.type.rank == 2:
        source = value.node.inputs[0]
        return source if isinstance(source, Input) else None
    return None


def analyse(body: Graph) -> Product | str:
    """The product a body is built around, or why it has none."""
    node = only(body, "matmul")
    if node is None:
        return "it is not built around one matmul"
    if node.types[0].dtype is not DType.F32:
        return f"{node.types[0].dtype.value} products have no tiles"
    shape = node.types[0].shape
    k, n = node.inputs[1].type.shape[-2:]
    panels = packed(node.inputs[1])
    if panels is not None:
        a = left(node, True)
        if a is None:
            return "the rows of the left operand do not lie at one distance"
        return Product(node, 1, product(shape[:-1]), n, k, a, Strided(panels, 0, ()), True, False)
    a, b = left(node, False), right(node)
    if a is None or b is None:
        return "an operand has no dense rows"
    return Product(node, product(shape[:-2]), shape[-2], n, k, a, b, False, b.strides[2] != 1)


def accepts(body: Graph) -> str | None:
    found = analyse(body)
    return refusal(body, found, lambda: isinstance(found, Product) and _epilogue(body, found, "k", 16))


def schedules(body: Graph, target: Target) -> list[tuple[Schedule, float]]:
    found = analyse(body)
    assert isinstance(found, Product)
    m, n, k = nominal(found.m), nominal(found.n), nominal(found.k)
    result: list[tuple[Schedule, float]] = []
    for mr, nr in tiles(target):
        seconds = nominal(found.batch) * tile_seconds(m, n, k, mr, nr, target)
        blocks = {"mb": TALL // mr * mr, "nb": nr} if m <= TALL and k * n >= LARGE else {"mb": mr * 4, "nb": nr * 2}
        result.append(({"mr": mr, "nr": nr, "kc": 0, "columns_outer": 1, **blocks}, seconds))
    return result


def _epilogue(body: Graph, found: Product, name: str, wide: int) -> list[str]:
    shape = found.node.types[0].shape
    row, column = index("m", product(shape[:-1])), index("n", found.n)
    at = (*unflatten_index(row, shape[:-1]), column if found.n != 1 else 0)
    return epilogue(body, found.node, name, row, column, at, wide)


def matrix(body: Graph, s: Strided) -> str:
    """A cv_matrix of a strided operand `[batch, rows, ...]`."""
    assert isinstance(s.root, Input)
    place = body.inputs.index(s.root)
    return f"(cv_matrix){{in{place} + {c_dim(s.offset)}, {c_dim(s.strides[1])}, {c_dim(s.strides[0])}}}"


def write(body: Graph, schedule: Schedule, target: Target, name: str) -> Source:
    found = analyse(body)
    assert isinstance(found, Product)
    order = ("mr", "nr", "mb", "nb", "kc", "columns_outer")
    fixed = f"(cv_gemm_schedule){{{', '.join(str(schedule[f]) for f in order)}}}"
    size = f"(cv_gemm_size){{{', '.join(map(c_dim, (found.batch, found.m, found.n, found.k)))}}}"
    few = few_rows(found.m, schedule)
    sums = sums_table("gemm", schedule, target.lanes, few)
    lines = [*size_lines(body), gathered(body, name)]
    tail = f"(float *)scratch, {name}_epilogue, &arguments, begin, end"
    if found.weights:
        assert isinstance(found.b.root, Input)
        lines.append(
            f"cv_gemm({fixed}, {sums}, {size}, {matrix(body, found.a)}, in{body.inputs.index(found.b.root)}, {tail});"
        )
    else:
        lines.append(
            f"cv_gemm_activations({fixed}, {sums}, {size}, {matrix(body, found.a)}, {_operand(body, found)}, {tail});"
        )
    head = f"static void {name}({', '.join(parameters(body))})"
    text = [*comment(body), *_epilogue(body, found, name, int(schedule["nr"])), head, "{", *indented(lines), "}", ""]
    return Source(
        "\n".join(text),
        units(found, schedule),
        scratch(found, schedule),
        ("gemm.h",),
        shared_sums("gemm", schedule, target.lanes, few),
    )


def few_rows(m: Dim, schedule: Schedule) -> tuple[int, ...]:
    """The products of few rows that a kernel may meet: of one, of up to four."""
    least, most = lower(m), upper(m)
    one = least is None or least <= 1
    four = int(schedule["mr"]) >= 4 and (least is None or least <= 4) and (most is None or most > 1)
    return (*((1,) if one else ()), *((4,) if four else ()))


def _operand(body: Graph, found: Product) -> str:
    b = found.b
    if found.transposed:
        b = Strided(b.root, b.offset, (b.strides[0], b.strides[2], b.strides[1]))
    return f"(cv_gemm_operand){{{matrix(body, b)}, {int(found.transposed)}}}"


def units(found: Product, schedule: Schedule) -> Dim:
    """As cv_gemm_units."""
    mr, nr, mb, nb = (int(schedule[f]) for f in ("mr", "nr", "mb", "nb"))
    rows = ceildiv(ceildiv(found.m, mr), max(mb // mr, 1))
    return found.batch * rows * ceildiv(ceildiv(found.n, nr), max(nb // nr, 1))


def scratch(found: Product, schedule: Schedule) -> Dim:
    """Bytes of one thread: partial sums, and the panels of a block of an activation."""
    mr, nr, mb, nb, kc = (int(schedule[f]) for f in ("mr", "nr", "mb", "nb", "kc"))
    columns = max(nb // nr, 1) * nr
    partial: Dim = max(mb // mr, 1) * mr * columns * 4 if kc else 0
    if found.weights:
        return partial
    return partial + ceildiv(minimum(columns, found.n), WIDTH) * WIDTH * found.k * 4


def reads(node: Node, operand: int) -> bool | None:
    if node.op.name != "matmul" or node.types[0].dtype is not DType.F32:
        return None
    if operand == 1:
        return right(node) is not None
    return left(node, True) is not None or (left(node, False) is not None and node.inputs[1].type.rank > 2)


def packing(node: Node, operand: int) -> Packing | None:
    if (
        node.op.name != "matmul"
        or operand != 1
        or node.inputs[1].type.rank != 2
        or node.types[0].dtype is not DType.F32
    ):
        return None
    columns = node.inputs[1].type.shape[1]
    return Packing("panels", panels, lambda p: unpanel(p, columns=columns))


matmul = template(Template("matmul", 10, accepts, schedules, write, reads, packing))
