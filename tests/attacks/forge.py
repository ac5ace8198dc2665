"""Bundles that no writer would make: a second writer, from the specification, that hashes all and checks nothing."""

import copy
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256

import msgpack

from cuvil_pack.bundle.assemble import assemble
from tests.runtime import toy as hand

MAGIC = b"\x89CUVIL\r\n\x1a\n"


@dataclass
class Forgery:
    """A sound `add` bundle as plain data; change anything, then `pack` it with right hashes."""

    manifest: dict = field(default_factory=dict)
    sections: dict[str, bytes] = field(default_factory=dict)
    plan: dict = field(default_factory=dict)
    packed_manifest: bytes | None = None
    packed_plan: bytes | None = None

    def pack(self) -> bytes:
        self.sections["plan/plain"] = self.packed_plan or canonical(self.plan)
        manifest = self.packed_manifest or self._placed()
        body, end = b"", 128 + len(manifest)
        for name in sorted(self.sections):
            begin = _aligned(end, 4096 if name == "weights" else 64)
            body += bytes(begin - end) + self.sections[name]
            end = begin + len(self.sections[name])
        return header(manifest, end) + manifest + body

    def _placed(self) -> bytes:
        """The manifest with a table of all sections, unless the forger wrote one."""
        if "sections" in self.manifest:
            return canonical(self.manifest)
        length = 0
        while True:
            table, end = [], 128 + length
            for name in sorted(self.sections):
                data = self.sections[name]
                begin = _aligned(end, 4096 if name == "weights" else 64)
                table.append({"name": name, "offset": begin, "size": len(data), "sha256": digest(data)})
                end = begin + len(data)
            packed = canonical(self.manifest | {"sections": table})
            if len(packed) == length:
                return packed
            length = len(packed)


def header(
    manifest: bytes, size: int, magic: bytes = MAGIC, version: int = 1, flags: int = 0, rest: bytes = b""
) -> bytes:
    head = magic + version.to_bytes(2, "little") + flags.to_bytes(4, "little")
    head += b"".join(number.to_bytes(8, "little") for number in (size, 128, len(manifest)))
    head += rest.ljust(56, b"\0")
    return head + sha256(head + manifest).digest()


def digest(data: bytes) -> bytes:
    pieces = [data[begin : begin + 2**20] for begin in range(0, len(data), 2**20)]
    return sha256(b"".join(sha256(piece).digest() for piece in pieces)).digest()


def canonical(data: object) -> bytes:
    return msgpack.packb(_sorted(data))


def _sorted(data: object) -> object:
    if isinstance(data, dict):
        return {key: _sorted(data[key]) for key in sorted(data)}
    return [_sorted(item) for item in data] if isinstance(data, list) else data


def _aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment


@cache
def _sound() -> Forgery:
    parts = hand.add()
    data = b"".join(bytes(piece) for piece in assemble(parts.manifest, parts.sections))
    length = int.from_bytes(data[32:40], "little")
    manifest = msgpack.unpackb(data[128 : 128 + length])
    sections = {
        section["name"]: data[section["offset"] : section["offset"] + section["size"]]
        for section in manifest.pop("sections")
    }
    return Forgery(manifest, sections, msgpack.unpackb(sections["plan/plain"]))


def forged(change: Callable[[Forgery], object] | None = None) -> bytes:
    """The sound bundle after `change`, all hashes right."""
    forgery = copy.deepcopy(_sound())
    if change is not None:
        change(forgery)
    return forgery.pack()


def sound() -> bytes:
    """The bytes that the one writer makes."""
    parts = hand.add()
    return b"".join(bytes(piece) for piece in assemble(parts.manifest, parts.sections))
