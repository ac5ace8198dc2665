"""The text form of a graph is Python: print it here, read it back here.

batch = size(1, 32)

def mlp(x: f32[batch, 8]):
    v0 = matmul(x, weight("fc.weight"))  # f32[batch, 16]  @ model.py:42   self.fc(x)
    return v0
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping
from keyword import iskeyword
from typing import Any

from .graph import NOWHERE, OPS, Array, Graph, Input, Node, Number, Op, Result, Value, Weight, Where, at
from .size import FUNCTIONS, Dim, Expr, Symbol, named, symbols
from .types import DType, TensorType


def to_text(graph: Graph, places: bool = True) -> str:
    """The graph with its named sizes before it; `places` adds the user's line to each node."""
    sizes = [f"{s.name} = size({s.lo}, {s.hi})" for s in _all_sizes(graph)]
    return "\n".join([*sizes, *([""] if sizes else []), *_lines(graph, "", places), ""])


def _all_sizes(graph: Graph) -> list[Symbol]:
    types = (*(i.type for i in graph.inputs), *(t for n in graph.nodes() for t in n.types))
    found = {s for t in types for d in t.shape for s in symbols(d)}
    return sorted(found, key=lambda s: s.name)


def _lines(graph: Graph, indent: str, places: bool) -> list[str]:
    names: dict[Value, str] = {}
    lines: list[str] = []
    bodies: dict[Graph, str] = {}

    def name(v: Value) -> str:
        match v:
            case Input(name=text):
                return text
            case Weight(name=text, type=type):
                return f"weight({text!r}, {type})"
            case Number(number=number, type=type):
                return f"number({attr_text(number)}, {type.dtype.value})"
        return names[v]

    def attr(a: object) -> str:
        return bodies[a] if isinstance(a, Graph) else attr_text(a)

    for n, node in enumerate(graph.nodes()):
        for a in node.attrs.values():
            if isinstance(a, Graph) and a not in bodies:
                bodies[a] = f"{a.name}_{len(bodies)}"
                lines += _lines(Graph(bodies[a], a.inputs, a.outputs, a.output_names, a.states), indent + "    ", False)
        args = [*map(name, node.inputs), *(f"{k}={attr(a)}" for k, a in node.attrs.items())]
        outs = [f"v{n}" if len(node.types) == 1 else f"v{n}_{i}" for i in range(len(node.types))]
        names |= {Result(node, i): o for i, o in enumerate(outs)}
        types = ", ".join(map(str, node.types))
        place = f"  @ {_place(node.where)}" if places and node.where != NOWHERE else ""
        lines.append(f"{indent}    {', '.join(outs)} = {_call_name(node.op)}({', '.join(args)})  # {types}{place}")
    params = ", ".join(f"{v.name}: {v.type}" for v in graph.inputs)
    results = ", ".join(map(name, graph.outputs))
    named_results = f"  # -> {', '.join(graph.output_names)}" if graph.output_names else ""
    return [f"{indent}def {graph.name}({params}):", *lines, f"{indent}    return {results}{named_results}"]


def _call_name(op: Op) -> str:
    """The op's name, with an underscore behind it where Python keeps the word for itself."""
    return f"{op.name}_" if iskeyword(op.name) else op.name


def _op_name(call: str) -> str:
    return call[:-1] if iskeyword(call[:-1]) else call


def _place(where: Where) -> str:
    head = f"{where.file}:{where.line}" if where.file else ""
    return "   ".join(p for p in (head, f"[{where.module}]" if where.module else "", where.code) if p)


def _read_place(text: str) -> Where:
    head, *rest = text.split("   ")
    module = next((p[1:-1] for p in (head, *rest[:1]) if p.startswith("[") and p.endswith("]")), "")
    rest = [p for p in rest if p != f"[{module}]"]
    file, _, line = head.rpartition(":") if head != f"[{module}]" else ("", "", "0")
    return Where(file, int(line), "   ".join(rest), module)


def attr_text(a: object) -> str:
    match a:
        case bool() | int() | str():
            return repr(a)
        case float():
            return repr(a) if math.isfinite(a) else f"float({str(a)!r})"
        case Expr():
            return str(a)
        case DType():
            return a.value
        case tuple():
            return "(" + ", ".join(map(attr_text, a)) + ("," if len(a) == 1 else "") + ")"
        case None:
            return "None"
    raise TypeError(f"{a!r} cannot be an attribute")


OPERATORS: dict[type[ast.operator], str] = {
    ast.Add: "add", ast.Mult: "mul", ast.Sub: "sub", ast.Div: "div", ast.MatMult: "matmul",
}  # fmt: skip
SIZE_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b,
    ast.Mod: lambda a, b: a % b,
}


def from_text(text: str, weights: Mapping[str, Array] | None = None) -> Graph:
    """Read a graph. `weights` gives the tensors it names. Raises SyntaxError naming the line."""
    lines = text.splitlines()
    env: dict[str, Any] = {}
    graph: Graph | None = None
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="size"), args=bounds)):
                lo, hi = (ast.literal_eval(b) for b in bounds)
                env[name] = named(name, lo, hi)
            case ast.FunctionDef():
                graph = _Reader(lines, dict(env), weights or {}).function(statement)
            case _:
                raise SyntaxError(f"line {statement.lineno}: neither a size nor a graph")
    if graph is None:
        raise SyntaxError("no graph in this text")
    return graph


