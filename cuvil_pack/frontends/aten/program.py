"""A `torch.export.ExportedProgram` as a graph: each node is looked up in the table and said with the ops of the IR."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import UnsupportedOps
from ...ir.graph import Graph, Input, Value, Weight, Where, at
from ...ir.size import Dim
from ...ir.types import DType, TensorType
from .names import identifiers
from .operand import dimension, literal, number_type
from .places import where_of
from .sizes import dim_of, dtype_of, type_of
from .table import Refused, find, wants_result

IGNORED = {"device", "layout", "pin_memory", "memory_format", "non_blocking", "copy", "requires_grad", "generator"}
INLINED = {"wrap_with_set_grad_enabled": 1, "wrap_with_autocast": 4}


class Missing:
    """Stands for the result of a node that could not be said."""


MISSING = Missing()


@dataclass
class Translation:
    """What is known while a program is read: torch's symbols, and what cannot be said."""

    names: Mapping[str, Dim]
    constants: Mapping[str, Value] = field(default_factory=dict)
    refused: list[tuple[str, str, Where]] = field(default_factory=list)

    def refuse(self, name: str, why: str, where: Where) -> Missing:
        self.refused.append((name, why, where))
        return MISSING


def translate(program: Any, names: Mapping[str, Dim], output_names: Sequence[str], title: str) -> Graph:
    """The graph `main` of an exported program; `names` gives torch's symbols as sizes.

    Raises UnsupportedOps that lists every operator that cannot be said.
    """
    state = Translation(names)
    env, inputs = _placeholders(program, state)
    _run(program.graph_module, env, state)
    outputs = _outputs(program, env, state)
    if state.refused:
        raise UnsupportedOps(title, state.refused)
    kept = [(n, o) for n, o in zip(output_names, outputs, strict=True) if isinstance(o, Value)]
    return Graph("main", tuple(inputs), tuple(o for _, o in kept), tuple(n for n, _ in kept))


def _placeholders(program: Any, state: Translation) -> tuple[dict[Any, Any], list[Input]]:
    """What each placeholder stands for, and the inputs of the graph in order."""
    env: dict[Any, Any] = {}
    inputs: list[Input] = []
    weights = Weights()
    nodes = [n for n in program.graph.nodes if n.op == "placeholder"]
    names = identifiers(n.name for n in nodes)
    for node, name, spec in zip(nodes, names, program.graph_signature.input_specs, strict=True):
        try:
            env[node] = _placeholder(node, name, spec, program, weights, state)
        except Refused as e:
            env[node] = state.refuse(spec.target or node.name, str(e), Where(module=spec.target or ""))
        if isinstance(env[node], Input):
            inputs.append(env[node])
    return env, inputs


def _placeholder(node: Any, name: str, spec: Any, program: Any, weights: Weights, state: Translation) -> Any:
    if spec.kind.name == "USER_INPUT":
        value = node.meta.get("val")
        if not hasattr(value, "dtype"):
            return spec.arg.value if hasattr(spec.arg, "value") else MISSING
        return Input(name, type_of(value, state.names))
    if spec.kind.name == "TOKEN":
        return MISSING
    if spec.kind.name not in ("PARAMETER", "BUFFER", "CONSTANT_TENSOR"):
        raise Refused(f"a placeholder of kind {spec.kind.name.lower()}")
    if spec.target in program.constants:
        return weights.value(spec.target, program.constants[spec.target])
    return weights.value(spec.target, program.state_dict[spec.target])


class Weights:
    """Tensors of the model as weights. Those that share memory are one, under the first name."""

    def __init__(self) -> None:
        self.seen: dict[Any, Weight] = {}

    def value(self, name: str, tensor: Any) -> Value:
        """A weight, or a number where the tensor is a constant of rank 0. No element is copied."""
        dtype = _weight_type(name, tensor)
        tensor = tensor.detach()
        if tensor.dim() == 0:
            return literal(tensor.item(), dtype)
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), dtype)
        if key not in self.seen or not tensor.numel():
            array = tensor.numpy()
            self.seen[key] = Weight(name, TensorType(dtype, tuple(array.shape)), array)
        return self.seen[key]


def _weight_type(name: str, tensor: Any) -> DType:
    if str(tensor.dtype) == "torch.bfloat16":
        raise Refused(f"{name} is bfloat16: convert the module with module.float() first")
    return dtype_of(tensor.dtype)


def _run(module: Any, env: dict[Any, Any], state: Translation) -> None:
    """Translate every node that an output needs, in order."""
    for node in _live(module.graph):
        if node.op == "get_attr":
            env[node] = getattr(module, node.target, MISSING)
        elif node.op == "call_function":
            env[node] = call(node, env, state)


def _live(graph: Any) -> list[Any]:
    """The nodes that the outputs depend on: assertions on sizes and the like are not among them."""
    nodes = list(graph.nodes)
    needed = {n for n in nodes if n.op == "output"}
    for node in reversed(nodes):
        if node in needed:
            needed.update(node.all_input_nodes)
    return [n for n in nodes if n in needed]


