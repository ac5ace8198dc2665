"""The tensor blob: standard tools read it, every tensor is aligned, anything else is refused."""

import json

import numpy as np
import pytest
import safetensors.numpy
from cuvil_schema import DTYPES, Malformed, Tensor, data_start, pack_tensors, read_tensors, tensor_offsets
from cuvil_schema.tensors import PAD

ARRAYS = {
    "b.weight": np.arange(12, dtype=np.float32).reshape(3, 4),
    "a": np.float16([[1, 2, 3]]),
    "empty": np.zeros((0, 5), np.int64),
    "scalar": np.array(3, np.uint8),
    "exact": np.zeros(16, np.float32),
    "ünïcode": np.array([True, False]),
}


def tensors() -> dict[str, Tensor]:
    names = {np.dtype(f"{name[0]}{size}"): name for name, size in DTYPES.items()}
    return {name: Tensor(names[array.dtype], array.shape, array) for name, array in ARRAYS.items()}


def blob() -> memoryview:
    return memoryview(b"".join(map(bytes, pack_tensors(tensors()))))


def test_it_reads_back() -> None:
    found = read_tensors(blob(), "weights")
    assert list(found) == sorted(ARRAYS)
    for name, tensor in found.items():
        assert tensor.shape == ARRAYS[name].shape and bytes(tensor.data) == ARRAYS[name].tobytes()


def test_the_safetensors_library_reads_it() -> None:
    found = safetensors.numpy.load(bytes(blob()))
    assert {name for name in found if not name.startswith(PAD)} == ARRAYS.keys()
    assert all(np.array_equal(found[name], array) for name, array in ARRAYS.items())


def test_tensors_are_aligned_and_where_they_were_said_to_be() -> None:
    packed = blob()
    start = data_start(packed, "weights")
    assert start % 64 == 0 and len(packed) % 64 == 0
    offsets = tensor_offsets({name: array.nbytes for name, array in ARRAYS.items()})
    for name, offset in offsets.items():
        data = ARRAYS[name].tobytes()
        assert offset % 64 == 0 and packed[start + offset : start + offset + len(data)] == data


def test_no_tensors() -> None:
    packed = memoryview(b"".join(map(bytes, pack_tensors({}))))
    assert len(packed) == 64 and read_tensors(packed, "weights") == {}
    assert safetensors.numpy.load(bytes(packed)) == {}


@pytest.mark.parametrize(
    ("tensor", "name"),
    [
        (Tensor("f32", (2,), b"123"), "w"),
        (Tensor("u8", (1,), b"1"), "~pad.0"),
        (Tensor("u8", (1,), b"1"), "__metadata__"),
    ],
)
def test_what_cannot_be_packed(tensor: Tensor, name: str) -> None:
    with pytest.raises(ValueError, match=name):
        pack_tensors({name: tensor})


def forged(header: object, data: bytes = bytes(64), pad: int = 64) -> memoryview:
    written = header if isinstance(header, bytes) else _json(header)
    written += b" " * (-(8 + len(written)) % pad)
    return memoryview(len(written).to_bytes(8, "little") + written + data)


def _json(header: object) -> bytes:
    return json.dumps(header, sort_keys=True, separators=(",", ":")).encode()


def record(begin: int = 0, end: int = 64, **changes: object) -> dict[str, object]:
    return {"dtype": "F32", "shape": [16], "data_offsets": [begin, end]} | changes


GAP = {"dtype": "U8", "shape": [60], "data_offsets": [4, 64]}

REFUSED = {
    "short": (memoryview(b"1234567"), "weights has 7 bytes, a safetensors blob has at least 8"),
    "cut": (memoryview(b"\x39" + bytes(7)), "weights says that its header has 57 bytes, 0 follow"),
    "long": (memoryview(b"\xff" * 8 + bytes(64)), "weights says that its header has 18446744073709551615 bytes"),
    "unaligned": (forged({}, b"", pad=9), "weights: tensor data begins at 18, not at a multiple of 64"),
    "no json": (forged(b"{"), "weights: the safetensors header is not JSON"),
    "no utf-8": (forged(b"\xff"), "weights: the safetensors header is not JSON"),
    "deep": (forged(b"[" * 100_000), "weights: the safetensors header is not JSON"),
    "no object": (forged([]), "weights: the safetensors header is not a canonical JSON object"),
    "spaces": (forged(b'{ "a":1}'), "weights: the safetensors header is not a canonical JSON object"),
    "twice": (forged(b'{"a":1,"a":1}'), "weights: the safetensors header is not a canonical JSON object"),
    "a number": (forged({"a": 1}), "weights: tensor 'a' is not {dtype, shape, data_offsets} of 64 bytes"),
    "a field": (forged({"a": record(extra=1)}), "weights: tensor 'a' is not {dtype, shape, data_offsets}"),
    "dtype": (forged({"a": record(dtype="F8_E4M3")}), "weights: tensor 'a' is not {dtype, shape, data_offsets}"),
    "negative": (forged({"a": record(shape=[-4, -4])}), "weights: tensor 'a' is not {dtype, shape, data_offsets}"),
    "bytes": (forged({"a": record(shape=[15])}), "weights: tensor 'a' is not {dtype, shape, data_offsets}"),
    "outside": (forged({"a": record(64, 128)}), "weights: tensor 'a' is not {dtype, shape, data_offsets}"),
    "overlap": (forged({"a": record(), "b": record()}), "weights: tensor 'b' begins at 0, not at 64"),
    "hole": (forged({"a": record(64, 128)}, bytes(128)), "weights: tensor 'a' begins at 64, not at 0"),
    "rest": (forged({"a": record()}, bytes(128)), "weights: the tensors end at 64, the data at 128"),
    "misplaced": (
        forged({"a": record(0, 4, shape=[1]), "b": record(4, 64, shape=[15])}),
        "weights: tensor 'b' begins at 4, not at a multiple of 64",
    ),
    "order": (forged({"a": record(64, 128), "b": record()}, bytes(128)), "weights: tensor 'a' stands after 'b'"),
    "gap's name": (
        forged({"a": record(0, 4, shape=[1]), "~pad.0": GAP}),
        "weights: '~pad.0' is not a gap of zeros up to a multiple of 64",
    ),
    "gap": (
        forged({"a": record(0, 4, shape=[1]), "~pad.4": GAP}, b"\x01" * 64),
        "weights: '~pad.4' is not a gap of zeros up to a multiple of 64",
    ),
}


@pytest.mark.parametrize(("packed", "sentence"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(packed: memoryview, sentence: str) -> None:
    with pytest.raises(Malformed) as refusal:
        read_tensors(packed, "weights")
    assert str(refusal.value).startswith(sentence)
