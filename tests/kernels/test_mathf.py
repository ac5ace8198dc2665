"""Functions of floats in C against numpy: ulps over the whole range, special values, and vector code."""

import ctypes
import math
import re
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from cuvil_pack.targets import TARGETS
from cuvil_pack.targets.elf import check_object
from cuvil_pack.targets.toolchain import assembly, compile_program
from tests.kernels.native import HEADERS, RUNNABLE, Array, call, load, loop

FLOATS = {"f32": ("float", "f"), "f64": ("double", "")}
NARROW = {"f32": np.float32, "f64": np.float64}
WIDER = {"f32": np.float64, "f64": np.longdouble}
DTYPES = [
    "f32",
    pytest.param("f64", marks=pytest.mark.skipif(np.finfo(np.longdouble).nmant < 63, reason="no reference")),
]


def sigmoid(x: Array) -> Array:
    e = np.exp(-np.abs(x))
    return np.where(x >= 0, 1 / (1 + e), e / (1 + e))


def by_element(function: Callable[[float], float]) -> Callable[[Array], Array]:
    return np.vectorize(lambda x: function(float(x)), otypes=[np.float64])


# The meaning of each function, and how many units in the last place an f32 and an f64 may be off.
UNARY: dict[str, tuple[Callable[[Array], Array], float, float]] = {
    "exp": (np.exp, 1.1, 1.2),
    "exp2": (np.exp2, 1.5, 1.5),
    "expm1": (np.expm1, 1.6, 1.8),
    "log": (np.log, 1.0, 1.0),
    "log2": (np.log2, 2.0, 1.0),
    "log10": (np.log10, 2.0, 1.0),
    "log1p": (np.log1p, 1.6, 1.6),
    "tanh": (np.tanh, 1.6, 2.6),
    "sigmoid": (sigmoid, 2.5, 2.5),
    "erf": (by_element(math.erf), 1.6, 2.0),
    "erfc": (by_element(math.erfc), 0.6, 5.5),  # the reference itself is off by 2
    "sin": (np.sin, 0.6, 1.0),
    "cos": (np.cos, 0.6, 1.0),
    "tan": (np.tan, 0.6, 2.3),
    "asin": (np.arcsin, 0.6, 2.6),
    "acos": (np.arccos, 0.6, 2.6),
    "atan": (np.arctan, 0.6, 2.0),
    "sinh": (np.sinh, 0.6, 2.4),
    "cosh": (np.cosh, 0.6, 1.6),
    "asinh": (np.arcsinh, 0.6, 2.0),
    "acosh": (np.arccosh, 0.6, 2.5),
    "atanh": (np.arctanh, 0.6, 2.3),
    "sqrt": (np.sqrt, 0.5, 0.501),
    "rsqrt": (lambda x: 1 / np.sqrt(x), 1.6, 1.6),
    "floor": (np.floor, 0, 0),
    "ceil": (np.ceil, 0, 0),
    "rint": (np.rint, 0, 0),
    "trunc": (np.trunc, 0, 0),
    "abs": (np.abs, 0, 0),
    "sign": (np.sign, 0, 0),
}
BINARY: dict[str, tuple[Callable[[Array, Array], Array], float, float]] = {
    "atan2": (np.arctan2, 0.6, 2.0),
    "pow": (np.power, 0.6, 1.5),
    "fmod": (np.fmod, 0, 0),
    "mod": (np.mod, 0, 0),
    "floordiv": (np.floor_divide, 0, 0),
    "max": (np.maximum, 0, 0),
    "min": (np.minimum, 0, 0),
    "copysign": (np.copysign, 0, 0),
}
PREDICATES = {"isnan": np.isnan, "isinf": np.isinf}

