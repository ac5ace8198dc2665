"""How scalar operations are spelled in C; the functions themselves are in `cpu/mathf.h`."""

from __future__ import annotations

import math

from ..ir.types import DType

CTYPES: dict[DType, str] = {
    DType.F64: "double", DType.F32: "float", DType.F16: "float", DType.I64: "int64_t", DType.I32: "int32_t",
    DType.I16: "int16_t", DType.I8: "int8_t", DType.U64: "uint64_t", DType.U32: "uint32_t", DType.U16: "uint16_t",
    DType.U8: "uint8_t", DType.BOOL: "_Bool",
}  # fmt: skip
STORED: dict[DType, str] = CTYPES | {DType.F16: "uint16_t", DType.BOOL: "uint8_t"}

OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "eq": "==", "ne": "!=", "lt": "<", "le": "<=",
    "gt": ">", "ge": ">=", "and": "&", "or": "|", "xor": "^",
}  # fmt: skip
NARROW = frozenset({DType.I8, DType.U8, DType.I16, DType.U16})


def literal(number: float | int | bool, dtype: DType) -> str:
    """A number of this element type as C text."""
    if dtype is DType.BOOL:
        return "1" if number else "0"
    if dtype.is_float:
        return _float(float(number), dtype)
    if number in (math.inf, -math.inf):
        return (
            f"{'' if number > 0 else '-'}CV_MAX_{dtype.value.upper()}{'' if number > 0 else ' - 1'}"
            if dtype.is_signed
            else ("0" if number < 0 else f"CV_MAX_{dtype.value.upper()}")
        )
    number = int(number)
    if number == -(2**63):
        return "(-9223372036854775807LL - 1)"
    suffix = {DType.I64: "LL", DType.U64: "ULL"}.get(dtype, "")
    return f"({CTYPES[dtype]}){number}{suffix}" if dtype in NARROW else f"{number}{suffix}"


def _float(number: float, dtype: DType) -> str:
    if math.isnan(number):
        return "CV_NANF" if dtype is not DType.F64 else "CV_NAN"
    if math.isinf(number):
        return ("-" if number < 0 else "") + ("CV_INFF" if dtype is not DType.F64 else "CV_INF")
    if dtype is DType.F64:
        return number.hex() if number != int(number) or abs(number) > 1e15 else f"{number:.1f}"
    single = _as_single(number)
    if math.isinf(single):
        return _float(single, dtype)
    return f"{single!r}f"


def _as_single(number: float) -> float:
    import numpy as np

    with np.errstate(over="ignore"):
        return float(str(np.float32(number)))


def call(name: str, args: list[str], dtype: DType) -> str:
    """An operation whose operands have element type `dtype`."""
    text = _call(name, args, dtype)
    if dtype is DType.F16 and name not in ("eq", "ne", "lt", "le", "gt", "ge", "isnan", "isinf", "neg", "abs", "where"):
        return f"cv_round_f16({text})"
    return text


def _call(name: str, args: list[str], dtype: DType) -> str:
    if name == "where":
        return f"{args[0]} ? {args[1]} : {args[2]}"
    if name == "neg":
        return _wrapped(f"-{args[0]}", dtype)
    if name == "not":
        return f"!{args[0]}" if dtype is DType.BOOL else _wrapped(f"~{args[0]}", dtype)
    if name in OPERATORS:
        return _wrapped(f"{args[0]} {OPERATORS[name]} {args[1]}", dtype)
    return f"cv_{name}{suffix(dtype)}({', '.join(args)})"


def _wrapped(text: str, dtype: DType) -> str:
    """C computes narrow integers as int: bring the result back."""
    return f"({CTYPES[dtype]})({text})" if dtype in NARROW else text


def suffix(dtype: DType) -> str:
    """`cv_expf` for f32 (and f16, which is computed as f32), `cv_exp` for f64, `cv_abs_i32` for an integer."""
    if dtype in (DType.F32, DType.F16):
        return "f"
    return "" if dtype is DType.F64 else f"_{'u8' if dtype is DType.BOOL else dtype.value}"


def convert(text: str, source: DType, target: DType) -> str:
    """A cast as numpy has it where the value fits; a float out of an integer's range saturates, nan gives 0."""
    if target is DType.BOOL:
        return f"{text} != 0"
    if target is DType.F16:
        return f"cv_round_f16((float){text})" if source is not DType.F16 else text
    if source.is_float and not target.is_float:
        wide = "double" if source is DType.F64 else "float"
        return f"cv_{'f64' if wide == 'double' else 'f32'}_to_{target.value}({text})"
    return f"({CTYPES[target]}){text}"
