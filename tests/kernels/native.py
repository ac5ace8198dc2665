"""Loads compiled programs into this process, and calls loops in them on arrays."""

import ctypes
import os
from pathlib import Path

import numpy as np
from numpy.typing import DTypeLike, NDArray

import cuvil_pack
from cuvil_pack.targets import TARGETS

Array = NDArray[np.generic]
HEADERS = Path(cuvil_pack.__path__[0]) / "kernels" / "cpu"

_DESCRIPTORS: list[int] = []


def load(program: bytes) -> ctypes.CDLL:
    """The program's descriptor stays open: the dynamic linker knows a library by its path, which names it."""
    descriptor = os.memfd_create("program")
    _DESCRIPTORS.append(descriptor)
    with os.fdopen(descriptor, "wb", closefd=False) as file:
        file.write(program)
    return ctypes.CDLL(f"/proc/self/fd/{descriptor}")


def runs(name: str) -> bool:
    """Whether this CPU has every feature of the target."""
    flags = next((line for line in Path("/proc/cpuinfo").read_text().splitlines() if line.startswith("flags")), "")
    return set(TARGETS[name].features) <= set(flags.split())


RUNNABLE = [name for name in TARGETS if runs(name)]


def loop(name: str, function: str, arguments: tuple[str, ...], result: str) -> str:
    """C for an exported loop that applies a function of scalars to arrays of these C types."""
    parameters = ", ".join(f"const {ctype} *x{index}" for index, ctype in enumerate(arguments))
    values = ", ".join(f"x{index}[i]" for index in range(len(arguments)))
    return (
        f'__attribute__((visibility("default"))) void {name}({parameters}, {result} *y, int64_t n) '
        f"{{ for (int64_t i = 0; i < n; ++i) y[i] = {function}({values}); }}\n"
    )


def call(library: ctypes.CDLL, name: str, *arguments: Array, dtype: DTypeLike) -> Array:
    """What an exported loop makes of arrays of one shape."""
    result = np.empty(arguments[0].shape, dtype)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in (*arguments, result)]
    getattr(library, name)(*pointers, ctypes.c_int64(result.size))
    return result
