"""Group ops into kernels: each is one heavy op with what can be computed around it, or a chain of light ops."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from ..ir.graph import Graph, Input, Node, Number, Result, Value, Where, at
from ..ir.rewrite import use_counts
from ..kernels.lower import is_costly
from ..kernels.strides import is_view
from ..kernels.template import reads_through
from ..ops.kernel import kernel

LIMIT = 48


@dataclass(eq=False)
class Group:
    """Ops that will be one kernel; `root` is the node whose result leaves it."""

    nodes: list[Node]
    root: Node
    heavy: Node | None = None
    rows: bool = False
    reads: set[Value] = field(default_factory=set)


def fuse(graph: Graph) -> Graph:
    """Put every op into a kernel; reshapes between kernels stay, as they move nothing.

    Given:
        def f(x: f32[4, 8], w: f32[8, 16], b: f32[16]):
            v0 = matmul(x, w)  # f32[4, 16]
            v1 = add(v0, b)  # f32[4, 16]
            v2 = relu(v1)  # f32[4, 16]
            return v2
    Result:
        def f(x: f32[4, 8], w: f32[8, 16], b: f32[16]):
            def matmul_add_relu_0(p0: f32[4, 8], p1: f32[8, 16], p2: f32[16]):
                v0 = matmul(p0, p1)  # f32[4, 16]
                v1 = add(v0, p2)  # f32[4, 16]
                v2 = relu(v1)  # f32[4, 16]
                return v2
            v0 = kernel(x, w, b, body=matmul_add_relu_0)  # f32[4, 16]
            return v0
    """
    return _Grouping(graph).fused()


class _Grouping:
    """Groups while they form. `of` tells the group whose root a node is."""

    def __init__(self, graph: Graph):
        self.graph = graph
        self.uses: Counter[Value] = use_counts(graph)
        self.of: dict[Node, Group] = {}
        self.order: list[Group] = []

    def fused(self) -> Graph:
        wanted = self._materialized()
        for node in self.graph.nodes():
            if is_view(node) and Result(node) not in wanted:
                continue
            self._place(node)
        return self._build()

    # -- which views must exist in memory

    def _materialized(self) -> set[Value]:
        """Results of views that some reader cannot see through, and those that leave the graph."""
        wanted: set[Value] = set(self.graph.roots)
        for node in self.graph.nodes():
            if is_view(node):
                continue
            wanted |= {v for n, v in enumerate(node.inputs) if _is_view_result(v) and not reads_through(node, n)}
        return {memory(v) for v in wanted if _is_view_result(v)}

    # -- where a node goes

    def _place(self, node: Node) -> None:
        host = self._host(node)
        if host is None:
            group = Group([node], node, node if node.op.anchor or node.op.element is None else None)
            group.rows = _is_rows(node)
            self.order.append(group)
        else:
            group = host
            group.nodes += [*self._chain(host.root, node), node]
            self.order.remove(group)
            self.order.append(group)
            del self.of[group.root]
            group.root = node
        self._absorb(group, node)
        self.of[node] = group

    def _host(self, node: Node) -> Group | None:
        """The group that computes `node` on the way out: the latest heavy one whose result only `node` reads."""
        if len(node.types) != 1 or not (node.op.elementwise or (is_view(node) and node.op.forward is not None)):
            return None
        hosts = [g for v in node.inputs if (g := self._extendable(v, node)) is not None]
        return max(hosts, key=self.order.index, default=None)

    def _extendable(self, value: Value, node: Node) -> Group | None:
        """The heavy group that `value` comes out of, seen through views that can be undone."""
        last = value
        while isinstance(value, Result) and value.node not in self.of:
            if self.uses[value] != 1 or not is_view(value.node) or value.node.op.forward is None:
                return None
            value = value.node.inputs[0]
        if not isinstance(value, Result) or self.uses[value] != 1:
            return None
        group = self.of[value.node]
        if group.heavy is None or len(group.nodes) >= LIMIT or not _takes_after(group.heavy, node):
            return None
        if node.op.elementwise and last.type.shape != node.types[0].shape and not self._widens(group, value, node):
            return None
        if node.op.elementwise and _total_uses(node, last) != 1:
            return None
        return group

    def _widens(self, group: Group, value: Value, node: Node) -> bool:
        """Whether a row's reduction may be spread over that row again in one kernel."""
        if group.heavy is None or group.heavy.op.name != "reduce" or value.type.rank != node.types[0].rank:
            return False
        axes = group.heavy.attrs["axes"]
        return _trailing(axes, value.type.rank) and group.heavy.inputs[0].type.shape == node.types[0].shape

    def _chain(self, root: Node, node: Node) -> list[Node]:
        """The views between the root of a group and a node that joins it."""
        for value in node.inputs:
            chain: list[Node] = []
            while isinstance(value, Result) and value.node is not root and self._is_open_view(value.node):
                chain.append(value.node)
                value = value.node.inputs[0]
            if isinstance(value, Result) and value.node is root:
                return chain[::-1]
        return []

    def _is_open_view(self, node: Node) -> bool:
        """Whether a node is a view that is not put in memory."""
        return is_view(node) and node not in self.of

    def _absorb(self, group: Group, node: Node) -> None:
        """Take in light groups whose result only this node reads: they are computed where they are needed."""
        if group.heavy is node and not _takes_light(node):
            return
        for value in dict.fromkeys(node.inputs):
            source = value
            while isinstance(source, Result) and source.node not in self.of and is_view(source.node):
                if self.uses[source] != 1:
                    break
                source = source.node.inputs[0]
            if not isinstance(source, Result) or self.uses[source] != 1 or source.node not in self.of:
                continue
            light = self.of[source.node]
            if light is group or light.heavy is not None or len(light.nodes) + len(group.nodes) > LIMIT:
                continue
            if group.heavy is not None and group.rows and any(map(is_costly, light.nodes)):
                continue
            if not node.op.elementwise and any(map(is_costly, light.nodes)) and not is_view(node):
                continue
            group.nodes = [*light.nodes, *group.nodes]
            self.order.remove(light)
            del self.of[source.node]

    # -- bodies

    def _build(self) -> Graph:
        new: dict[Value, Value] = {}

        def outer(value: Value) -> Value:
            """What stands for a value outside: a kernel's result, or a reshape of one."""
            if value in new or not isinstance(value, Result):
                return new.get(value, value)
            node = value.node
            new[value] = node.op(outer(node.inputs[0]), **node.attrs)
            return new[value]

        for group in sorted(self.order, key=_Position(self.graph)):
            body, arguments = self._body(group)
            with at(_place_of(group)):
                made = kernel.node(*map(outer, arguments), body=body)
            results = made if isinstance(made, tuple) else (made,)
            new |= {Result(group.root, i): r for i, r in enumerate(results)}
        return self.graph.with_outputs({r: outer(r) for r in self.graph.roots})

    def _in_memory(self, value: Value) -> bool:
        """Whether the elements of a value lie in order somewhere: a kernel computes it, or what it is a reshape of."""
        root = memory(value)
        return not isinstance(root, Result) or root.node in self.of

    def _body(self, group: Group) -> tuple[Graph, list[Value]]:
        """The graph of a group, and the outer values that are its inputs."""
        members = set(group.nodes)
        inner: dict[Value, Value] = {}
        outer: dict[Value, Input] = {}

        def read(value: Value) -> Value:
            if value in inner or isinstance(value, Number):
                return inner.get(value, value)
            if isinstance(value, Result) and value.node not in members and not self._in_memory(value):
                inner[value] = value.node.op(read(value.node.inputs[0]), **value.node.attrs)
                return inner[value]
            return outer.setdefault(value, Input(f"p{len(outer)}", value.type))

        for node in group.nodes:
            with at(node.where):
                made = node.op.node(*map(read, node.inputs), **node.attrs)
            results = made if isinstance(made, tuple) else (made,)
            inner |= {Result(node, i): r for i, r in enumerate(results)}
        outputs = tuple(inner[Result(group.root, i)] for i in range(len(group.root.types)))
        names = dict.fromkeys(n.op.name for n in group.nodes if not is_view(n))
        name = "_".join(names or [group.root.op.name])[:60].rstrip("_")
        return Graph(name, tuple(outer.values()), outputs), list(outer)


