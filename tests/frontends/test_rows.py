"""ATen, a row for each way to call it: the graph says what torch says, at sizes from 1 up."""

from __future__ import annotations

import math
from functools import partial

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from .rows import Row, Table, cases

F3 = "f32[b, 3]"


class Multihead(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.inner(x, x, x, need_weights=False)[0]
        return result


ARITHMETIC: dict[str, Row] = {
    "add": (torch.add, "f32[b, 3], f32[3]"),
    "add alpha": (lambda a, b: torch.add(a, b, alpha=2), "f32[b, 3], f32[b, 1]"),
    "add int and float": (torch.add, "i64[b, 3], f32[3]"),
    "add bools": (torch.add, "bool[b, 3], bool[3]"),
    "add float to int": (lambda x: x + 1.5, "i32[b, 3]"),
    "add int to float": (lambda x: 1 + x, F3),
    "add to half": (lambda x: x + 0.1, "f16[b, 3]"),
    "add 0-d double to float": (torch.add, "f32[b, 3], f64[()]"),
    "add 0-d long to int": (torch.add, "i32[b, 3], i64[()]"),
    "add u8 and i8": (torch.add, "u8[b], i8[b]"),
    "add half and float": (torch.add, "f16[b, 3], f32[3]"),
    "add int and bool": (torch.add, "i32[b, 3], bool[3]"),
    "add True": (lambda x: x + True, "i32[b, 3]"),
    "add a size": (lambda x: x + x.shape[0], F3),
    "mul by a size": (lambda x: x * (x.shape[0] * 2 + 1), "i64[b, 3]"),
    "sub": (lambda a, b: a - b, "f32[b, 1], f32[3]"),
    "rsub": (lambda x: 3 - x, "i64[b, 3]"),
    "rsub float": (lambda x: 0.5 - x, "i64[b, 3]"),
    "1 - mask": (lambda m: (1.0 - m[:, None].to(torch.float32)) * torch.finfo(torch.float32).min, "i64[b, s]"),
    "mul": (torch.mul, "f32[b, 3], f64[b, 1]"),
    "mul bools": (torch.mul, "bool[b, 3], bool[3]"),
    "mul bool and float": (torch.mul, "bool[b, 3], f32[3]"),
    "div": (torch.div, "f32[b, 3], f32[3]"),
    "div ints": (lambda a, b: a / (b + 1), "i64[b, 3], i64[3]"),
    "div by number": (lambda x: x / 8, "f32[b, 3]"),
    "div int by number": (lambda x: x / 8, "i32[b, 3]"),
    "number by tensor": (lambda x: 2 / (x * x + 1), F3),
    "div floor": (lambda a, b: torch.div(a, b + 3.7, rounding_mode="floor"), "f32[b, 3], f32[3]"),
    "div trunc": (lambda a, b: torch.div(a * 9, b * b + 1, rounding_mode="trunc"), "f32[b, 3], f32[3]"),
    "div trunc ints": (lambda a: torch.div(a * 7 - 9, 4, rounding_mode="trunc"), "i64[b, 3]"),
    "floor divide": (lambda a: (a * 7 - 9) // 4, "i64[b, 3]"),
    "floor divide float": (lambda a: a // 0.3, "f32[b, 3]"),
    "remainder": (lambda a: (a * 7 - 9) % 4, "i64[b, 3]"),
    "remainder float": (lambda a: torch.remainder(a, -0.7), F3),
    "fmod": (lambda a: torch.fmod(a, 0.7), F3),
    "fmod ints": (lambda a: torch.fmod(a * 7 - 9, 4), "i64[b, 3]"),
    "square": (lambda x: x**2, F3),
    "cube": (lambda x: x**3, F3),
    "square of ints": (lambda x: x**2, "i64[b, 3]"),
    "fourth power": (lambda x: x**4, F3),
    "root": (lambda x: (x * x) ** 0.5, F3),
    "inverse root": (lambda x: (x * x + 1) ** -0.5, F3),
    "pow tensor": (lambda a, b: torch.pow(a * a + 0.1, b), "f32[b, 3], f32[3]"),
    "pow of a number": (lambda x: 2**x, F3),
    "pow of ints by float": (lambda x: (x + 1) ** 1.5, "i64[b, 3]"),
    "maximum": (torch.maximum, "f32[b, 3], f32[3]"),
    "minimum": (torch.minimum, "i64[b, 3], i32[3]"),
    "maximum bools": (torch.maximum, "bool[b, 3], bool[3]"),
    "fmax": (torch.fmax, "f32[b, 3], f32[3]"),
    "fmin": (lambda a, b: torch.fmin(a.log(), b.log()).nan_to_num(), "f32[b, 3], f32[3]"),
    "max of two": (torch.max, "f32[b, 3], f32[3]"),
    "atan2": (torch.atan2, "f32[b, 3], f32[3]"),
    "hypot": (torch.hypot, "f32[b, 3], f32[3]"),
    "lerp": (lambda a, b: torch.lerp(a, b, 0.3), "f32[b, 3], f32[b, 3]"),
    "addcmul": (lambda a, b, c: torch.addcmul(a, b, c, value=0.5), "f32[b, 3], f32[b, 3], f32[3]"),
    "addcdiv": (lambda a, b, c: torch.addcdiv(a, b, c * c + 1), "f32[b, 3], f32[b, 3], f32[3]"),
    "clamp": (lambda x: x.clamp(-0.5, 0.5), F3),
    "clamp below": (lambda x: x.clamp(min=0), F3),
    "clamp ints": (lambda x: x.clamp(1, 2), "i64[b, 3]"),
    "clamp by tensors": (lambda x, lo: torch.clamp(x, min=lo), "f32[b, 3], f32[3]"),
    "clamp_max": (lambda x: torch.clamp_max(x, 0.25), F3),
    "in place": (lambda x: x.clone().add_(1).mul_(2).clamp_(0, 1), F3),
}

LOGIC: dict[str, Row] = {
    "eq": (torch.eq, "i64[b, 3], i64[3]"),
    "ne": (lambda x: x != 1, "i64[b, 3]"),
    "lt": (lambda x: x < 0.5, F3),
    "le mixed": (torch.le, "i64[b, 3], f32[3]"),
    "gt": (torch.gt, "f32[b, 3], f32[3]"),
    "ge": (lambda x: x >= 2, "i64[b, 3]"),
    "eq bools": (torch.eq, "bool[b, 3], bool[3]"),
    "eq True": (lambda x: x == True, "bool[b, 3]"),  # noqa: E712
    "gt of ints with a fraction": (lambda x: x > 1.5, "i64[b, 3]"),
    "and": (lambda a, b: a & b, "bool[b, 3], bool[3]"),
    "or": (lambda a, b: a | b, "i64[b, 3], i64[3]"),
    "xor": (lambda a, b: a ^ b, "bool[b, 3], bool[3]"),
    "not": (lambda a: ~a, "bool[b, 3]"),
    "not of ints": (lambda a: ~a, "i64[b, 3]"),
    "logical_not": (torch.logical_not, F3),
    "logical_and": (torch.logical_and, "i64[b, 3], bool[3]"),
    "logical_or": (torch.logical_or, "f32[b, 3], bool[3]"),
    "logical_xor": (torch.logical_xor, "i64[b, 3], i64[3]"),
    "shift left": (lambda a: a << 2, "i64[b, 3]"),
    "shift right": (lambda a: (a * 9 - 9) >> 1, "i64[b, 3]"),
    "where": (torch.where, "bool[b, 3], f32[b, 3], f32[3]"),
    "where number": (lambda c, x: torch.where(c, x, float("-inf")), "bool[b, 3], f32[b, 3]"),
    "where numbers": (lambda c: torch.where(c, 1.0, 0.0), "bool[b, 3]"),
    "where mixed": (torch.where, "bool[b, 3], i64[b, 3], f32[3]"),
    "masked_fill": (lambda x, m: x.masked_fill(m, -1e9), "f32[b, 3, s], bool[b, 1, s]"),
    "masked_fill tensor": (lambda x, m, v: x.masked_fill(m, v), "f32[b, 3], bool[b, 3], f32[()]"),
    "masked_fill ints": (lambda x, m: x.masked_fill(m == 0, 7), "i64[b, 3], i64[b, 3]"),
    "isnan": (lambda x: torch.isnan(x.log()), F3),
    "isinf": (lambda x: torch.isinf((x - x) / 0 + 1 / (x - x)), F3),
    "isfinite": (lambda x: torch.isfinite(x.log()), F3),
    "isnan of ints": (torch.isnan, "i64[b, 3]"),
    "any": (lambda x: x.any(), "bool[b, 3]"),
    "any along": (lambda x: x.any(-1), "i64[b, 3]"),
    "all": (lambda x: x.all(0, keepdim=True), "bool[b, 3]"),
    "all over several": (lambda x: torch.all(x, (0, 1)), "bool[b, 3]"),
    "to bool": (lambda x: x.bool(), F3),
    "to long": (lambda x: (x * 9).long(), F3),
    "to half": (lambda x: x.half(), F3),
    "to double": (lambda x: x.double(), "i64[b, 3]"),
    "type_as": (lambda a, b: a.type_as(b), "i64[b, 3], f32[()]"),
}

FUNCTIONS = [
    "exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh", "tanh", "asinh", "erf", "erfc", "sigmoid",
    "relu", "neg", "abs", "sign", "floor", "ceil", "trunc", "round", "frac", "square", "reciprocal",
]  # fmt: skip
ACTIVATIONS = [
    "relu6", "silu", "mish", "hardsigmoid", "hardswish", "hardtanh", "gelu", "leaky_relu", "elu", "selu", "celu",
    "softplus", "softsign", "tanhshrink", "hardshrink", "softshrink", "logsigmoid",
]  # fmt: skip
ELEMENTS: dict[str, Row] = {
    **{name: (getattr(torch, name), F3) for name in FUNCTIONS},
    **{f"{name} layer": (getattr(F, name), F3) for name in ACTIVATIONS},
    **{
        f"{name} of positive": (lambda x, name=name: getattr(torch, name)(x * x + 1.5), F3)
        for name in ("log", "log2", "log10", "log1p", "sqrt", "rsqrt", "acosh")
    },
    **{
        f"{name} within 1": (lambda x, name=name: getattr(torch, name)(torch.tanh(x) * 0.9), F3)
        for name in ("asin", "acos", "atanh")
    },
    "exp of ints": (torch.exp, "i64[b, 3]"),
    "sqrt of bool": (torch.sqrt, "bool[b, 3]"),
    "floor of ints": (torch.floor, "i64[b, 3]"),
    "round to tenths": (lambda x: torch.round(x, decimals=1), F3),
    "abs of ints": (lambda x: torch.abs(x - 2), "i64[b, 3]"),
    "sign of ints": (lambda x: torch.sign(x - 1), "i64[b, 3]"),
    "gelu tanh": (partial(F.gelu, approximate="tanh"), F3),
    "leaky relu slope": (partial(F.leaky_relu, negative_slope=0.2), F3),
    "elu alpha": (partial(F.elu, alpha=0.7), F3),
    "softplus beta": (partial(F.softplus, beta=2.0), F3),
    "softplus large": (lambda x: F.softplus(x * 40), F3),
    "hardtanh bounds": (partial(F.hardtanh, min_val=-0.3, max_val=0.7), F3),
    "threshold": (lambda x: F.threshold(x, 0.1, -2.0), F3),
    "prelu": (nn.PReLU(3), F3),
    "prelu one": (nn.PReLU(), "f32[b, 3, s]"),
    "glu": (F.glu, "f32[b, 4]"),
    "logit": (lambda x: torch.logit(torch.sigmoid(x), eps=0.1), F3),
    "nan_to_num": (lambda x: torch.nan_to_num(x.log() / 0), F3),
    "nan_to_num values": (lambda x: torch.nan_to_num(x.log() / 0, 1.0, 2.0, 3.0), F3),
    "dropout": (nn.Dropout(0.5), F3),
    "identity": (nn.Identity(), F3),
    "clone": (lambda x: x.clone().contiguous().detach(), F3),
    "deg2rad": (torch.deg2rad, F3),
    "rounded half": (lambda x: torch.round(x), "f16[b, 3]"),
}

VIEWS: dict[str, Row] = {
    "reshape": (lambda x: x.reshape(-1, 4), "f32[b, 2, 4]"),
    "reshape with a size": (lambda x: x.view(x.shape[0], x.shape[1], 2, -1), "f32[b, s, 6]"),
    "view merges": (lambda x: x.view(x.shape[0] * x.shape[1], 6), "f32[b, s, 6]"),
    "flatten": (lambda x: x.flatten(1), "f32[b, 2, 4]"),
    "flatten all": (lambda x: x.flatten(), "f32[b, s]"),
    "unflatten": (lambda x: x.unflatten(-1, (2, 3)), "f32[b, 6]"),
    "permute": (lambda x: x.permute(2, 0, 1), "f32[b, s, 3]"),
    "transpose": (lambda x: x.transpose(-1, -2), "f32[b, s, 3]"),
    "t": (lambda x: x.t(), "f32[b, 3]"),
    "mT": (lambda x: x.mT, "f32[b, 2, 3]"),
    "swapaxes": (lambda x: x.swapaxes(0, 1), "f32[b, 3]"),
    "movedim": (lambda x: x.movedim(0, -1), "f32[b, s, 3]"),
    "unsqueeze": (lambda x: x.unsqueeze(-1).unsqueeze(0), F3),
    "index None": (lambda x: x[:, None, :, None], F3),
    "squeeze": (lambda x: x.squeeze(1), "f32[b, 1, 3]"),
    "squeeze several": (lambda x: x.squeeze((1, 3)), "f32[b, 1, 3, 1]"),
    "squeeze what is not 1": (lambda x: x.squeeze(-1), "f32[b, 1, 3]"),
    "expand": (lambda x: x.expand(-1, 4, -1), "f32[b, 1, 3]"),
    "expand to size": (lambda x, y: x[None].expand(y.shape[0], -1), "f32[3], f32[b, 2]"),
    "expand_as": (lambda x, y: x.expand_as(y), "f32[3], f32[b, 3]"),
    "broadcast_to": (lambda x: x.broadcast_to(2, 3), "f32[3]"),
    "slice": (lambda x: x[:, 1:3], "f32[b, 5]"),
    "slice from the end": (lambda x: x[:, -2:], "f32[b, 5]"),
    "slice to the end": (lambda x: x[:, :-1], "f32[b, 5]"),
    "slice beyond": (lambda x: x[:, 2:100], "f32[b, 5]"),
    "slice by steps": (lambda x: x[:, ::2], "f32[b, 5]"),
    "slice batch": (lambda x: x[:1], "f32[b, 5]"),
    "slice table by a size": (lambda x, t: x + t[: x.shape[1]], "f32[b, s], f32[64]"),
    "slice sizes": (lambda x: x[:, : x.shape[1] // 2], "f32[b, t]"),
    "select": (lambda x: x[:, 0], "f32[b, 3, 2]"),
    "select last": (lambda x: x[:, -1], "f32[b, s, 2]"),
    "narrow": (lambda x: x.narrow(1, 1, 2), "f32[b, 5]"),
    "split": (lambda x: x.split(2, 1), "f32[b, 5]"),
    "split sizes": (lambda x: torch.split(x, [1, 3, 1], -1), "f32[b, 5]"),
    "chunk": (lambda x: x.chunk(3, -1), "f32[b, 7]"),
    "tensor_split": (lambda x: torch.tensor_split(x, 3, 1), "f32[b, 7]"),
    "unbind": (lambda x: x.unbind(1), "f32[b, 3]"),
    "cat": (lambda a, b: torch.cat([a, b], 1), "f32[b, 3], f32[b, 2]"),
    "cat sizes": (lambda a: torch.cat([a, a], 0), "f32[b, 3]"),
    "cat mixed": (lambda a, b: torch.cat([a, b], -1), "i64[b, 3], f32[b, 2]"),
    "stack": (lambda a, b: torch.stack([a, b], 1), "f32[b, 3], f32[b, 3]"),
    "flip": (lambda x: x.flip([0, 1]), "f32[b, 3]"),
    "roll": (lambda x: x.roll(1, 1), "f32[b, 3]"),
    "roll back": (lambda x: x.roll((-1, 2), (1, 2)), "f32[b, 3, 4]"),
    "roll along a size": (lambda x: x.roll(1, 0), "f32[b, 3]"),
    "roll flat": (lambda x: x.roll(1), "f32[2, 3]"),
    "repeat": (lambda x: x.repeat(2, 3), F3),
    "repeat with a new axis": (lambda x: x.repeat(2, 1, 1), F3),
    "tile": (lambda x: torch.tile(x, (2,)), F3),
    "repeat_interleave": (lambda x: x.repeat_interleave(2, 1), "f32[b, 3, 2]"),
    "pad": (lambda x: F.pad(x, (1, 2)), F3),
    "pad value": (lambda x: F.pad(x, (0, 1, 2, 0), value=-1.5), F3),
    "pad bool": (lambda x: F.pad(x, (1, 0), value=True), "bool[b, 3]"),
    "pad ints": (lambda x: F.pad(x, (1, 0), value=3), "i64[b, 3]"),
    "crop": (lambda x: F.pad(x, (-1, 1)), "f32[b, 4]"),
    "pad reflect": (lambda x: F.pad(x, (2, 1, 1, 2), mode="reflect"), "f32[b, 2, 4, 5]"),
    "pad replicate": (lambda x: F.pad(x, (2, 0, 1, 2), mode="replicate"), "f32[b, 2, 4, 5]"),
    "pad circular": (lambda x: F.pad(x, (2, 1), mode="circular"), "f32[b, 2, 5]"),
    "unfold": (lambda x: x.unfold(1, 3, 2), "f32[b, 7]"),
    "pixel_shuffle": (nn.PixelShuffle(2), "f32[b, 8, 3, 2]"),
    "pixel_unshuffle": (nn.PixelUnshuffle(2), "f32[b, 2, 4, 6]"),
    "channel_shuffle": (lambda x: F.channel_shuffle(x, 2), "f32[b, 6, 2, 2]"),
    "diagonal": (lambda x: x.diagonal(dim1=-2, dim2=-1), "f32[b, 3, 4]"),
    "diagonal above": (lambda x: x.diagonal(1, -2, -1), "f32[b, 3, 4]"),
    "same tensor twice": (lambda x: (x, x, x + 0), F3),
    "nested result": (lambda x: {"a": [x, {"b": x * 2}], "none": None}, F3),
}

CREATED: dict[str, Row] = {
    "zeros_like": (torch.zeros_like, F3),
    "ones": (lambda x: torch.ones(x.shape[0], 2) + x[:, :1], F3),
    "new_zeros": (lambda x: x.new_zeros(x.shape[0], 4), F3),
    "new_ones ints": (lambda x: x.new_ones(2, dtype=torch.int64), F3),
    "full": (lambda x: torch.full((x.shape[0], x.shape[1]), 0.25), "f32[b, s]"),
    "full bool": (lambda x: torch.full((2,), True) & (x > 0)[0, :2], F3),
    "full_like": (lambda x: torch.full_like(x, 3), F3),
    "new_full": (lambda x: x.new_full((3,), 7.5), F3),
    "arange": (lambda x: torch.arange(x.shape[1]), "f32[b, s]"),
    "arange from to": (lambda x: torch.arange(2, x.shape[1] + 5, 2), "f32[b, s]"),
    "arange float": (lambda x: torch.arange(5, dtype=torch.float32) / 5 + x[0, 0], F3),
    "arange fractions": (lambda x: torch.arange(0, 1, 0.25) * x[0, 0], F3),
    "arange negative": (lambda x: torch.arange(5, 0, -2), F3),
    "linspace": (lambda x: torch.linspace(-1, 1, 7) * x[0, 0], F3),
    "eye": (lambda x: torch.eye(3) * x[0], F3),
    "tril": (torch.tril, "f32[b, 3, 4]"),
    "triu above": (lambda x: torch.triu(x, 1), "f32[b, 3, 3]"),
    "tril of a size": (lambda x: torch.tril(torch.ones(x.shape[1], x.shape[1])), "f32[b, s]"),
    "tril of bools": (lambda x: torch.ones(4, 4, dtype=torch.bool).tril(-1) & x, "bool[4, 4]"),
    "causal mask": (
        lambda x: torch.triu(torch.full((x.shape[1], x.shape[1]), float("-inf")), diagonal=1),
        "f32[b, s]",
    ),
    "constant": (lambda x: x + torch.tensor([1.0, 2.0, 3.0]), F3),
    "0-d constant": (lambda x: x * torch.tensor(2.5), F3),
    "one_hot": (lambda x: F.one_hot(x, 5), "i64[b, 3]"),
    "position ids": (lambda x: torch.arange(x.shape[1])[None].expand(x.shape[0], -1), "i64[b, s]"),
    "meshgrid": (lambda x: torch.meshgrid(torch.arange(3), torch.arange(4), indexing="ij"), F3),
}

REDUCTIONS: dict[str, Row] = {
    "sum": (torch.sum, F3),
    "sum along": (lambda x: x.sum(1), "f32[b, 3, s]"),
    "sum keep": (lambda x: x.sum((0, 2), keepdim=True), "f32[b, 3, s]"),
    "sum ints": (lambda x: x.sum(-1), "i32[b, 3]"),
    "sum bools": (lambda x: x.sum(-1), "bool[b, 3]"),
    "sum to double": (lambda x: x.sum(-1, dtype=torch.float64), F3),
    "mean": (torch.mean, F3),
    "mean along a size": (lambda x: x.mean(1), "f32[b, s, 3]"),
    "mean keep": (lambda x: x.mean((-1, -2), keepdim=True), "f32[b, 3, s, 2]"),
    "masked mean": (
        lambda x, m: (x * m[..., None]).sum(1) / m[..., None].sum(1).clamp(min=1e-9),
        "f32[b, s, 3], i64[b, s]",
    ),
    "amax": (lambda x: x.amax(1), "f32[b, s, 3]"),
    "amin": (lambda x: x.amin((0, 1), keepdim=True), "f32[b, s, 3]"),
    "max of all": (torch.max, F3),
    "min of all": (torch.min, "i64[b, 3]"),
    "prod": (lambda x: x.prod(1), F3),
    "var": (lambda x: x.var(1), "f32[b, 4]"),
    "var biased": (lambda x: x.var((1, 2), unbiased=False), "f32[b, s, 4]"),
    "var of all": (lambda x: torch.var(x), "f32[2, 3]"),
    "std": (lambda x: x.std(-1, keepdim=True), "f32[b, 4]"),
    "std correction": (lambda x: torch.std(x, dim=1, correction=0), "f32[b, 4]"),
    "var_mean": (lambda x: torch.var_mean(x, 1), "f32[b, 4]"),
    "norm": (lambda x: x.norm(dim=-1), F3),
    "normalize": (lambda x: F.normalize(x, p=2, dim=1), F3),
    "norm of order 1": (lambda x: torch.linalg.vector_norm(x, 1, -1, keepdim=True), F3),
    "norm of order inf": (lambda x: torch.linalg.vector_norm(x, math.inf, 1), F3),
    "norm of order 3": (lambda x: torch.linalg.vector_norm(x, 3), F3),
    "cosine similarity": (lambda a, b: F.cosine_similarity(a, b, dim=-1), "f32[b, 3], f32[b, 3]"),
    "logsumexp": (lambda x: x.logsumexp(-1), "f32[b, 3, s]"),
    "softmax": (lambda x: x.softmax(-1), "f32[b, 3, s]"),
    "softmax first": (lambda x: F.softmax(x, 0), F3),
    "softmax to double": (lambda x: F.softmax(x, -1, dtype=torch.float64), F3),
    "softmax of half in float": (lambda x: F.softmax(x, -1, dtype=torch.float32).half(), "f16[b, 3]"),
    "log_softmax": (lambda x: F.log_softmax(x, 1), "f32[b, 3, s]"),
    "softmin": (lambda x: F.softmin(x, -1), F3),
    "mean of 0-d": (lambda x: x.mean().mean(), F3),
    "count_nonzero": (lambda x: torch.count_nonzero(x, -1), "i64[b, 3]"),
}

PRODUCTS: dict[str, Row] = {
    "matmul": (torch.matmul, "f32[b, 3], f32[3, 4]"),
    "matmul batched": (torch.matmul, "f32[b, s, 3], f32[b, 3, 4]"),
    "matmul broadcast": (torch.matmul, "f32[b, 1, s, 3], f32[2, 3, 4]"),
    "vector by vector": (torch.matmul, "f32[5], f32[5]"),
    "matrix by vector": (torch.matmul, "f32[b, 5], f32[5]"),
    "vector by matrix": (torch.matmul, "f32[5], f32[5, 3]"),
    "vector by batch": (torch.matmul, "f32[5], f32[b, 5, 3]"),
    "mm": (torch.mm, "f32[b, 3], f32[3, 2]"),
    "bmm": (torch.bmm, "f32[b, s, 3], f32[b, 3, s]"),
    "mv": (torch.mv, "f32[b, 3], f32[3]"),
    "outer": (torch.outer, "f32[b], f32[3]"),
    "linear": (nn.Linear(3, 4), "f32[b, s, 3]"),
    "linear without bias": (nn.Linear(3, 4, bias=False), F3),
    "linear of a vector": (nn.Linear(3, 4), "f32[3]"),
    "linear int8 weight": (lambda x, w: F.linear(x, w.to(x.dtype) * 0.1), "f32[b, 3], i8[4, 3]"),
    "addmm": (lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), "f32[4], f32[b, 3], f32[3, 4]"),
    "baddbmm": (torch.baddbmm, "f32[b, 2, 4], f32[b, 2, 3], f32[b, 3, 4]"),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), "f32[b, 2, 3], f32[b, 3, 4]"),
    "einsum heads": (lambda q, k: torch.einsum("bihd,bjhd->bhij", q, k), "f32[b, s, 2, 3], f32[b, s, 2, 3]"),
    "einsum sum": (lambda a, b: torch.einsum("bi,i->b", a, b), "f32[b, 3], f32[3]"),
    "einsum outer": (lambda a, b: torch.einsum("i,j->ij", a, b), "f32[3], f32[4]"),
    "kron-like": (lambda a: a[:, :, None] * a[:, None, :], F3),
    "attention": (F.scaled_dot_product_attention, "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]"),
    "attention causal": (
        partial(F.scaled_dot_product_attention, is_causal=True),
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention scaled": (
        partial(F.scaled_dot_product_attention, scale=0.3),
        "f32[b, 2, 3, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention float mask": (
        F.scaled_dot_product_attention,
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 1, s, s]",
    ),
    "attention bool mask": (
        lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m | (torch.arange(m.shape[-1]) == 0)),
        "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4], bool[b, 1, 1, s]",
    ),
    "attention 2-d mask": (
        F.scaled_dot_product_attention,
        "f32[b, 2, 3, 4], f32[b, 2, 3, 4], f32[b, 2, 3, 4], f32[3, 3]",
    ),
    "attention grouped": (
        partial(F.scaled_dot_product_attention, enable_gqa=True),
        "f32[b, 4, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 4]",
    ),
    "attention rank 3": (F.scaled_dot_product_attention, "f32[b, s, 4], f32[b, s, 4], f32[b, s, 4]"),
    "attention rank 5": (
        F.scaled_dot_product_attention,
        "f32[b, 2, 2, 3, 4], f32[b, 2, 2, 3, 4], f32[b, 2, 2, 3, 4]",
    ),
    "attention other values": (F.scaled_dot_product_attention, "f32[b, 2, s, 4], f32[b, 2, s, 4], f32[b, 2, s, 6]"),
    "multihead": (Multihead(), "f32[b, s, 8]"),
}

INDEXED: dict[str, Row] = {
    "embedding": (nn.Embedding(5, 3), "i64[b, s]"),
    "embedding padding": (nn.Embedding(5, 3, padding_idx=0), "i32[b, s]"),
    "index_select": (lambda x, i: x.index_select(1, i), "f32[b, 4], i64[s]"),
    "gather": (lambda x, i: x.gather(1, i), "f32[b, 4], i64[b, s]"),
    "gather fewer rows": (lambda x, i: x.gather(1, i), "f32[3, 4, 2], i64[2, s, 1]"),
    "take_along_dim": (lambda x, i: torch.take_along_dim(x, i, 1), "f32[3, 4], i64[3, 2]"),
    "index": (lambda x, i: x[i], "f32[4, 2], i64[b, s]"),
    "index behind": (lambda x, i: x[:, i], "f32[b, 4, 2], i64[s]"),
    "index negative": (lambda x, i: x[:, i - 2], "f32[b, 4], i64[s]"),
    "index two": (lambda x, i, j: x[i, j], "f32[4, 4], i64[b], i64[b]"),
    "index two around": (lambda x, i, j: x[:, i, j], "f32[b, 4, 4, 2], i64[s], i64[s]"),
    "index two apart": (lambda x, i, j: x[i, :, j], "f32[4, 3, 4], i64[s], i64[s]"),
    "index broadcast": (lambda x, i: x[torch.arange(x.shape[0])[:, None], i], "f32[b, 4], i64[b, s]"),
    "index last token": (lambda x, i: x[torch.arange(x.shape[0]), i], "f32[b, 4, 2], i64[b]"),
    "index by a list": (lambda x: x[:, [2, 0]], F3),
    "select_scatter": (lambda x, y: torch.select_scatter(x, y, 1, 1), "f32[b, 3], f32[b]"),
    "slice_scatter": (lambda x, y: torch.slice_scatter(x, y, 1, 1, 3), "f32[b, 4], f32[b, 2]"),
    "write a slice": (lambda x, y: _written(x, y), "f32[b, 4], f32[b, 2]"),
    "write a row": (lambda x: _zeroed(x), "f32[b, 4]"),
}


def _written(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    out = torch.zeros_like(x)
    out[:, 1:3] = y
    out[:, 0] = 7
    return out


def _zeroed(x: torch.Tensor) -> torch.Tensor:
    out = x.clone()
    out[:, -1] *= 2
    out[0] = 0
    return out


IMAGE = "f32[b, 4, 7, 6]"
LAYERS: dict[str, Row] = {
    "conv2d": (nn.Conv2d(4, 6, 3), IMAGE),
    "conv2d strided": (nn.Conv2d(4, 6, 3, 2, 1), IMAGE),
    "conv2d dilated": (nn.Conv2d(4, 6, (3, 2), 1, (2, 1), (2, 1)), IMAGE),
    "conv2d grouped": (nn.Conv2d(4, 6, 3, groups=2, bias=False), IMAGE),
    "conv2d depthwise": (nn.Conv2d(4, 8, 3, padding=1, groups=4), IMAGE),
    "conv2d same": (nn.Conv2d(4, 6, (4, 3), padding="same"), IMAGE),
    "conv2d valid": (nn.Conv2d(4, 6, 3, padding="valid"), IMAGE),
    "conv2d reflect": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "conv2d of one image": (nn.Conv2d(4, 6, 3), "f32[4, 7, 6]"),
    "conv1d": (nn.Conv1d(4, 6, 3, 2, 1), "f32[b, 4, t]"),
    "conv3d": (nn.Conv3d(2, 3, (1, 3, 2), padding=1), "f32[b, 2, 3, 4, 5]"),
    "batch norm": (nn.BatchNorm2d(4), IMAGE),
    "batch norm 1-d": (nn.BatchNorm1d(4), "f32[b, 4]"),
    "batch norm of sequences": (nn.BatchNorm1d(4), "f32[b, 4, s]"),
    "batch norm without scale": (nn.BatchNorm2d(4, affine=False), IMAGE),
    "batch norm without statistics": (nn.BatchNorm2d(4, track_running_stats=False), IMAGE),
    "layer norm": (nn.LayerNorm(3), "f32[b, s, 3]"),
    "layer norm of two axes": (nn.LayerNorm((2, 3)), "f32[b, 2, 3]"),
    "layer norm without scale": (nn.LayerNorm(3, elementwise_affine=False), F3),
    "layer norm without bias": (nn.LayerNorm(3, bias=False), F3),
    "rms norm": (nn.RMSNorm(3, eps=1e-6), "f32[b, s, 3]"),
    "rms norm without eps": (nn.RMSNorm(3), F3),
    "group norm": (nn.GroupNorm(2, 4), IMAGE),
    "group norm of sequences": (nn.GroupNorm(4, 4), "f32[b, 4, t]"),
    "instance norm": (nn.InstanceNorm2d(4), IMAGE),
    "instance norm with scale": (nn.InstanceNorm2d(4, affine=True), IMAGE),
    "local response norm": (nn.LocalResponseNorm(3), IMAGE),
    "max pool": (nn.MaxPool2d(2), IMAGE),
    "max pool padded": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "max pool dilated": (nn.MaxPool2d(2, 1, 0, 2), IMAGE),
    "max pool ceil": (nn.MaxPool2d(3, 2, ceil_mode=True), "f32[b, 4, 8, 6]"),
    "max pool 1-d": (nn.MaxPool1d(2), "f32[b, 4, 6]"),
    "max pool 3-d": (nn.MaxPool3d(2), "f32[b, 2, 4, 4, 4]"),
    "avg pool": (nn.AvgPool2d(2), IMAGE),
    "avg pool padded": (nn.AvgPool2d(3, 2, 1), IMAGE),
    "avg pool without pads": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "avg pool ceil": (nn.AvgPool2d(2, ceil_mode=True), IMAGE),
    "avg pool 1-d": (nn.AvgPool1d(3, 2), "f32[b, 4, t]"),
    "avg pool divisor": (nn.AvgPool2d(2, divisor_override=3), IMAGE),
    "adaptive to 1": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive even": (nn.AdaptiveAvgPool2d((4, 3)), "f32[b, 4, 8, 6]"),
    "adaptive same": (nn.AdaptiveAvgPool2d((7, 6)), IMAGE),
    "adaptive 1-d": (nn.AdaptiveAvgPool1d(1), "f32[b, 4, s]"),
    "adaptive max": (nn.AdaptiveMaxPool2d(1), IMAGE),
    "adaptive max even": (nn.AdaptiveMaxPool2d((4, 3)), "f32[b, 4, 8, 6]"),
}

TABLES = {
    "arithmetic": Table(ARITHMETIC),
    "logic": Table(LOGIC),
    "elements": Table(ELEMENTS),
    "views": Table(VIEWS),
    "created": Table(CREATED),
    "reductions": Table(REDUCTIONS),
    "products": Table(PRODUCTS),
    "indexed": Table(INDEXED),
    "layers": Table(LAYERS),
}


@pytest.mark.parametrize(("family", "row"), cases(TABLES), ids=lambda x: str(x).replace(" ", "-"))
def test_row(family: str, row: str) -> None:
    TABLES[family].check(row)
