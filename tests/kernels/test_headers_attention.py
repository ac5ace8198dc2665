"""attention.h against numpy in float64: masks, grouped queries, odd sizes, queries that see nothing."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
import torch

from tests.kernels.harness import (
    RUNNABLE,
    Array,
    build,
    call,
    divisions,
    fenced,
    load,
    poison,
    random,
    relative_error,
    scratch,
)

# queries, keys
SCHEDULES = {
    "x86-64-v2": ["32, 24"],
    "x86-64-v3": ["64, 64", "16, 7"],
    "x86-64-v4": ["64, 64", "48, 33"],
    "aarch64": ["32, 64"],
}
CASES = [(level, schedule) for level in RUNNABLE for schedule in SCHEDULES[level]]

SOURCE = """
#include "attention.h"

typedef struct {
    cv_attention_size size;
    cv_heads q, k, v, out;
    int64_t causal, offset;
    const void *mask;
    int64_t mask_strides[4];
} arguments;

static const cv_attention_schedule S = {SCHEDULE};

int64_t units(const arguments *a)
{
    return cv_attention_units(S, a->size);
}

int64_t floats(const arguments *a)
{
    return cv_attention_floats(S, a->size);
}

static inline void run(const arguments *a, enum cv_mask_kind kind, float scale, float *scratch,
                       int64_t begin, int64_t end)
{
    const int64_t *s = a->mask_strides;
    const cv_attention_call call = {
        .schedule = S, .size = a->size, .q = a->q, .k = a->k, .v = a->v, .out = a->out,
        .scale = scale, .causal = a->causal, .offset = a->offset,
        .mask = {kind, a->mask, s[0], s[1], s[2], s[3]},
    };
    cv_attention(call, scratch, begin, end);
}

void attend(const arguments *a, float scale, float *scratch, int64_t begin, int64_t end)
{
    run(a, CV_MASK_NONE, scale, scratch, begin, end);
}

void attend_add(const arguments *a, float scale, float *scratch, int64_t begin, int64_t end)
{
    run(a, CV_MASK_ADD, scale, scratch, begin, end);
}

