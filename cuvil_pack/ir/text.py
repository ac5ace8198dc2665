"""The text form of a graph is Python: print it here, read it back here.

batch = size(1, 32)

def mlp(x: f32[batch, 8]):
    v0 = matmul(x, weight('fc.weight', f32[8, 16]))  # f32[batch, 16]  @ model.py:42   self.fc(x)
    return v0  # -> logits
"""

from __future__ import annotations

import ast
import io
import math
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping
from itertools import count
from keyword import iskeyword
from typing import Any

from .graph import NOWHERE, OPS, Array, Graph, Input, Node, Number, Op, Result, State, Value, Weight, Where, at
from .size import FUNCTIONS, Dim, Expr, Symbol, named, symbols
from .types import DType, TensorType

VALUE_NAME = re.compile(r"v\d+(_\d+)?")
PLAIN = re.compile(r"[^\s,'\"]+")
QUOTED = re.compile(r"""'(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^\s,'"]+""")


def to_text(graph: Graph, places: bool = True) -> str:
    """The graph with its named sizes before it; `places` adds the user's line to each node."""
    found = _all_sizes(graph)
    sizes = [f"{s.name} = size({s.lo}, {s.hi})" for s in found]
    lines = _Writer(frozenset(s.name for s in found), places).function(graph, graph.name, "")
    return "\n".join([*sizes, *([""] if sizes else []), *lines, ""])


def _all_sizes(graph: Graph) -> list[Symbol]:
    found: set[Symbol] = set()
    graphs = [graph]
    while graphs:
        g = graphs.pop()
        types = (*(i.type for i in g.inputs), *(t for n in g.nodes() for t in n.types))
        attrs = [a for n in g.nodes() for a in _leaves(tuple(n.attrs.values()))]
        graphs += [a for a in attrs if isinstance(a, Graph)]
        dims = (*(d for t in types for d in t.shape), *(a for a in attrs if isinstance(a, Expr)))
        found |= {s for d in dims for s in symbols(d)}
    return sorted(found, key=lambda s: s.name)


def _leaves(attr: Any) -> Iterator[Any]:
    if not isinstance(attr, tuple):
        yield attr
        return
    for a in attr:
        yield from _leaves(a)


class _Writer:
    def __init__(self, sizes: frozenset[str], places: bool):
        self.sizes, self.places = sizes, places

    def function(self, graph: Graph, title: str, indent: str) -> list[str]:
        names = self._input_names(graph)
        params = ", ".join(f"{names[i]}: {_annotation(i, names[i])}" for i in graph.inputs)
        lines = [f"{indent}def {title}({params}):"]
        bodies: dict[Graph, str] = {}
        inner = indent + "    "
        for n, node in enumerate(graph.nodes()):
            for a in node.attrs.values():
                if isinstance(a, Graph) and a not in bodies:
                    bodies[a] = f"{a.name}_{len(bodies)}"
                    lines += self.function(a, bodies[a], inner)
            outs = [f"v{n}" if len(node.types) == 1 else f"v{n}_{i}" for i in range(len(node.types))]
            lines.append(f"{inner}{', '.join(outs)} = {_call(node, names, bodies)}  # {self._note(node)}")
            names |= {Result(node, i): o for i, o in enumerate(outs)}
        lines += [f"{inner}state({names[s.input]}, {_operand(s.output, names)})" for s in graph.states]
        results = ", ".join(_operand(v, names) for v in graph.outputs) or "()"
        return [*lines, f"{inner}return {results}{_names_note(graph.output_names)}"]

    def _input_names(self, graph: Graph) -> dict[Value, str]:
        """What each input is called in the text: its name, where Python and the rest of the text can use it."""
        taken = {i.name for i in graph.inputs} | self.sizes
        fresh = (name for n in count() if (name := f"input{n}") not in taken)
        names: dict[Value, str] = {}
        for i in graph.inputs:
            usable = i.name.isidentifier() and not iskeyword(i.name) and not VALUE_NAME.fullmatch(i.name)
            clashes = i.name in self.sizes or i.name in DTYPES or i.name in names.values()
            names[i] = i.name if usable and not clashes else next(fresh)
        return names

    def _note(self, node: Node) -> str:
        types = ", ".join(map(str, node.types))
        return f"{types}  @ {_place(node.where)}" if self.places and node.where != NOWHERE else types


