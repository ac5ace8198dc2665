"""Give every intermediate tensor a place in one arena, reusing what is no longer read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ..ir.size import Dim, ceildiv, is_nonnegative, maximum, nominal

ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A tensor of `size` bytes, written in step `first` and last read in step `last`."""

    size: Dim
    first: int
    last: int


@dataclass(frozen=True)
class Arena:
    """The offset of each tensor, in the order given, and the bytes of the whole."""

    offsets: tuple[Dim, ...]
    size: Dim


def aligned(size: Dim) -> Dim:
    return ceildiv(size, ALIGNMENT) * ALIGNMENT


def place(tensors: Sequence[Lifetime]) -> Arena:
    """Offsets such that tensors that live at one time do not overlap.

    Sizes known now are placed largest first at the lowest offset that is free for their whole life; sizes known at run
    time share slots, whose offsets are expressions.
    """
    if all(isinstance(t.size, int) for t in tensors):
        return _place_numbers(tensors)
    return _place_slots(tensors)


def _place_numbers(tensors: Sequence[Lifetime]) -> Arena:
    offsets: dict[int, int] = {}
    sizes = [_number(aligned(t.size)) for t in tensors]
    for n in sorted(range(len(tensors)), key=lambda n: (-sizes[n], n)):
        busy = sorted((offsets[m], offsets[m] + sizes[m]) for m in offsets if _meet(tensors[m], tensors[n]))
        offset = 0
        for begin, end in busy:
            if begin - offset >= sizes[n]:
                break
            offset = max(offset, end)
        offsets[n] = offset
    total = max((offsets[n] + sizes[n] for n in offsets), default=0)
    return Arena(tuple(offsets[n] for n in range(len(tensors))), total)


def _number(d: Dim) -> int:
    assert isinstance(d, int)
    return d


def _meet(a: Lifetime, b: Lifetime) -> bool:
    return a.first <= b.last and b.first <= a.last


@dataclass
class _Slot:
    size: Dim
    free_after: int


def _place_slots(tensors: Sequence[Lifetime]) -> Arena:
    slots: list[_Slot] = []
    taken: dict[int, int] = {}
    for n in sorted(range(len(tensors)), key=lambda n: (tensors[n].first, n)):
        size = aligned(tensors[n].size)
        free = [s for s, slot in enumerate(slots) if slot.free_after < tensors[n].first]
        best = min(free, key=lambda s: _waste(slots[s].size, size), default=None)
        if best is None:
            slots.append(_Slot(size, tensors[n].last))
            taken[n] = len(slots) - 1
            continue
        slots[best] = _Slot(maximum(slots[best].size, size), tensors[n].last)
        taken[n] = best
    starts: list[Dim] = [0]
    for slot in slots:
        starts.append(starts[-1] + slot.size)
    return Arena(tuple(starts[taken[n]] for n in range(len(tensors))), starts[-1])


def _waste(slot: Dim, size: Dim) -> float:
    """How badly a tensor fits a slot at typical sizes: growing a slot costs more than leaving some of it unused."""
    if slot == size:
        return 0.0
    have, want = nominal(slot), nominal(size)
    if have >= want and is_nonnegative(slot - size):
        return 1.0 + have - want
    return 2.0 + 4.0 * max(0, want - have) + max(0, have - want)
