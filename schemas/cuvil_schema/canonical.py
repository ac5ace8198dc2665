"""Canonical MessagePack: one value has one encoding, so equal bundles have equal bytes."""

from collections.abc import Mapping

import msgpack

from cuvil_schema.errors import Malformed

Data = None | bool | int | float | str | bytes | list["Data"] | dict[str, "Data"]
Record = Data | tuple["Record", ...] | Mapping[str, "Record"]

MAX_DEPTH = 64


def encode(data: Record) -> bytes:
    """Map keys in the order of their UTF-8 bytes, integers as short as possible, floats as float64.

    A named tuple is the map of its fields, any other tuple a list.
    """
    packed: bytes = msgpack.packb(_ordered(data, "data", MAX_DEPTH))
    return packed


def decode(packed: bytes, what: str) -> Data:
    """The inverse of `encode`; any other encoding of the same data raises Malformed, which begins with `what`."""
    try:
        data: Data = msgpack.unpackb(packed)
    except (ValueError, TypeError, OverflowError, msgpack.UnpackException) as error:
        raise Malformed(f"{what} is not MessagePack: {error}") from None
    if msgpack.packb(_ordered(data, what, MAX_DEPTH)) != packed:
        raise Malformed(f"{what} is not in canonical encoding (sorted unique keys, shortest integers)")
    return data


def _ordered(data: Record, what: str, depth: int) -> Data:
    if depth == 0:
        raise Malformed(f"{what} is nested more than {MAX_DEPTH} deep")
    if isinstance(data, tuple) and hasattr(data, "_asdict"):
        data = data._asdict()
    if isinstance(data, dict):
        if not all(type(key) is str for key in data):
            raise Malformed(f"{what} has a key that is not a string")
        return {key: _ordered(data[key], what, depth - 1) for key in sorted(data)}
    if isinstance(data, list | tuple):
        return [_ordered(item, what, depth - 1) for item in data]
    if data is None or isinstance(data, bool | int | float | str | bytes):
        return data
    raise Malformed(f"{what} holds a {type(data).__name__}, which the format does not have")
