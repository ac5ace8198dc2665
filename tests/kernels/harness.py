"""Compiles small C programs over the kernel headers for every level this CPU runs, and fences their buffers.

A fenced array ends where an unreadable page begins and starts behind a canary, so a kernel that touches a byte outside
of it either dies or is caught.
"""

import ctypes
import functools
import hashlib
import itertools
import mmap
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

HEADERS = Path(__file__).parents[2] / "cuvil_pack" / "kernels" / "cpu"
LEVELS = {
    "x86-64-v2": ("x86_64-linux-gnu", "x86_64_v2", {"sse4_2", "popcnt"}),
    "x86-64-v3": ("x86_64-linux-gnu", "x86_64_v3", {"avx2", "fma", "bmi2"}),
    "x86-64-v4": ("x86_64-linux-gnu", "x86_64_v4", {"avx512f", "avx512bw", "avx512dq", "avx512vl", "avx512cd"}),
    "aarch64": ("aarch64-linux-gnu", "generic", {"asimd"}),
}
FLAGS = ("-O3", "-mprefer-vector-width=512", "-ffp-contract=fast", "-fno-sanitize=undefined", "-fno-math-errno",
         "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-Wno-unused-function",
         "-Wno-unused-command-line-argument")  # fmt: skip
CANARY = 0xA5

Array = NDArray[Any]


def runs(level: str) -> bool:
    """Whether this CPU has every feature of `level`."""
    line = next((text for text in Path("/proc/cpuinfo").read_text().splitlines() if text.startswith("flags")), "")
    return LEVELS[level][2] <= set(line.split())


RUNNABLE = [level for level in LEVELS if runs(level)]


def command(level: str, *arguments: str) -> list[str]:
    """The compiler's command line for `level`."""
    target, cpu, _ = LEVELS[level]
    clang = [sys.executable, "-m", "ziglang", "cc", "-target", target, f"-mcpu={cpu}", *FLAGS]
    return [*clang, "-I", str(HEADERS), *arguments]


@functools.cache
def folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="cuvil-kernels-"))


@functools.cache
def build(source: str, level: str) -> Path:
    """The shared object of one C program; the compiler's messages when it refuses."""
    stem = folder() / f"{hashlib.sha256(source.encode()).hexdigest()[:16]}-{level}"
    stem.with_suffix(".c").write_text(source)
    arguments = ("-nostdlib", "-shared", "-fPIC", "-s", "-o", f"{stem}.so", f"{stem}.c")
    done = subprocess.run(command(level, *arguments), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return stem.with_suffix(".so")


def assembly(source: str, level: str) -> str:
    """The program as assembly, with the compiler's remarks about spilled registers."""
    stem = build(source, level).with_suffix("")
    subprocess.run(command(level, "-S", "-o", f"{stem}.s", f"{stem}.c"), check=True, capture_output=True)
    return stem.with_suffix(".s").read_text()


@functools.cache
def load(source: str, level: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(build(source, level)))


def call(library: ctypes.CDLL, name: str, *arguments: object) -> int:
    """Calls a C function whose parameters are pointers, int64_t or float, and whose result is int64_t if anything."""
    function = library[name]
    function.restype = ctypes.c_int64
    return int(function(*map(_argument, arguments)))


def _argument(value: object) -> object:
    match value:
        case np.ndarray():
            return ctypes.c_void_p(value.ctypes.data)
        case float():
            return ctypes.c_float(value)
        case int():
            return ctypes.c_int64(value)
        case None:
            return None
    raise TypeError(f"no C argument for {type(value).__name__}")


@contextmanager
def fenced(*arrays: Array) -> Iterator[list[Array]]:
    """Copies of the arrays, each up against an unreadable page; afterwards their canaries must be whole."""
    fences = [_Fence(array) for array in arrays]
    yield [fence.array for fence in fences]
    for fence in fences:
        fence.check()


def poison(shape: tuple[int, ...], dtype: DTypeLike = np.float32) -> Array:
    """An output buffer full of a number that no kernel computes."""
    return np.full(shape, -1.2345e30 if np.dtype(dtype).kind == "f" else 0x5A, dtype)


class _Fence:
    def __init__(self, array: Array) -> None:
        page = mmap.PAGESIZE
        pages = -(-array.nbytes // page) + 1
        self.memory = mmap.mmap(-1, (pages + 1) * page)
        self.start = pages * page - array.nbytes
        view = np.frombuffer(self.memory, np.uint8)
        view[: self.start] = CANARY
        self.array = view[self.start : pages * page].view(array.dtype).reshape(array.shape)
        self.array[...] = array
        libc = ctypes.CDLL(None, use_errno=True)
        address = ctypes.c_void_p(view.ctypes.data + pages * page)
        assert libc.mprotect(address, ctypes.c_size_t(page), mmap.PROT_READ & 0) == 0
        self.canary = view[: self.start]

    def check(self) -> None:
        assert (self.canary == CANARY).all(), "a kernel wrote in front of a buffer"


def divisions(units: int) -> list[list[tuple[int, int]]]:
    """Three ways to deal units to threads: all to one, halves to two, each to its own."""
    return [list(itertools.pairwise(edges)) for edges in ([0, units], [0, units // 2, units], range(units + 1))]


def panels(b: Array) -> Array:
    """f32[k, n] packed as f32[ceil(n / 16), k, 16]."""
    k, n = b.shape
    padded = np.zeros((k, -(-n // 16) * 16), np.float32)
    padded[:, :n] = b
    return np.ascontiguousarray(padded.reshape(k, -1, 16).transpose(1, 0, 2))


def random(*shape: int) -> Array:
    """f32 of a standard normal distribution, the same for the same shape."""
    return np.random.default_rng(shape).standard_normal(shape).astype(np.float32)


def scratch(floats: int) -> Array:
    """A poisoned buffer of at least `floats`, in whole cache lines."""
    return poison((-(-floats // 16) * 16,))


def relative_error(actual: Array, expected: Array) -> float:
    """Frobenius norm of the difference, relative to the expected one's."""
    difference = np.linalg.norm((actual.astype(np.float64) - expected).ravel())
    return float(difference / max(float(np.linalg.norm(expected.ravel())), 1e-30))