DTYPES = frozenset(d.value for d in DType)


def _annotation(i: Input, name: str) -> str:
    return str(i.type) if name == i.name else f"Annotated[{i.type}, {i.name!r}]"


def _operand(v: Value, names: Mapping[Value, str]) -> str:
    match v:
        case Weight(name=text, type=type):
            return f"weight({text!r}, {type})"
        case Number(number=number, type=type):
            return f"number({attr_text(number)}, {type.dtype.value})"
    return names[v]


def _call(node: Node, names: Mapping[Value, str], bodies: Mapping[Graph, str]) -> str:
    attrs = (f"{k}={bodies[a] if isinstance(a, Graph) else attr_text(a)}" for k, a in node.attrs.items())
    args = [*(_operand(i, names) for i in node.inputs), *attrs]
    return f"{_call_name(node.op)}({', '.join(args)})"


def _names_note(names: tuple[str, ...]) -> str:
    spelled = [n if PLAIN.fullmatch(n) else repr(n) for n in names]
    return f"  # -> {', '.join(spelled)}" if names else ""


def _read_names(text: str) -> tuple[str, ...]:
    return tuple(ast.literal_eval(n) if n[0] in "'\"" else n for n in QUOTED.findall(text))


def _call_name(op: Op) -> str:
    """The op's name, with an underscore behind it where Python keeps the word for itself."""
    return f"{op.name}_" if iskeyword(op.name) else op.name


def _op_name(call: str) -> str:
    return call[:-1] if iskeyword(call[:-1]) else call


def _place(where: Where) -> str:
    """`file:line   [module]   code`, without what is empty; an empty `[]` stands before code that could be misread."""
    head = f"{where.file}:{where.line}" if where.file or where.line else ""
    unclear = where.code.startswith("[") or not (head or where.module)
    module = f"[{where.module}]" if where.module or unclear else ""
    return "   ".join(" ".join(part.splitlines()) for part in (head, module, where.code) if part)


def _read_place(text: str) -> Where:
    parts = text.split("   ")
    file, line, module = "", "0", ""
    if not parts[0].startswith("["):
        file, _, line = parts.pop(0).rpartition(":")
    if parts and parts[0].startswith("[") and parts[0].endswith("]"):
        module = parts.pop(0)[1:-1]
    return Where(file, int(line), "   ".join(parts), module)


def attr_text(a: object) -> str:
    """An attribute as Python: a number, text, element type, size, or tuple of them. Raises TypeError for others."""
    match a:
        case bool() | DType() | str():
            return repr(a)
        case int():
            return int.__repr__(a)
        case float():
            return float.__repr__(a) if math.isfinite(a) else f"float({str(float(a))!r})"
        case Expr():
            return str(a)
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
    env: dict[str, Any] = {}
    graph: Graph | None = None
    for statement in ast.parse(text).body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Call(func=ast.Name(id="size"), args=[lo, hi])):
                env[name] = named(name, ast.literal_eval(lo), ast.literal_eval(hi))
            case ast.FunctionDef():
                graph = _Reader(_comments(text), dict(env), weights or {}).function(statement, statement.name)
            case _:
                raise SyntaxError(f"line {statement.lineno}: neither a size nor a graph")
    if graph is None:
        raise SyntaxError("no graph in this text")
    return graph


