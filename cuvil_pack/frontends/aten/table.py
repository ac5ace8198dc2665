"""The table of ATen: operator name -> function that builds what it means out of IR ops."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from ...ir.graph import OPS, Op

Translate = Callable[..., Any]
Declared = TypeVar("Declared", bound=Translate)
TABLE: dict[str, Translate] = {}


class Refused(Exception):
    """A known operator is used in a way that the IR cannot say; the text says which."""


def aten(*names: str) -> Callable[[Declared], Declared]:
    """Declare what `aten.<name>` means, for every overload that the table does not name as `<name>.<overload>`.

    The function takes the operator's arguments: values for tensors, dims for sizes, a DType for an element type.
    A parameter `result` receives the type of torch's (first) result. Device, layout and memory format are left out.
    """

    def declare(f: Declared) -> Declared:
        TABLE.update(dict.fromkeys(names, f))
        return f

    return declare


def find(name: str) -> Translate | None:
    """The function for `conv2d.padding`: by its full name, else by the name without the overload."""
    return TABLE.get(name) or TABLE.get(name.partition(".")[0])


def wants_result(f: Translate) -> bool:
    return "result" in inspect.signature(f).parameters


def need(name: str) -> Op:
    """An op that not every version of the op set has."""
    if name not in OPS:
        raise Refused(f"the op set has no {name}")
    return OPS[name]