def call(node: Any, env: dict[Any, Any], state: Translation) -> Any:
    where = where_of(node.meta)
    try:
        args = _argument(node.args, env)
        kwargs = {k: _argument(v, env) for k, v in node.kwargs.items() if k not in IGNORED}
        if any(isinstance(a, Missing) for a in _leaves((args, tuple(kwargs.values())))):
            return _unknown_too(node, state, where)
        with at(where):
            result = _translated(node, args, kwargs, state)
        _check(result, node.meta.get("val"), state)
        return result
    except Refused as e:
        return state.refuse(name_of(node.target), str(e), where)
    except TypeError as e:
        return state.refuse(name_of(node.target), str(e).partition("\n")[0], where)


def _unknown_too(node: Any, state: Translation, where: Where) -> Missing:
    """A node behind one that could not be said is listed only where it has no translation of its own."""
    known = find(name_of(node.target)) or not hasattr(node.target, "_schema")
    return MISSING if known else state.refuse(name_of(node.target), "", where)


def _translated(node: Any, args: Any, kwargs: dict[str, Any], state: Translation) -> Any:
    name, value = name_of(node.target), node.meta.get("val")
    if name == "getitem":
        return _item(args[0], args[1])
    if name in INLINED:
        return _inline(args[INLINED[name]], args[INLINED[name] + 1 :], state)
    if type(value).__name__ == "SymInt" or isinstance(value, int):
        return args[0].type.shape[args[1]] if name.startswith("sym_size") else dim_of(value, state.names)
    f = find(name) if hasattr(node.target, "_schema") else None
    if f is None:
        raise Refused("")
    if wants_result(f):
        return f(*args, **kwargs, result=type_of(_first(value), state.names))
    return f(*args, **kwargs)


def _item(values: Sequence[Any], n: int) -> Any:
    if n >= len(values):
        raise Refused("its second result, such as the indices of a pooling")
    return values[n]


def _inline(module: Any, args: Sequence[Any], state: Translation) -> Any:
    """The results of a submodule that torch wraps in a mode (no gradients, autocast) that changes nothing here."""
    inner = dict(zip((n for n in module.graph.nodes if n.op == "placeholder"), args, strict=True))
    _run(module, inner, state)
    (output,) = (n for n in module.graph.nodes if n.op == "output")
    return _argument(output.args[0], inner)


def name_of(target: Any) -> str:
    """`add.Tensor` for `torch.ops.aten.add.Tensor`, `my.op` for another namespace, `getitem` for a Python function."""
    if not hasattr(target, "_schema"):
        return str(getattr(target, "__name__", target))
    return str(target).removeprefix("aten.").removesuffix(".default")


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list | tuple) else value


def _argument(a: Any, env: Mapping[Any, Any]) -> Any:
    """An argument with nodes replaced by what they stand for."""
    if isinstance(a, list | tuple):
        return tuple(_argument(x, env) for x in a)
    if type(a).__name__ == "Node":
        return env[a]
    return dtype_of(a) if type(a).__name__ == "dtype" else a


def _leaves(x: Any) -> Iterator[Any]:
    if not isinstance(x, tuple):
        yield x
        return
    for item in x:
        yield from _leaves(item)


def _check(result: Any, value: Any, state: Translation) -> None:
    """The element type, the rank and the known sizes are those torch has."""
    if not isinstance(result, Value) or not hasattr(value, "dtype"):
        return
    wanted = type_of(value, state.names)
    same = result.type.dtype is wanted.dtype and result.type.rank == wanted.rank
    numbers = zip(result.type.shape, wanted.shape, strict=False)
    if not same or any(a != b for a, b in numbers if isinstance(a, int) and isinstance(b, int)):
        raise Refused(f"it is read as {result.type}, and torch has {wanted}")


def _outputs(program: Any, env: Mapping[Any, Any], state: Translation) -> list[Value | None]:
    """The values the user gets; None stands for what is no tensor. A buffer that the program changes is refused."""
    (node,) = (n for n in program.graph.nodes if n.op == "output")
    results: list[Value | None] = []
    for result, spec in zip(node.args[0], program.graph_signature.output_specs, strict=True):
        if spec.kind.name == "USER_OUTPUT":
            results.append(_output(_argument(result, env), state))
        elif not _unchanged(spec, result, program):
            why = f"the model changes {spec.target} as it runs: state between calls is not packed yet"
            state.refuse(f"write to {spec.target}", why, where_of(result.meta))
    return results


def _unchanged(spec: Any, result: Any, program: Any) -> bool:
    return bool(getattr(result, "op", "") == "placeholder" and result.target == _placeholder_of(spec.target, program))


def _placeholder_of(target: str, program: Any) -> str | None:
    return next((str(s.arg.name) for s in program.graph_signature.input_specs if s.target == target), None)


def _output(result: Any, state: Translation) -> Value | None:
    if isinstance(result, Value):
        return result
    if isinstance(result, bool | float):
        return literal(result, number_type(result))
    if isinstance(result, Dim):
        return dimension(result)
    return None
