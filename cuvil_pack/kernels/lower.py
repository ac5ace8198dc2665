"""Write C for the elements of a body: index notation in, statements out, each in the outermost loop it depends on."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..ir.graph import Graph, Input, Node, Number, Result, Value
from ..ir.polynomial import INDEX
from ..ir.scalar import FLOAT_FUNCTIONS, REDUCTIONS, Loop, Scalar, cast
from ..ir.size import Dim, Expr, Symbol, index, is_nonnegative, symbols
from ..ir.types import DType, TensorType
from ..ops.view import flatten_index
from .blocks import LANES, c_dim, for_loop, lane_loop, sole_name, sole_symbol, strip_loop
from .functions import CTYPES, STORED, call, convert, literal

COSTLY = FLOAT_FUNCTIONS | {"div", "pow", "floordiv", "mod"}
SHORT = 8


@dataclass(frozen=True)
class Reader:
    """A tensor to read one element of."""

    value: Value

    @property
    def type(self) -> TensorType:
        return self.value.type

    def __call__(self, *index: Any) -> Scalar:
        return Scalar("read", (self.value, index), self.value.type.dtype)


def element(node: Node, at: tuple[Dim, ...]) -> Scalar:
    """One element of a node's result in index notation."""
    if node.op.element is None:
        raise TypeError(f"{node.op.name} has no element to write code for")
    result: Scalar = node.op.element(at, *map(Reader, node.inputs), **node.attrs)
    return result


def is_costly(node: Node) -> bool:
    """Whether an element of an elementwise node costs more than reading it again from memory."""
    at = tuple(index(f"i{n}", d) for n, d in enumerate(node.types[0].shape))
    stack: list[Any] = [element(node, at)] if node.op.elementwise else []
    while stack:
        s = stack.pop()
        if isinstance(s, Scalar):
            if s.op in COSTLY:
                return True
            stack += s.args
    return False


def expand(graph: Graph, keep: Callable[[Node], bool] = lambda node: False) -> Graph:
    """Say ops that have no element with smaller ones, except those to keep."""
    from ..ir.rewrite import rebuild

    def step(node: Node) -> Value | tuple[Value, ...] | None:
        if node.op.element is not None or node.op.decompose is None or keep(node):
            return None
        result: Value | tuple[Value, ...] = node.op.decompose(*node.inputs, **node.attrs)
        return result

    while any(n.op.element is None and n.op.decompose is not None and not keep(n) for n in graph.nodes()):
        graph = rebuild(graph, step)
    return graph


@dataclass(eq=False)
class Level:
    """The statements of one loop (or of the function, or of one branch of a condition)."""

    symbol: Symbol | None = None
    pinned: bool = False
    lines: list[str] = field(default_factory=list)
    memo: dict[Hashable, str] = field(default_factory=dict)


