"""Integers, casts and half floats in C against numpy."""

import ctypes
import math
from functools import cache

import numpy as np
import pytest

from cuvil_pack.targets import TARGETS
from cuvil_pack.targets.toolchain import compile_program
from tests.kernels.native import HEADERS, RUNNABLE, Array, call, load, loop

INTEGERS = {f"{kind[0]}{bits}": np.dtype(f"{kind}{bits}") for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
FLOATS = {"f32": ("float", np.float32), "f64": ("double", np.float64)}
UNARY = {"abs": np.abs, "neg": np.negative, "sign": np.sign}
BINARY = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "floordiv": np.floor_divide,
    "mod": np.mod,
    "fmod": np.fmod,
    "min": np.minimum,
    "max": np.maximum,
    "shl": np.left_shift,
    "shr": np.right_shift,
}
HALVES = {
    "f16_to_f32": ("uint16_t", "float"),
    "f32_to_f16": ("float", "uint16_t"),
    "round_f16": ("float", "float"),
    "bf16_to_f32": ("uint16_t", "float"),
    "f32_to_bf16": ("float", "uint16_t"),
    "round_bf16": ("float", "float"),
}


def program() -> str:
    text = '#include "number.h"\n'
    for name, dtype in INTEGERS.items():
        ctype = f"{dtype}_t"
        text += "".join(loop(f"{op}_{name}", f"cv_{op}_{name}", (ctype, ctype), ctype) for op in (*BINARY, "pow"))
        text += "".join(loop(f"{op}_{name}", f"cv_{op}_{name}", (ctype,), ctype) for op in UNARY)
        text += "".join(loop(f"{f}_to_{name}", f"cv_{f}_to_{name}", (c,), ctype) for f, (c, _) in FLOATS.items())
    return text + "".join(loop(name, f"cv_{name}", (source,), result) for name, (source, result) in HALVES.items())


@cache
def library(target: str) -> ctypes.CDLL:
    return load(compile_program(program(), TARGETS[target], (HEADERS,)))


@cache
def pairs(name: str) -> tuple[Array, Array]:
    dtype = INTEGERS[name]
    limits, random = np.iinfo(dtype), np.random.default_rng(3)
    if dtype.itemsize == 1:
        every = np.arange(limits.min, limits.max + 1).astype(dtype)
        return np.repeat(every, 256), np.tile(every, 256)
    signs = (1, -1) if limits.min else (1,)
    numbers = {sign * number for number in (0, 1, 2, 3, 7, limits.max, limits.max - 1) for sign in signs} | {limits.min}
    corners = np.array(sorted(numbers), dtype)
    anything = random.integers(limits.min, limits.max, 2000, dtype, endpoint=True)
    small = random.integers(max(-20, limits.min), 20, 2000).astype(dtype)
    left = (np.repeat(corners, len(corners)), anything, anything, small)
    right = (np.tile(corners, len(corners)), small, random.permutation(anything), random.permutation(small))
    return np.concatenate(left), np.concatenate(right)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", BINARY)
