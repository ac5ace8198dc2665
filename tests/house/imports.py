"""Who imports whom, read from the source: modules, the rooms they stand in, and the picture of it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = {
    "cuvil_pack": ROOT / "cuvil_pack",
    "cuvil_runtime": ROOT / "runtime" / "cuvil_runtime",
    "cuvil_schema": ROOT / "schemas" / "cuvil_schema",
}

Edges = Mapping[str, set[str]]


@cache
def modules() -> dict[str, Path]:
    """Every module of the distribution by its dotted name."""
    found = {}
    for package, folder in PACKAGES.items():
        for file in sorted(folder.rglob("*.py")):
            parts = (package, *file.relative_to(folder).with_suffix("").parts)
            found[".".join(parts).removesuffix(".__init__")] = file
    return found


@cache
def imports() -> dict[str, frozenset[str]]:
    """Each module -> what it imports, inside functions too; modules of the distribution by their full names."""
    return {name: frozenset(_imported(name, file)) for name, file in modules().items()}


def _imported(name: str, file: Path) -> Iterator[str]:
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text())):
        match node:
            case ast.Import():
                yield from (alias.name for alias in node.names)
            case ast.ImportFrom():
                base = package.rsplit(".", node.level - 1)[0] if node.level else ""
                module = ".".join(filter(None, (base, node.module)))
                for alias in node.names:
                    inner = f"{module}.{alias.name}"
                    yield inner if inner in modules() else module


def room(module: str) -> str:
    """The part of the house a module stands in: a folder or file of cuvil_pack, or one of the other packages."""
    package, _, rest = module.partition(".")
    return rest.partition(".")[0] if package == "cuvil_pack" and rest else package


def rooms() -> dict[str, set[str]]:
    """Which room imports from which."""
    edges: dict[str, set[str]] = {room(m): set() for m in modules()}
    for module, targets in imports().items():
        edges[room(module)] |= {room(t) for t in targets if t in modules()} - {room(module)}
    return edges


def outside() -> set[str]:
    """Packages from elsewhere that anything here imports."""
    from sys import stdlib_module_names

    found = {t.partition(".")[0] for targets in imports().values() for t in targets if t not in modules()}
    return {f for f in found if f not in stdlib_module_names and f not in PACKAGES and f != "_typeshed"}


def siblings(package: str) -> dict[str, set[str]]:
    """The children of a package, and which of them import from which."""
    inside = f"{package}."
    edges: dict[str, set[str]] = {}
    for module, targets in imports().items():
        if not module.startswith(inside):
            continue
        child = _child(module, inside)
        found = {_child(t, inside) for t in targets if t.startswith(inside)}
        edges.setdefault(child, set()).update(found - {child})
    return edges


def _child(module: str, inside: str) -> str:
    return module.removeprefix(inside).partition(".")[0]


def ordered(edges: Edges) -> list[str]:
    """Every room before those it imports from. Raises CycleError where that cannot be."""
    return list(TopologicalSorter({k: sorted(v) for k, v in sorted(edges.items())}).static_order())[::-1]


def picture() -> str:
    """A line for each room, importers first: the room, and after the arrow what it imports from."""
    edges = rooms()
    order = ordered(edges)
    width = max(map(len, order))
    return "\n".join(f"{name:<{width}} -> {_listed(edges[name], order)}".rstrip(" ->") for name in order)


def _listed(names: Iterable[str], order: list[str]) -> str:
    return " ".join(sorted(names, key=order.index))