void attend_allow(const arguments *a, float scale, float *scratch, int64_t begin, int64_t end)
{
    run(a, CV_MASK_ALLOW, scale, scratch, begin, end);
}
"""


@dataclass(frozen=True)
class Attention:
    queries: int
    keys: int
    depth: int
    value_depth: int
    batch: int = 1
    heads: int = 1
    kv_heads: int = 1
    causal: bool = False
    offset: int = 0
    mask: str = ""  # its shape "batch heads queries keys" as letters, a repeated axis as 1
    allow: bool = False

    @property
    def scale(self) -> float:
        return 1 / math.sqrt(self.depth)

    def entry(self) -> str:
        return "attend" if not self.mask else "attend_allow" if self.allow else "attend_add"

    def inputs(self) -> tuple[Array, Array, Array]:
        """q, k, v as [batch, length, heads, depth]."""
        return (
            random(self.batch, self.queries, self.heads, self.depth),
            random(self.batch, self.keys, self.kv_heads, self.depth) * 2,
            random(self.batch, self.keys, self.kv_heads, self.value_depth),
        )

    def make_mask(self) -> Array:
        sizes = {"b": self.batch, "h": self.heads, "q": self.queries, "k": self.keys, "1": 1}
        values = random(*(sizes[letter] for letter in self.mask or "1111"))
        return (values > -0.5).astype(np.uint8) if self.allow else np.where(values > -1, values, -np.inf)

    def expected(self, q: Array, k: Array, v: Array, mask: Array) -> Array:
        """softmax(q k^T * scale + mask) v in float64; 0 for a query that sees nothing."""
        repeat = self.heads // self.kv_heads
        q, k, v = (x.transpose(0, 2, 1, 3).astype(np.float64) for x in (q, k, v))
        scores = q @ np.repeat(k, repeat, axis=1).swapaxes(-1, -2) * self.scale
        if self.mask:
            scores = np.where(mask, scores, -np.inf) if self.allow else scores + mask
        if self.causal:
            hidden = np.arange(self.keys)[None] > np.arange(self.queries)[:, None] + self.offset
            scores = np.where(hidden, -np.inf, scores)
        top = scores.max(axis=-1, keepdims=True)
        weights = np.exp(scores - np.where(np.isneginf(top), 0, top))
        total = weights.sum(axis=-1, keepdims=True)
        return (weights / np.where(total == 0, 1, total) @ np.repeat(v, repeat, axis=1)).transpose(0, 2, 1, 3)


ATTENTIONS = [
    Attention(1, 40, 32, 32, heads=3),
    Attention(128, 128, 64, 64, heads=2),
    Attention(37, 70, 24, 40, batch=2, heads=4, kv_heads=2),
    Attention(65, 65, 17, 5, heads=2, causal=True),
    Attention(19, 50, 16, 16, causal=True, offset=31),
    Attention(20, 9, 16, 16, causal=True, offset=-4),
    Attention(50, 60, 32, 48, batch=2, heads=2, mask="b11k"),
    Attention(50, 60, 32, 48, batch=2, heads=2, mask="11qk", causal=True),
    Attention(33, 41, 80, 72, batch=2, heads=4, kv_heads=1, mask="bhqk", allow=True),
    Attention(33, 41, 8, 8, batch=2, heads=2, mask="b11k", allow=True),
    Attention(3, 1, 256, 256, heads=2),
]


def program(schedule: str) -> str:
    return SOURCE.replace("SCHEDULE", schedule)


def arguments(case: Attention, q: Array, k: Array, v: Array, out: Array, mask: Array) -> Array:
    """The struct of the C program: sizes, four tensors [batch, length, heads, depth], causal, mask."""
    fields = [case.batch, case.heads, case.kv_heads, case.queries, case.keys, case.depth, case.value_depth]
    for x in (q, k, v, out):
        batch, row, head = (step // 4 for step in x.strides[:3])
        fields += [x.ctypes.data, batch, head, row]
    strides = [0 if n == 1 else step // mask.itemsize for n, step in zip(mask.shape, mask.strides, strict=True)]
    return np.array([*fields, int(case.causal), case.offset, mask.ctypes.data, *strides], np.int64)


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("case", ATTENTIONS, ids=str)
def test_attention(level: str, schedule: str, case: Attention) -> None:
    library = load(program(schedule), level)
    inputs, mask = case.inputs(), case.make_mask()
    expected = case.expected(*inputs, mask)
    sizes = arguments(case, *inputs, expected, mask)
    floats = call(library, "floats", sizes)
    results = []
    for division in divisions(call(library, "units", sizes)):
        with fenced(*inputs, poison(expected.shape), mask, scratch(floats)) as (q, k, v, out, m, space):
            place = arguments(case, q, k, v, out, m)
            for begin, end in division:
                call(library, case.entry(), place, case.scale, space, begin, end)
            results.append(out.copy())
    assert relative_error(results[0], expected) < 1e-6
    assert all(result.tobytes() == results[0].tobytes() for result in results)


@pytest.mark.parametrize(("level", "schedule"), CASES)
@pytest.mark.parametrize("allow", [False, True])
def test_a_query_that_sees_nothing_gives_what_torch_gives(level: str, schedule: str, allow: bool) -> None:
    case = Attention(20, 50, 16, 16, mask="11qk", allow=allow)
    library = load(program(schedule), level)
    inputs, mask = case.inputs(), case.make_mask()
    mask[..., 7, :] = 0 if allow else -np.inf
    q, k, v = (torch.from_numpy(x.transpose(0, 2, 1, 3)) for x in inputs)
    seen = torch.from_numpy(mask.astype(bool) if allow else mask)
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=seen).numpy().transpose(0, 2, 1, 3)
    out = poison(expected.shape)
    place = arguments(case, *inputs, out, mask)
    space = scratch(call(library, "floats", place))
    call(library, case.entry(), place, case.scale, space, 0, call(library, "units", place))
    np.testing.assert_array_equal(out[:, 7], expected[:, 7])
    assert relative_error(out, expected) < 1e-6


@pytest.mark.parametrize(("level", "schedule"), CASES)
def test_nan_stays_with_its_query_and_extreme_scores_do_not_overflow(level: str, schedule: str) -> None:
    case = Attention(20, 50, 16, 16)
    library = load(program(schedule), level)
    q, k, v = case.inputs()
    q[0, 3, 0, 2] = np.nan
    q[0, 5] *= 1e4
    out, mask = poison((1, 20, 1, 16)), case.make_mask()
    place = arguments(case, q, k, v, out, mask)
    space = scratch(call(library, "floats", place))
    call(library, "attend", place, case.scale, space, 0, call(library, "units", place))
    expected = case.expected(q, k, v, mask)
    np.testing.assert_array_equal(np.isnan(out), np.isnan(expected))
    sound = [i for i in range(20) if i != 3]
    assert relative_error(out[:, sound], expected[:, sound]) < 1e-6


def test_cross_compiles() -> None:
    for schedule in SCHEDULES["aarch64"]:
        build(program(schedule), "aarch64")