def test_integers(op: str, dtype: str, target: str) -> None:
    a, b = pairs(dtype)
    got = call(library(target), f"{op}_{dtype}", a, b, dtype=a.dtype)
    if op in ("shl", "shr"):  # a negative distance is a great one
        b = np.where(b < 0, 8 * b.itemsize, b).astype(b.dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(got, BINARY[op](a, b))


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("op", UNARY)
def test_integers_of_one(op: str, dtype: str, target: str) -> None:
    a, _ = pairs(dtype)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(call(library(target), f"{op}_{dtype}", a, dtype=a.dtype), UNARY[op](a))


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_integer_powers_wrap(dtype: str, target: str) -> None:
    a, b = (numbers[:4000].copy() for numbers in pairs(dtype))
    exponents = (b % 70).astype(a.dtype)
    modulus = 2 ** (8 * a.itemsize)
    want = np.array([pow(x, n, modulus) for x, n in zip(a.tolist(), exponents.tolist(), strict=True)], np.uint64)
    np.testing.assert_array_equal(
        call(library(target), f"pow_{dtype}", a, exponents, dtype=a.dtype), want.astype(a.dtype)
    )


@pytest.mark.parametrize("target", RUNNABLE)
def test_negative_powers_of_integers_are_truncated(target: str) -> None:
    a = np.array([2, 1, -1, -1, 0, -3], np.int32)
    b = np.array([-1, -5, -2, -3, -1, -1], np.int32)
    np.testing.assert_array_equal(call(library(target), "pow_i32", a, b, dtype=np.int32), [0, 1, 1, -1, 0, 0])


@cache
def floats(dtype: str) -> Array:
    random = np.random.default_rng(5)
    edges = [
        sign * 2.0**power + off
        for sign in (1, -1)
        for power in (7, 8, 15, 16, 31, 32, 63, 64)
        for off in (-1, 0, 0.5, 1)
    ]
    special = [0.0, -0.0, 0.5, -0.5, -0.99, 1.99, -1.99, math.inf, -math.inf, math.nan, 1e38, -1e38, 1e-40]
    scaled = [random.standard_normal(500) * scale for scale in (1, 100, 1e4, 1e9, 1e18, 1e30)]
    return np.concatenate([edges, special, *scaled]).astype(FLOATS[dtype][1])


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("dtype", INTEGERS)
def test_float_to_integer(dtype: str, source: str, target: str) -> None:
    """Towards zero where the value fits; the nearest end where it does not; 0 for nan."""
    x, limits = floats(source), np.iinfo(INTEGERS[dtype])
    got = call(library(target), f"{source}_to_{dtype}", x, dtype=INTEGERS[dtype])
    want = [0 if math.isnan(v) else int(min(max(v, limits.min), limits.max)) for v in x.tolist()]
    np.testing.assert_array_equal(got, np.array(want, INTEGERS[dtype]))


@cache
def singles() -> Array:
    """Every half float, every tie between two of them, their neighbours, the ends of the range, and anything."""
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float32)
    halves = halves[np.isfinite(halves)]
    ties = (halves[:-1] + halves[1:]) / 2
    ends = np.array(
        [65504, 65519.996, 65520, 65536, 1e10, np.inf, 2.0**-25, 2.0**-25 * 1.0001, 1e-30, 1e-45], np.float32
    )
    beside = [np.nextafter(ties, np.float32(side)) for side in (-np.inf, np.inf)]
    bits = np.random.default_rng(4).integers(0, 2**32, 20_000, dtype=np.uint64).astype(np.uint32)
    return np.concatenate([halves, ties, *beside, ends, -ends, bits.view(np.float32)])


@pytest.mark.parametrize("target", RUNNABLE)
def test_f16(target: str) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    wide = call(library(target), "f16_to_f32", every, dtype=np.float32)
    np.testing.assert_array_equal(wide, every.view(np.float16).astype(np.float32))
    x = singles()
    with np.errstate(over="ignore", invalid="ignore"):
        want = x.astype(np.float16)
    got = call(library(target), "f32_to_f16", x, dtype=np.uint16)
    np.testing.assert_array_equal(got.view(np.float16), want)
    np.testing.assert_array_equal(got[x == 0] >> 15, np.signbit(x[x == 0]))
    np.testing.assert_array_equal(call(library(target), "round_f16", x, dtype=np.float32), want.astype(np.float32))


@pytest.mark.parametrize("target", RUNNABLE)
def test_bf16(target: str) -> None:
    every = np.arange(2**16, dtype=np.uint16)
    wide = call(library(target), "bf16_to_f32", every, dtype=np.float32)
    np.testing.assert_array_equal(wide.view(np.uint32), every.astype(np.uint32) << 16)
    x = singles()
    x = x[~np.isnan(x)]
    low, rest = x.view(np.uint32) >> 16, x.view(np.uint32) & 0xFFFF
    nearest = low + ((rest > 0x8000) | (rest == 0x8000) & (low % 2 == 1))
    np.testing.assert_array_equal(call(library(target), "f32_to_bf16", x, dtype=np.uint16), nearest)
    odd = np.array([np.inf, -np.inf, np.nan], np.float32)
    np.testing.assert_array_equal(call(library(target), "round_bf16", odd, dtype=np.float32), odd)