Call = tuple[tuple[TensorType, ...], dict[str, Any]]


def parse_call(text: str, sizes: Mapping[str, Dim] | None = None) -> Call:
    """What an op is called with: `"f32[batch, 8], axis=1"` is one input type and one attribute.

    Names not in `sizes` become sizes of 1 and more, one for each name.
    """
    call = ast.parse(f"call({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    reader = _Reader([], _Sizes(sizes or {}), {})
    return tuple(map(reader.tensor_type, call.args)), {k.arg: reader.read(k.value) for k in call.keywords if k.arg}


def parse_types(text: str, sizes: Mapping[str, Dim] | None = None) -> tuple[TensorType, ...]:
    """`"f32[batch, 8], i64[4]"` as types; names as in `parse_call`."""
    return parse_call(text, sizes)[0]


def examples(op: Op) -> list[Call]:
    """The calls an op gives as its examples."""
    return [parse_call(e) for e in op.examples]


class _Sizes(dict[str, Any]):
    def __missing__(self, name: str) -> Expr:
        self[name] = named(name)
        return self[name]  # type: ignore[no-any-return]


class _Reader:
    def __init__(self, lines: list[str], env: dict[str, Any], weights: Mapping[str, Array]):
        self.lines, self.env, self.weights = lines, env, weights

    def function(self, f: ast.FunctionDef) -> Graph:
        inputs = tuple(Input(a.arg, self.tensor_type(a.annotation)) for a in f.args.args if a.annotation)
        inner = _Reader(self.lines, self.env | {i.name: i for i in inputs}, self.weights)
        for s in f.body:
            if isinstance(s, ast.Return) and s.value is not None:
                out = inner.read(s.value)
                comment = self.lines[s.lineno - 1].partition("  # -> ")[2] if self.lines else ""
                names = tuple(comment.split(", ")) if comment else ()
                outs = out if isinstance(out, tuple) else (out,)
                return Graph(f.name, inputs, tuple(map(_value, outs)), names)
            inner.statement(s)
        raise SyntaxError(f"{f.name} returns nothing")

    def statement(self, s: ast.stmt) -> None:
        place = self.lines[s.lineno - 1].partition("  @ ")[2] if self.lines else ""
        with at(_read_place(place) if place else NOWHERE):
            match s:
                case ast.Assign(targets=[ast.Name(id=name)], value=v):
                    self.env[name] = self.read(v)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=v):
                    self.env |= {ast.unparse(t): r for t, r in zip(targets, self.read(v), strict=True)}
                case ast.FunctionDef():
                    self.env[s.name] = self.function(s)
                case _:
                    raise SyntaxError(f"line {s.lineno}: {ast.unparse(s)} has no meaning in a graph")

    def tensor_type(self, e: ast.expr) -> TensorType:
        match e:
            case ast.Subscript(value=ast.Name(id=dtype), slice=ast.Tuple(elts=dims)):
                return TensorType(DType(dtype), tuple(self.read(d) for d in dims))
            case ast.Subscript(value=ast.Name(id=dtype), slice=dim):
                return TensorType(DType(dtype), (self.read(dim),))
        raise SyntaxError(f"{ast.unparse(e)} is no tensor type")

    def read(self, e: ast.expr) -> Any:
        match e:
            case ast.Name(id=name):
                return DType(name) if name in DType.__members__.values() and name not in self.env else self.env[name]
            case ast.Constant(value=v):
                return v
            case ast.UnaryOp(op=ast.USub(), operand=o):
                return -self.read(o)
            case ast.Tuple(elts=items):
                return tuple(map(self.read, items))
            case ast.BinOp(left=left, op=o, right=right):
                return self.operator(type(o), self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id="weight"), args=[ast.Constant(value=str(name)), *_]):
                return Weight(name, TensorType.of(self.weights[name]), self.weights[name])
            case ast.Call(func=ast.Name(id="number"), args=[number, ast.Name(id=dtype)]):
                return Number(self.read(number), TensorType(DType(dtype), ()))
            case ast.Call(func=ast.Name(id="float"), args=[ast.Constant(value=str(text))]):
                return float(text)
            case ast.Call(func=ast.Name(id="min" | "max" as name), args=args):
                return FUNCTIONS[name](*map(self.read, args))
            case ast.Call(func=ast.Name(id=name), args=args, keywords=kw) if _op_name(name) in OPS:
                return OPS[_op_name(name)].node(
                    *map(self.read, args), **{k.arg: self.read(k.value) for k in kw if k.arg}
                )
        raise SyntaxError(f"line {e.lineno}: {ast.unparse(e)} has no meaning in a graph")

    def operator(self, kind: type[ast.operator], a: Any, b: Any) -> Any:
        if isinstance(a, Value) or isinstance(b, Value):
            return OPS[OPERATORS[kind]](a, b)
        return SIZE_OPERATORS[kind](a, b)


def _value(v: Any) -> Value:
    if isinstance(v, Value):
        return v
    raise SyntaxError(f"{v!r} is no tensor")


def kernel_key(node: Node) -> str:
    """What makes two kernels the same: the text of the body, without places."""
    body = node.attrs["body"]
    return to_text(Graph("kernel", body.inputs, body.outputs), places=False)
