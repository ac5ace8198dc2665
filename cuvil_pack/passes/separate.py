"""Give each output memory of its own."""

from __future__ import annotations

from ..ir.graph import Graph, Input, Number, Result, Value
from ..ops.kernel import kernel
from .fuse import memory


def separate(graph: Graph) -> Graph:
    """Copy an output that is an input, a constant, or shares memory with another. The last pass: equal copies stay.

    Given:
        def f(x: f32[4]):
            return x, x
    Result:
        def f(x: f32[4]):
            def copy_0(p0: f32[4]):
                return p0
            v0 = kernel(x, body=copy_0)  # f32[4]
            v1 = kernel(x, body=copy_0)  # f32[4]
            return v0, v1
    """
    taken: set[Value] = set()
    new: list[Value] = []
    for output in graph.outputs:
        root = memory(output)
        if isinstance(root, Result) and root not in taken:
            taken.add(root)
            new.append(output)
            continue
        new.append(_copy(output))
    return Graph(graph.name, graph.inputs, tuple(new), graph.output_names, graph.states)


def _copy(value: Value) -> Value:
    if isinstance(value, Number):
        body = Graph("constant", (), (value,))
        result: Value = kernel.node(body=body)
        return result
    p = Input("p0", value.type)
    copied: Value = kernel.node(value, body=Graph("copy", (p,), (p,)))
    return copied