class _Position:
    """Sort key: where the root of a group stands in the graph."""

    def __init__(self, graph: Graph):
        self.order = {n: i for i, n in enumerate(graph.nodes())}

    def __call__(self, group: Group) -> int:
        return self.order[group.root]


def _is_view_result(value: Value) -> bool:
    return isinstance(value, Result) and is_view(value.node)


def memory(value: Value) -> Value:
    """A reshape lies where its source does."""
    while isinstance(value, Result) and value.node.op.name == "reshape":
        value = value.node.inputs[0]
    return value


def _total_uses(node: Node, value: Value) -> int:
    return sum(v == value for v in node.inputs)


def _takes_after(heavy: Node, node: Node) -> bool:
    """Whether a heavy op's kernel can go on with a node: whole rows are not torn apart, attention only stores."""
    if heavy.op.name == "attention":
        return is_view(node)
    return not (is_view(node) and (_is_rows(heavy) or heavy.op.name == "reduce"))


def _is_rows(node: Node) -> bool:
    """Whether the node reads a row of its input several times."""
    return node.op.element is None and node.op.decompose is not None and not node.op.anchor


def _trailing(axes: tuple[int, ...], rank: int) -> bool:
    return sorted(axes) == list(range(rank - len(axes), rank))


def _takes_light(node: Node) -> bool:
    return _is_rows(node) or node.op.name in ("reduce", "pool")


def _place_of(group: Group) -> Where:
    return (group.heavy or group.root).where
