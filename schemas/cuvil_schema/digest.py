"""The digest of a section: SHA-256 over the SHA-256 of its 1 MiB pieces, so that several threads can compute it."""

from __future__ import annotations

from collections.abc import Callable
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


def digest_view(view: memoryview, threads: int = 1, hashes: Callable[[memoryview], bytes] | None = None) -> bytes:
    """32 bytes for a contiguous view of bytes, on up to `threads` threads.

    `hashes` gives the SHA-256 of as many of the first whole pieces as it likes.
    """
    head = hashes(view) if hashes else b""
    view = view[len(head) // 32 * PIECE :]
    digests: list[bytes] = [b""] * -(-len(view) // PIECE)
    step = max(1, min(threads, len(digests)))
    workers = [Thread(target=_fill, args=(digests, view, first, step)) for first in range(1, step)]
    for worker in workers:
        worker.start()
    _fill(digests, view, 0, step)
    for worker in workers:
        worker.join()
    return sha256(head + b"".join(digests)).digest()


def _fill(digests: list[bytes], view: memoryview, first: int, step: int) -> None:
    for index in range(first, len(digests), step):
        digests[index] = sha256(view[index * PIECE : (index + 1) * PIECE]).digest()