SPECIAL = np.array([
    0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 4.5, 5.5, -4.5, 7, 9, 10.05, 27, 1e5, 1e10, -1e10, 1e22, 1e-10,
    math.inf, -math.inf, math.nan, 1e-45, -1e-45, 1e-40, 5e-324, 1.17549435e-38, 2.2e-308, 3.4e38, -3.4e38, 1.7e308,
    -1.7e308, 88.7, 89, -87.3, -88, -103.9, -104, 128, 127.99, -126, -149, -150, 709.7, 709.9, 710.4, -745, -746, 1023,
    1024, -1074, -1075, 0.9999999, 1.0000001, -0.9999999, math.pi, math.pi / 2, 8388609, 16777216, 33554432,
    2.0**62 * 3, 6381956970095103 * 2.0**797,
])  # fmt: skip
SCALES = (1e-3, 0.1, 1, 3, 10, 30, 100, 700, 1e5, 1e9)


def program() -> str:
    text = '#include "mathf.h"\n'
    for dtype, (ctype, suffix) in FLOATS.items():
        text += "".join(loop(f"{name}_{dtype}", f"cv_{name}{suffix}", (ctype,), ctype) for name in UNARY)
        text += "".join(loop(f"{name}_{dtype}", f"cv_{name}{suffix}", (ctype, ctype), ctype) for name in BINARY)
        text += "".join(loop(f"{name}_{dtype}", f"cv_{name}{suffix}", (ctype,), "uint8_t") for name in PREDICATES)
    return text


@cache
def library(target: str) -> ctypes.CDLL:
    return load(compile_program(program(), TARGETS[target], (HEADERS,)))


def narrowed(x: Array, dtype: str) -> Array:
    with np.errstate(over="ignore"):
        return x.astype(NARROW[dtype])


def any_bits(dtype: str, count: int, random: np.random.Generator) -> Array:
    narrow = NARROW[dtype]
    words = random.integers(0, 2 ** (8 * narrow().itemsize), count, dtype=np.uint64).astype(f"u{narrow().itemsize}")
    x = words.view(narrow)
    return np.where(np.isnan(x), narrow(math.nan), x)


@cache
def samples(dtype: str) -> Array:
    random = np.random.default_rng(1)
    parts = [SPECIAL, *(random.standard_normal(2_000) * scale for scale in SCALES)]
    parts += [random.uniform(-1, 1, 5_000), 1 + 0.05 * random.standard_normal(2_000), random.uniform(-12, 12, 5_000)]
    return np.concatenate([*(narrowed(part, dtype) for part in parts), any_bits(dtype, 5_000, random)])


@cache
def pairs(dtype: str) -> tuple[Array, Array]:
    random, x, special = np.random.default_rng(2), samples(dtype), narrowed(SPECIAL, dtype)
    left = [np.repeat(special, len(special)), random.permutation(x)]
    right = [np.tile(special, len(special)), random.permutation(x)]
    for (low, high), (least, most) in (((0, 20), (-20, 20)), ((0.9, 1.1), (-300, 300)), ((-1e6, 1e6), (-10, 10))):
        left.append(narrowed(random.uniform(low, high, 5_000), dtype))
        right.append(narrowed(random.uniform(least, most, 5_000), dtype))
    return np.concatenate(left), np.concatenate(right)


@cache
def exact_unary(name: str, dtype: str) -> Array:
    with np.errstate(all="ignore"):
        return UNARY[name][0](samples(dtype).astype(WIDER[dtype]))


@cache
def exact_binary(name: str, dtype: str) -> Array:
    function, off, _ = BINARY[name]
    wide = WIDER[dtype] if off else NARROW[dtype]
    x, y = pairs(dtype)
    with np.errstate(all="ignore"):
        return function(x.astype(wide), y.astype(wide))


def ulps(got: Array, exact: Array) -> Array:
    """Distances in units in the last place of `got`; infinite where nan, infinity or the sign of zero differ."""
    with np.errstate(all="ignore"):
        want = exact.astype(got.dtype)
        same = (got == want) & ((np.signbit(got) == np.signbit(want)) | (got != 0)) | np.isnan(got) & np.isnan(want)
        comparable = np.isfinite(got) & np.isfinite(want) & ((got != 0) | (want != 0))
        wide = WIDER["f32" if got.dtype == np.float32 else "f64"]
        distance = np.abs(got.astype(wide) - exact) / np.spacing(np.abs(want)).astype(wide)
    return np.where(comparable, distance, np.where(same, 0, np.inf))


