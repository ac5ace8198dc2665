"""Canonical MessagePack and the digest of sections."""

from hashlib import sha256

import msgpack
import pytest
from cuvil_schema import Malformed, decode, encode
from cuvil_schema.digest import PIECE, digest_view

from cuvil_pack.bundle.assemble import digest


@pytest.mark.parametrize(
    ("data", "packed"),
    [
        ({"b": 1, "a": [True, None]}, b"\x82\xa1a\x92\xc3\xc0\xa1b\x01"),
        ({"é": 0, "z": 0}, b"\x82\xa1z\x00\xa2\xc3\xa9\x00"),
        ([0, 127, 128, 256, -1, -33], b"\x96\x00\x7f\xcc\x80\xcd\x01\x00\xff\xd0\xdf"),
        (1e-5, b"\xcb\x3e\xe4\xf8\xb5\x88\xe3\x68\xf1"),
        (b"\x00", b"\xc4\x01\x00"),
    ],
)
def test_one_encoding(data: object, packed: bytes) -> None:
    assert encode(data) == packed and decode(packed, "data") == data


@pytest.mark.parametrize(
    ("packed", "sentence"),
    [
        (b"", "data is not MessagePack"),
        (b"\x01\x01", "data is not MessagePack"),
        (b"\xc1", "data is not MessagePack"),
        (b"\x91", "data is not MessagePack"),
        (b"\xdd\xff\xff\xff\xff", "data is not MessagePack"),
        (b"\xdf\xff\xff\xff\xff", "data is not MessagePack"),
        (b"\xa1\xff", "data is not MessagePack"),
        (b"\x91" * 100_000, "data is not MessagePack"),
        (b"\x91" * 100 + b"\x00", "data is nested more than 64 deep"),
        (b"\x81\x01\x02", "data is not MessagePack"),
        (b"\x81\xc4\x01a\x02", "data has a key that is not a string"),
        (b"\xd4\x01\x00", "data is not in canonical encoding"),
        (b"\xd6\xff\x00\x00\x00\x00", "data holds a Timestamp"),
        (b"\xcc\x01", "data is not in canonical encoding"),
        (b"\xd9\x01a", "data is not in canonical encoding"),
        (b"\xca\x00\x00\x00\x00", "data is not in canonical encoding"),
        (b"\x82\xa1b\x01\xa1a\x01", "data is not in canonical encoding"),
        (b"\x82\xa1a\x01\xa1a\x01", "data is not in canonical encoding"),
    ],
)
def test_what_is_refused(packed: bytes, sentence: str) -> None:
    with pytest.raises(Malformed, match=sentence):
        decode(packed, "data")


def test_what_cannot_be_encoded() -> None:
    for data in ({1: 2}, {"a": {1}}, object()):
        with pytest.raises(Malformed):
            encode(data)
    assert encode((1, (2, 3))) == msgpack.packb([1, [2, 3]])


@pytest.mark.parametrize("size", [0, 1, PIECE - 1, PIECE, PIECE + 1, 3 * PIECE + 5])
def test_the_digest_is_one_for_every_cut_and_thread_count(size: int) -> None:
    data = bytes(range(256)) * (size // 256 + 1)
    data = data[:size]
    pieces = [data[begin : begin + PIECE] for begin in range(0, size, PIECE)]
    expected = sha256(b"".join(sha256(piece).digest() for piece in pieces)).digest()
    assert digest([data]) == digest([data[:7], b"", data[7:]]) == expected
    assert all(digest_view(memoryview(data), threads) == expected for threads in (1, 2, 9))