class Lowering:
    """Writes the statements that compute elements of a body's values.

    `levels` is the nest of loops around the statement being written, outermost first; the caller opens and closes the
    loops that run over a result, reductions open their own. `given` says how values already computed are read, which is
    possible only `inside` the loops of these symbols.
    """

    def __init__(
        self,
        names: Mapping[Input, str],
        given: Mapping[Value, Callable[[tuple[Dim, ...]], str]] | None = None,
        inside: frozenset[Symbol] = frozenset(),
    ):
        self.names = names
        self.given = dict(given or {})
        self.inside = inside
        self.levels = [Level()]
        self.lane: Symbol | None = None
        self.lane_blocks: list[str] = []
        self._count = 0
        self._bound: dict[str, Level] = {}
        self._depends: dict[Hashable, frozenset[Symbol]] = {}

    def fresh(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}{self._count}"

    # -- what depends on which loops

    def depends(self, s: Scalar) -> frozenset[Symbol]:
        """The symbols that the value of `s` varies with."""
        match s.op, s.args:
            case "const", _:
                return frozenset()
            case "size", (d,):
                return frozenset(symbols(d))
            case "in_range", (i, extent):
                return frozenset(symbols(i) | symbols(extent))
            case "read", (value, index):
                return self._read_depends(value, index)
            case "reduce" | "argreduce", (_, loops, body):
                own = {sole_symbol(loop.index) for loop in loops}
                extents = {x for loop in loops for x in symbols(loop.extent)}
                return (self.depends(body) - own) | extents
        return frozenset().union(*(self.depends(a) for a in s.args if isinstance(a, Scalar)))

    def _read_depends(self, value: Value, index: tuple[Any, ...]) -> frozenset[Symbol]:
        data = frozenset().union(*(self.depends(i) for i in index if isinstance(i, Scalar)))
        if data or any(isinstance(i, Scalar) for i in index):
            return data.union(*(symbols(i) for i in index if not isinstance(i, Scalar)))
        key = (value, index)
        if key not in self._depends:
            if isinstance(value, Result) and value not in self.given:
                self._depends[key] = self.depends(element(value.node, index))
            else:
                shape = value.type.shape
                loops = self.inside if value in self.given else frozenset[Symbol]()
                self._depends[key] = loops.union(*map(symbols, (*index, *shape[1:])))
        return self._depends[key]

    def level_of(self, found: frozenset[Symbol]) -> int:
        """The innermost level among those a value depends on, and inside every condition being written."""
        deepest = 0
        for n, level in enumerate(self.levels):
            if level.pinned or (level.symbol is not None and level.symbol in found):
                deepest = n
        for s in found:
            bound = self._bound.get(s.name)
            if bound is not None and bound in self.levels:
                deepest = max(deepest, self.levels.index(bound))
        return deepest

    # -- statements

    def assign(self, key: Hashable, expression: str, dtype: DType, found: frozenset[Symbol]) -> str:
        for level in self.levels:
            if key in level.memo:
                return level.memo[key]
        level = self.levels[self.level_of(found)]
        name = self.fresh("v")
        level.lines.append(f"const {CTYPES[dtype]} {name} = {expression};")
        level.memo[key] = name
        return name

    def value(self, value: Value, at: tuple[Dim, ...]) -> str:
        """C for the element of `value` at an index."""
        if isinstance(value, Number):
            return literal(value.number, value.type.dtype)
        return self.scalar(Scalar("read", (value, at), value.type.dtype))

    def scalar(self, s: Scalar) -> str:
        """C for a scalar; writes the statements it needs."""
        match s.op, s.args:
            case "const", (number,):
                return literal(number, s.dtype)
            case "size", (d,):
                return f"(({CTYPES[s.dtype]})({c_dim(d)}))"
            case "in_range", (i, extent):
                return self._in_range(i, extent)
            case "read", (value, index):
                return self._read(value, index)
            case "cast", (x,):
                return self._operation(s, convert(self.scalar(x), x.dtype, s.dtype), ("cast", s.dtype))
            case "select", (condition, yes, no):
                return self._select(condition, yes, no)
            case (("reduce" | "argreduce"), (kind, loops, body)):
                return self._reduce(s, kind, loops, body)
        args = [self.scalar(a) for a in s.args]
        return self._operation(s, call(s.op, args, s.args[-1].dtype), s.op)

    def _operation(self, s: Scalar, text: str, what: Hashable) -> str:
        return self.assign((what, text), text, s.dtype, self.depends(s))

    def _read(self, value: Value, index: tuple[Any, ...]) -> str:
        if isinstance(value, Number):
            return literal(value.number, value.type.dtype)
        key = (value, index) if not any(isinstance(i, Scalar) for i in index) else None
        at = tuple(self._position(i, d) for i, d in zip(index, value.type.shape, strict=True))
        if value in self.given:
            return self.given[value](at)
        if isinstance(value, Result):
            return self._element(value, at, key)
        assert isinstance(value, Input), f"{value} has no place in a kernel"
        text = f"{self.names[value]}[{c_dim(flatten_index(at, value.type.shape))}]"
        found = frozenset().union(*map(symbols, (*at, *value.type.shape[1:])))
        if value.type.dtype is DType.F16:
            text = f"cv_f16_to_f32({text})"
        return self.assign(("load", text), text, value.type.dtype, found)

    def _element(self, value: Result, at: tuple[Dim, ...], key: Hashable) -> str:
        memo = ("element", value, at)
        for level in self.levels:
            if memo in level.memo:
                return level.memo[memo]
        tree = element(value.node, at)
        name = self.scalar(tree)
        self.levels[self.level_of(self.depends(tree))].memo[memo] = name
        return name

    def _position(self, i: Any, extent: Dim) -> Dim:
        """A data-dependent index becomes a C variable, checked: outside `[0, extent)` it faults and reads element 0."""
        if not isinstance(i, Scalar):
            return i  # type: ignore[no-any-return]
        found = self.depends(i)
        raw = self.scalar(cast(i, DType.I64))
        for level in self.levels:
            if ("index", raw, extent) in level.memo:
                return index(level.memo["index", raw, extent], extent)
        level = self.levels[self.level_of(found)]
        name = self.fresh("at")
        level.lines.append(f"const int64_t {name} = cv_index({raw}, {c_dim(extent)}, fault);")
        level.memo["index", raw, extent] = name
        self._bound[INDEX + name] = level
        return index(name, extent)

    def _in_range(self, i: Dim, extent: Dim) -> str:
        tests = []
        if not is_nonnegative(i):
            tests.append(f"{c_dim(i)} >= 0")
        if not is_nonnegative(extent - 1 - i):
            tests.append(f"{c_dim(i)} < {c_dim(extent)}")
        return " && ".join(tests) or "1"

    def _select(self, condition: Scalar, yes: Scalar, no: Scalar) -> str:
        test = self.scalar(condition)
        if test == "1":
            return self.scalar(yes)
        name = self.fresh("v")
        lines = [
            f"{CTYPES[yes.dtype]} {name};",
            f"if ({test}) {{",
            *self._branch(name, yes),
            "} else {",
            *self._branch(name, no),
            "}",
        ]
        self.levels[-1].lines += lines
        return name

    def _branch(self, name: str, s: Scalar) -> list[str]:
        self.levels.append(Level(pinned=True))
        text = self.scalar(s)
        level = self.levels.pop()
        return [f"    {line}" for line in (*level.lines, f"{name} = {text};")]

    # -- reductions

    def _reduce(self, s: Scalar, kind: str, loops: tuple[Loop, ...], body: Scalar) -> str:
        renamed, body_at = self._rename(loops, body)
        found = self.depends(s)
        if s.op == "argreduce":
            return self._argreduce(s, kind, renamed, body_at, found)
        ragged = any(self.lane in symbols(loop.extent) for loop in renamed)
        if self.lane is not None and self.lane in found and not ragged and self.levels[-1].symbol == self.lane:
            return self._reduce_lanes(s, kind, renamed, body_at)
        return self._reduce_alone(s, kind, renamed, body_at, found)

    def _rename(self, loops: tuple[Loop, ...], body: Scalar) -> tuple[tuple[Loop, ...], Scalar]:
        """Loops whose names no other open loop has."""
        taken = {level.symbol.name for level in self.levels if level.symbol is not None}
        if not any(sole_symbol(loop.index).name in taken for loop in loops):
            return loops, body
        change: dict[Symbol, Dim] = {}
        fresh = []
        for loop in loops:
            old = sole_symbol(loop.index)
            new = index(self.fresh("k_"), loop.extent)
            change[old] = new
            fresh.append(Loop(new, loop.extent))
        return tuple(fresh), rename(body, change)

    def _reduce_lanes(self, s: Scalar, kind: str, loops: tuple[Loop, ...], body: Scalar) -> str:
        """A result for each lane of the innermost loop: reductions run outside, lanes inside, so they vectorise."""
        lane_level = self.levels.pop()
        outer = len(self.levels)
        self.levels += [Level(sole_symbol(loop.index)) for loop in loops]
        self.levels.append(Level(self.lane))
        name, ctype = self.fresh("acc"), CTYPES[s.dtype]
        lane, self.lane = self.lane, None
        text = self.scalar(body)
        self.lane = lane
        inner = self.levels.pop()
        steps = [*inner.lines, f"{name}[lane] = {combine(kind, f'{name}[lane]', text, s.dtype)};"]
        block = lane_loop(steps, sole_name(lane))
        for loop in reversed(loops):
            block = for_loop(loop, [*self.levels.pop().lines, *block])
        assert len(self.levels) == outer
        start = lane_loop([f"{name}[lane] = {literal(REDUCTIONS[kind][1], s.dtype)};"], None)
        self.lane_blocks += [f"{ctype} {name}[{LANES}];", *start, *block]
        self.levels.append(lane_level)
        return f"{name}[lane]"

    def _reduce_alone(
        self, s: Scalar, kind: str, loops: tuple[Loop, ...], body: Scalar, found: frozenset[Symbol]
    ) -> str:
        """One result for the loops outside, by lanes along the innermost reduced axis."""
        key = ("reduce", kind, c_dim(loops[-1].extent), id(s))
        home = self.level_of(found)
        kept = self.levels[home + 1 :]
        del self.levels[home + 1 :]
        lane, self.lane = self.lane, None
        self.levels += [Level(sole_symbol(loop.index)) for loop in loops]
        text = self.scalar(body)
        name, ctype = self.fresh("r"), CTYPES[s.dtype]
        start = literal(REDUCTIONS[kind][1], s.dtype)
        inner, extent = self.levels.pop(), loops[-1].extent
        if isinstance(extent, int) and extent <= SHORT:
            block = for_loop(loops[-1], [*inner.lines, f"{name} = {combine(kind, name, text, s.dtype)};"])
            before, after = [f"{ctype} {name} = {start};"], []
        else:
            lanes = f"{name}_lanes"
            steps = [*inner.lines, f"{lanes}[lane] = {combine(kind, f'{lanes}[lane]', text, s.dtype)};"]
            block = strip_loop(loops[-1], steps)
            before = [
                f"{ctype} {lanes}[{LANES}];",
                f"for (int64_t lane = 0; lane < {LANES}; lane++) {lanes}[lane] = {start};",
            ]
            half = combine(kind, f"{lanes}[lane]", f"{lanes}[lane + width]", s.dtype)
            after = [
                f"for (int64_t width = {LANES // 2}; width > 0; width /= 2)",
                f"    for (int64_t lane = 0; lane < width; lane++) {lanes}[lane] = {half};",
                f"const {ctype} {name} = {lanes}[0];",
            ]
        for loop in reversed(loops[:-1]):
            block = for_loop(loop, [*self.levels.pop().lines, *block])
        self.levels[home].lines += [*before, *block, *after]
        self.levels[home].memo[key] = name
        self.levels += kept
        self.lane = lane
        return name

    def _argreduce(self, s: Scalar, kind: str, loops: tuple[Loop, ...], body: Scalar, found: frozenset[Symbol]) -> str:
        """The position of the first greatest (least) element; nan counts as greater (less) than all."""
        home = self.level_of(found)
        kept = self.levels[home + 1 :]
        del self.levels[home + 1 :]
        lane, self.lane = self.lane, None
        (loop,) = loops
        self.levels.append(Level(sole_symbol(loop.index)))
        text = self.scalar(body)
        inner = self.levels.pop()
        name, best, ctype = self.fresh("r"), self.fresh("best"), CTYPES[body.dtype]
        sign = ">" if kind == "max" else "<"
        better = f"{text} {sign} {best}"
        if body.dtype.is_float:
            better = f"({best} == {best}) && ({better} || {text} != {text})"
        i = c_dim(loop.index)
        block = for_loop(loop, [*inner.lines, f"if ({i} == 0 || ({better})) {{ {best} = {text}; {name} = {i}; }}"])
        self.levels[home].lines += [f"{ctype} {best} = 0;", f"int64_t {name} = 0;", *block]
        self.levels += kept
        self.lane = lane
        return name


def rename(s: Scalar, change: Mapping[Symbol, Dim]) -> Scalar:
    """The scalar with indices replaced."""
    from ..ir.size import substitute

    def replaced(a: Any) -> Any:
        match a:
            case Scalar():
                return rename(a, change)
            case int() | Expr():
                return substitute(a, change)
            case tuple():
                return tuple(map(replaced, a))
            case Loop(index, extent):
                return Loop(index, substitute(extent, change))
        return a

    return s if s.op == "const" else Scalar(s.op, tuple(map(replaced, s.args)), s.dtype)


def combine(kind: str, total: str, term: str, dtype: DType) -> str:
    return call(REDUCTIONS[kind][0], [total, term], dtype)


def stored_type(t: TensorType) -> str:
    return STORED[t.dtype]
