"""The digest of a section: SHA-256 over the SHA-256 of its 1 MiB pieces, so that several threads can compute it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from threading import Thread
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

PIECE = 1 << 20


def flat(buffer: ReadableBuffer) -> memoryview:
    """The bytes of a contiguous buffer, whatever its shape and element type."""
    view = memoryview(buffer)
    return view.cast("B") if view.nbytes else memoryview(b"")


def digest(buffers: Iterable[ReadableBuffer]) -> bytes:
    """32 bytes for the concatenation of `buffers`; nothing has no piece."""
    root = sha256()
    for piece in _pieces(buffers):
        root.update(piece)
    return root.digest()


def digest_view(view: memoryview, threads: int = 1) -> bytes:
    """The same for one contiguous view of bytes, on up to `threads` threads."""
    digests: list[bytes] = [b""] * -(-len(view) // PIECE)
    step = max(1, min(threads, len(digests)))
    workers = [Thread(target=_fill, args=(digests, view, first, step)) for first in range(1, step)]
    for worker in workers:
        worker.start()
    _fill(digests, view, 0, step)
    for worker in workers:
        worker.join()
    return sha256(b"".join(digests)).digest()


def _fill(digests: list[bytes], view: memoryview, first: int, step: int) -> None:
    for index in range(first, len(digests), step):
        digests[index] = sha256(view[index * PIECE : (index + 1) * PIECE]).digest()


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