def _comments(text: str) -> dict[int, str]:
    """The comment of each line, without the sign."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return {t.start[0]: t.string[1:].strip() for t in tokens if t.type == tokenize.COMMENT}


Call = tuple[tuple[TensorType, ...], dict[str, Any]]


def parse_call(text: str, sizes: Mapping[str, Dim] | None = None) -> Call:
    """What an op is called with: `"f32[batch, 8], axis=1"` is one input type and one attribute.

    Names not in `sizes` become sizes of 1 and more, one for each name.
    """
    call = ast.parse(f"call({text})", mode="eval").body
    assert isinstance(call, ast.Call)
    reader = _Reader({}, _Sizes(sizes or {}), {})
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
    def __init__(self, comments: Mapping[int, str], env: dict[str, Any], weights: Mapping[str, Array]):
        self.comments, self.env, self.weights = comments, env, weights

    def function(self, f: ast.FunctionDef, title: str) -> Graph:
        inputs = {a.arg: self.parameter(a) for a in f.args.args}
        inner = _Reader(self.comments, self.env | inputs, self.weights)
        states: list[State] = []
        for s in f.body:
            match s:
                case ast.Expr(value=ast.Call(func=ast.Name(id="state"), args=[old, new])):
                    states.append(State(inner.read(old), _value(inner.read(new), s)))
                case ast.Return(value=ast.expr() as results):
                    out = inner.read(results)
                    outs = tuple(_value(v, s) for v in (out if isinstance(out, tuple) else (out,)))
                    names = _read_names(self.comments.get(s.lineno, "").removeprefix("->"))
                    return Graph(title, tuple(inputs.values()), outs, names, tuple(states))
                case _:
                    inner.statement(s)
        raise SyntaxError(f"line {f.lineno}: {f.name} returns nothing")

    def parameter(self, a: ast.arg) -> Input:
        match a.annotation:
            case ast.Subscript(
                value=ast.Name(id="Annotated"), slice=ast.Tuple(elts=[type, ast.Constant(value=str(name))])
            ):
                return Input(name, self.tensor_type(type))
            case ast.expr() as type:
                return Input(a.arg, self.tensor_type(type))
        raise SyntaxError(f"line {a.lineno}: {a.arg} has no type")

    def statement(self, s: ast.stmt) -> None:
        place = self.comments.get(s.lineno, "").partition("  @ ")[2]
        with at(_read_place(place) if place else NOWHERE):
            match s:
                case ast.Assign(targets=[ast.Name(id=name)], value=v):
                    self.env[name] = self.read(v)
                case ast.Assign(targets=[ast.Tuple(elts=targets)], value=v):
                    self.env |= {ast.unparse(t): r for t, r in zip(targets, self.read(v), strict=True)}
                case ast.FunctionDef(name=name):
                    self.env[name] = self.function(s, re.sub(r"_\d+$", "", name))
                case _:
                    raise SyntaxError(f"line {s.lineno}: {ast.unparse(s).splitlines()[0]} has no meaning in a graph")

    def tensor_type(self, e: ast.expr) -> TensorType:
        match e:
            case ast.Subscript(value=ast.Name(id=dtype), slice=dims) if dtype in DTYPES:
                shape = dims.elts if isinstance(dims, ast.Tuple) else [dims]
                return TensorType(DType(dtype), tuple(map(self.read, shape)))
        raise SyntaxError(f"line {e.lineno}: {ast.unparse(e)} is no tensor type")

    def read(self, e: ast.expr) -> Any:
        match e:
            case ast.Name(id=name):
                return self.named(name, e)
            case ast.Constant(value=v):
                return v
            case ast.UnaryOp(op=ast.USub(), operand=o):
                return -self.read(o)
            case ast.Tuple(elts=items):
                return tuple(map(self.read, items))
            case ast.BinOp(left=left, op=o, right=right):
                return self.operator(type(o), self.read(left), self.read(right))
            case ast.Call(func=ast.Name(id="weight"), args=[ast.Constant(value=str(name)), holds]):
                return self.weight(name, self.tensor_type(holds), e)
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

    def named(self, name: str, e: ast.expr) -> Any:
        if name in DTYPES and name not in self.env:
            return DType(name)
        try:
            return self.env[name]
        except KeyError:
            raise SyntaxError(f"line {e.lineno}: there is no {name} before it") from None

    def weight(self, name: str, type: TensorType, e: ast.expr) -> Weight:
        if name not in self.weights:
            raise SyntaxError(f"line {e.lineno}: weight {name!r} is not among the {len(self.weights)} given")
        given = TensorType.of(self.weights[name])
        if given != type:
            raise SyntaxError(f"line {e.lineno}: weight {name!r} is {type} here, {given} where it is given")
        return Weight(name, type, self.weights[name])

    def operator(self, kind: type[ast.operator], a: Any, b: Any) -> Any:
        if isinstance(a, Value) or isinstance(b, Value):
            return OPS[OPERATORS[kind]](a, b)
        return SIZE_OPERATORS[kind](a, b)


def _value(v: Any, s: ast.stmt) -> Value:
    if isinstance(v, Value):
        return v
    raise SyntaxError(f"line {s.lineno}: {v!r} is no tensor")


def kernel_key(node: Node) -> str:
    """What makes two kernels the same: the text of the body, without places."""
    body = node.attrs["body"]
    return to_text(Graph("kernel", body.inputs, body.outputs), places=False)
