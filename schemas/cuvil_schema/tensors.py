"""Named tensors as a safetensors blob in which every tensor begins on a multiple of 64 bytes.

Safetensors allows no holes: a gap is a tensor of zero `U8` named `~pad.<offset>`, which `read_tensors` hides.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TYPE_CHECKING, NamedTuple

from cuvil_schema.digest import flat
from cuvil_schema.errors import Malformed
from cuvil_schema.manifest import DTYPES, MAX_RANK

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

ALIGNMENT = 64
MAX_HEADER = 64 << 20
PAD = "~pad."
TAGS = {name: name.upper() for name in DTYPES}
NAMES = {tag: name for name, tag in TAGS.items()}


class Tensor(NamedTuple):
    """`data` holds the elements row-major, little-endian, with nothing between them."""

    dtype: str
    shape: tuple[int, ...]
    data: ReadableBuffer


def tensor_offsets(sizes: Mapping[str, int]) -> dict[str, int]:
    """Bytes of each tensor -> where it begins, counted from the first byte of tensor data; in the order of names."""
    offsets, end = {}, 0
    for name in sorted(sizes):
        offsets[name] = end
        end = _aligned(end + sizes[name])
    return offsets


def pack_tensors(tensors: Mapping[str, Tensor]) -> list[ReadableBuffer]:
    """The blob in pieces, canonical; tensor data is not copied. ValueError when a buffer is not what its shape says."""
    import json

    views = {name: flat(tensor.data) for name, tensor in tensors.items()}
    header: dict[str, object] = {}
    pieces: list[ReadableBuffer] = []
    for name, begin in tensor_offsets({name: len(view) for name, view in views.items()}).items():
        tensor, end = tensors[name], begin + len(views[name])
        if name.startswith(PAD) or name == "__metadata__":
            raise ValueError(f"{name!r} is no name for a tensor")
        if prod(tensor.shape) * DTYPES[tensor.dtype] != len(views[name]):
            raise ValueError(f"{name}: {tensor.dtype}{list(tensor.shape)} is not {len(views[name])} bytes")
        header[name] = {"dtype": TAGS[tensor.dtype], "shape": list(tensor.shape), "data_offsets": [begin, end]}
        pieces.append(views[name])
        if gap := _aligned(end) - end:
            header[f"{PAD}{end}"] = {"dtype": "U8", "shape": [gap], "data_offsets": [end, end + gap]}
            pieces.append(bytes(gap))
    written = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    written += b" " * (_aligned(8 + len(written)) - 8 - len(written))
    return [len(written).to_bytes(8, "little") + written, *pieces]


def data_start(blob: memoryview, what: str) -> int:
    """Where tensor data begins in `blob`, a multiple of 64."""
    if len(blob) < 8:
        raise Malformed(f"{what} has {len(blob)} bytes, a safetensors blob has at least 8")
    length = int.from_bytes(blob[:8], "little")
    if length > min(MAX_HEADER, len(blob) - 8):
        raise Malformed(f"{what} says that its header has {length} bytes, {len(blob) - 8} follow")
    if (8 + length) % ALIGNMENT:
        raise Malformed(f"{what}: tensor data begins at {8 + length}, not at a multiple of {ALIGNMENT}")
    return 8 + length


def read_tensors(blob: memoryview, what: str) -> dict[str, Tensor]:
    """Every tensor by name, its data a view into `blob`; Malformed unless the blob is as `pack_tensors` writes it."""
    import json

    start = data_start(blob, what)
    written, data = bytes(blob[8:start]), blob[start:]
    try:
        header = json.loads(written)
        again = json.dumps(header, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        raise Malformed(f"{what}: the safetensors header is not JSON: {error}") from None
    if not isinstance(header, dict) or again.ljust(_aligned(8 + len(again)) - 8) != written:
        raise Malformed(f"{what}: the safetensors header is not a canonical JSON object")
    found: dict[str, Tensor] = {}
    end, last = 0, ""
    for begin, size, name, tensor in sorted(_tensor(name, record, data, what) for name, record in header.items()):
        if begin != end:
            raise Malformed(f"{what}: tensor {name!r} begins at {begin}, not at {end}")
        end = begin + size
        if name.startswith(PAD):
            _check_pad(name, tensor, end, what)
            continue
        if begin % ALIGNMENT:
            raise Malformed(f"{what}: tensor {name!r} begins at {begin}, not at a multiple of {ALIGNMENT}")
        if name < last:
            raise Malformed(f"{what}: tensor {name!r} stands after {last!r}")
        found[name], last = tensor, name
    if end != len(data):
        raise Malformed(f"{what}: the tensors end at {end}, the data at {len(data)}")
    return found


def _tensor(name: str, record: object, data: memoryview, what: str) -> tuple[int, int, str, Tensor]:
    match record:
        case {"dtype": str(tag), "shape": [*shape], "data_offsets": [int(begin), int(end)], **rest} if (
            not rest
            and tag in NAMES
            and len(shape) <= MAX_RANK
            and all(type(dim) is int and dim >= 0 for dim in shape)
            and 0 <= begin <= end <= len(data)
            and prod(shape) * DTYPES[NAMES[tag]] == end - begin
        ):
            return begin, end - begin, name, Tensor(NAMES[tag], tuple(shape), data[begin:end])
    raise Malformed(f"{what}: tensor {name!r} is not {{dtype, shape, data_offsets}} of {len(data)} bytes of data")


def _check_pad(name: str, tensor: Tensor, end: int, what: str) -> None:
    gap = bytes(flat(tensor.data))
    if not 0 < len(gap) < ALIGNMENT or end % ALIGNMENT or any(gap) or name != f"{PAD}{end - len(gap)}":
        raise Malformed(f"{what}: {name!r} is not a gap of zeros up to a multiple of {ALIGNMENT}")


def _aligned(size: int) -> int:
    return -(-size // ALIGNMENT) * ALIGNMENT
