"""The bytes of a bundle: what `cuvil_schema.bundle` reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

from cuvil_schema.bundle import HEADER, MAGIC, SIGNED, aligned, alignment, check_sections
from cuvil_schema.digest import PIECE, flat
from cuvil_schema.manifest import FORMAT, Manifest, Section, encode_manifest, section_name

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


def assemble(
    manifest: Manifest, sections: Mapping[str, ReadableBuffer | list[ReadableBuffer]]
) -> Iterator[ReadableBuffer]:
    """The bytes of a bundle in pieces; section data is not copied. The section table of `manifest` is computed here.

    Raises Malformed for what no reader would take.
    """
    parts = {name: _buffers(sections[name]) for name in sorted(sections)}
    lengths = {name: sum(len(part) for part in pieces) for name, pieces in parts.items()}
    digests = {name: digest(pieces) for name, pieces in parts.items()}
    table, packed = _settled(manifest, lengths, digests)
    size = max((section.offset + section.size for section in table), default=HEADER.size + len(packed))
    check_sections(manifest._replace(sections=table), HEADER.size + len(packed), size)
    return _written(packed, size, table, parts)


def _written(
    packed: bytes, size: int, table: tuple[Section, ...], parts: Mapping[str, list[memoryview]]
) -> Iterator[ReadableBuffer]:
    unsigned = HEADER.pack(MAGIC, FORMAT, 0, size, HEADER.size, len(packed), bytes(32))[:SIGNED]
    yield unsigned + sha256(unsigned + packed).digest() + packed
    end = HEADER.size + len(packed)
    for section in table:
        yield bytes(section.offset - end)
        yield from parts[section.name]
        end = section.offset + section.size


def _settled(
    manifest: Manifest, lengths: Mapping[str, int], digests: Mapping[str, bytes]
) -> tuple[tuple[Section, ...], bytes]:
    """Offsets need the manifest's length, and it holds the offsets: both only grow, so this ends, at the smallest."""
    start = HEADER.size
    while True:
        table, end = [], start
        for name, length in lengths.items():
            begin = aligned(end, alignment(name))
            table.append(Section(section_name(name, "sections"), begin, length, digests[name]))
            end = begin + length
        packed = encode_manifest(manifest._replace(sections=tuple(table)))
        if HEADER.size + len(packed) == start:
            return tuple(table), packed
        start = HEADER.size + len(packed)


def _buffers(data: ReadableBuffer | list[ReadableBuffer]) -> list[memoryview]:
    return [flat(piece) for piece in data] if isinstance(data, list) else [flat(data)]


def digest(buffers: Iterable[ReadableBuffer]) -> bytes:
    """The digest of `cuvil_schema.digest`, of the concatenation of `buffers`."""
    root = sha256()
    for piece in _pieces(buffers):
        root.update(piece)
    return root.digest()


def _pieces(buffers: Iterable[ReadableBuffer]) -> Iterator[bytes]:
    piece, room = sha256(), PIECE
    for buffer in buffers:
        view = flat(buffer)
        while len(view):
            piece.update(view[:room])
            taken = min(room, len(view))
            view, room = view[taken:], room - taken
            if room == 0:
                yield piece.digest()
                piece, room = sha256(), PIECE
    if room < PIECE:
        yield piece.digest()