def check(name: str, got: Array, exact: Array, bound: float, *arguments: Array) -> None:
    distance = ulps(got, exact)
    worst = int(np.argmax(distance))
    where = ", ".join(repr(array[worst]) for array in arguments)
    said = f"{name}({where}) is {got[worst]!r}, not {exact[worst]!r}: {distance[worst]:.2f} ulp"
    assert distance[worst] <= bound, said


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", UNARY)
def test_function_of_one_number(name: str, dtype: str, target: str) -> None:
    x, (_, single, double) = samples(dtype), UNARY[name]
    got = call(library(target), f"{name}_{dtype}", x, dtype=x.dtype)
    check(name, got, exact_unary(name, dtype), single if dtype == "f32" else double, x)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", BINARY)
def test_function_of_two_numbers(name: str, dtype: str, target: str) -> None:
    (x, y), (_, single, double) = pairs(dtype), BINARY[name]
    got, exact = call(library(target), f"{name}_{dtype}", x, y, dtype=x.dtype), exact_binary(name, dtype)
    if name in ("max", "min"):  # which of two zeros is greater is nobody's promise
        got, exact = got + 0, exact + 0
    check(name, got, exact, single if dtype == "f32" else double, x, y)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("name", PREDICATES)
@pytest.mark.parametrize("dtype", FLOATS)
def test_predicates(dtype: str, name: str, target: str) -> None:
    x = samples(dtype)
    np.testing.assert_array_equal(call(library(target), f"{name}_{dtype}", x, dtype=np.uint8), PREDICATES[name](x))


@pytest.mark.parametrize("name", ["exp", "tanh", "sigmoid", "log", "log1p", "expm1", "cos"])
def test_evenly_over_all_floats(name: str) -> None:
    x = np.arange(0, 2**32, 4099, dtype=np.uint64).astype(np.uint32).view(np.float32)
    x = x[~np.isnan(x)]
    with np.errstate(all="ignore"):
        exact = UNARY[name][0](x.astype(np.float64))
    for target in RUNNABLE:
        check(name, call(library(target), f"{name}_f32", x, dtype=np.float32), exact, UNARY[name][1], x)


@pytest.mark.parametrize("target", RUNNABLE)
@pytest.mark.parametrize("dtype", FLOATS)
def test_an_element_does_not_depend_on_its_place(dtype: str, target: str) -> None:
    """Vector body and remainder of a loop give the same bits, so a split among threads changes nothing."""
    x = samples(dtype)[:83].copy()
    for name in UNARY:
        whole = call(library(target), f"{name}_{dtype}", x, dtype=x.dtype)
        single = [call(library(target), f"{name}_{dtype}", x[i : i + 1].copy(), dtype=x.dtype) for i in range(len(x))]
        np.testing.assert_array_equal(whole, np.concatenate(single), name)


@pytest.mark.parametrize("target", TARGETS)
def test_stands_alone(target: str) -> None:
    check_object(compile_program(program(), TARGETS[target], (HEADERS,)), TARGETS[target].arch)


FUSED = {
    "x86-64-v3": r"vfn?m(?:add|sub)\d+p[sd].*%ymm",
    "x86-64-v4": r"vfn?m(?:add|sub)\d+p[sd].*%zmm",
    "aarch64": r"fml[as]\tv",
}
SHORT = {"floor", "ceil", "rint", "trunc", "abs", "sign", "sqrt", "rsqrt"}

NOT_WORTH_IT = {"aarch64": {"asinh", "acosh"}}


@pytest.mark.parametrize("target", FUSED)
def test_loops_become_vector_code(target: str) -> None:
    names = [name for name in UNARY if name not in SHORT]
    source = "".join(loop(name, f"cv_{name}f", ("float",), "float") for name in names)
    text = assembly('#include "mathf.h"\n' + source, TARGETS[target], (HEADERS,))
    bodies = re.split(r"^(\w+):", text, flags=re.MULTILINE)
    fused = {name: len(re.findall(FUSED[target], body)) for name, body in zip(bodies[1::2], bodies[2::2], strict=True)}
    assert {name for name in names if fused[name] < 6} == NOT_WORTH_IT.get(target, set())
