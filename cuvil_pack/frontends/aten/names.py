"""Names of inputs, outputs and sizes: identifiers that the text of a graph can hold, each once."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable
from typing import Any

from ...ir.types import DType

NODE = re.compile(r"v\d+(_\d+)?")


def identifiers(names: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """Each name with every odd character as `_`, and `_2`, `_3`, … behind it where it is taken.

    A name that Python, an element type or a node of the text form claims gets a `_` behind it.
    """
    seen = set(taken)
    result = []
    for name in names:
        plain = re.sub(r"\W", "_", name, flags=re.ASCII)
        if not plain or plain[0].isdigit():
            plain = f"_{plain}"
        if keyword.iskeyword(plain) or NODE.fullmatch(plain) or plain in DType.__members__.values():
            plain += "_"
        unique, n = plain, 2
        while unique in seen:
            unique, n = f"{plain}_{n}", n + 1
        seen.add(unique)
        result.append(unique)
    return result


def output_names(spec: Any) -> list[str]:
    """A name for each leaf of a torch pytree: its keys and positions joined by `_`.

    `output` for a single tensor, `output0`, `output1`, … for a tuple, `last_hidden_state` for a field or a key,
    `past_0_key` for what lies deeper.
    """
    from torch.utils import _pytree as pytree

    leaves, _ = pytree.tree_flatten_with_path(pytree.tree_unflatten(list(range(spec.num_leaves)), spec))
    return identifiers(map(_joined, (path for path, _ in leaves)))


def _joined(path: Iterable[Any]) -> str:
    text = "_".join(str(_key(k)) for k in path)
    return f"output{text}" if not text or text[0].isdigit() else text


def _key(k: Any) -> Any:
    return next(getattr(k, a) for a in ("key", "idx", "name") if hasattr(k, a))
