"""What the entries of a session share: the loaded program, its threads, one arena, the mapped weights."""

from __future__ import annotations

import ctypes
import mmap
import os
from threading import Lock
from weakref import WeakSet

import numpy as np
from cuvil_schema.bundle import Bundle
from cuvil_schema.digest import PIECE
from cuvil_schema.tensors import data_start

from cuvil_runtime.arrays import address
from cuvil_runtime.code import Program
from cuvil_runtime.errors import SessionError
from cuvil_runtime.threads import allowed

HUGE = 2 << 20

_open: WeakSet[Workspace] = WeakSet()


class Workspace:
    """Whoever calls the program holds `lock`. After a fork the child makes its own threads and arena."""

    def __init__(self, program: Program, bundle: Bundle, threads: int) -> None:
        self.program, self.threads = program, threads
        self.lock, self.pool, self.closed = Lock(), 0, False
        self._arena: mmap.mmap | None = None
        self._arena_size, self._arena_address = 0, 0
        _open.add(self)
        self.open_pool()
        self._mapped = bundle.section("weights", min(threads, allowed()), self._hashes)
        start = data_start(self._mapped, "section weights")
        self.weights, self.size = _address(self._mapped) + start, len(self._mapped) - start

    def open_pool(self) -> int:
        """The threads, made when this process has none; the lock is held."""
        if self.closed:
            raise SessionError("this session is closed: load the bundle again")
        self.pool = self.program.open_pool(self.threads)
        return self.pool

    def arena(self, size: int) -> int:
        """The address of at least `size` bytes that begin on a page; the lock is held."""
        if size > self._arena_size:
            self._drop_arena()
            try:
                arena = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
                if size >= HUGE and hasattr(mmap, "MADV_HUGEPAGE"):
                    arena.madvise(mmap.MADV_HUGEPAGE)
            except (OSError, OverflowError) as error:
                raise SessionError(f"this machine gives no {size:,} bytes of memory for the arena: {error}") from None
            self._arena, self._arena_size = arena, size
            self._arena_address = ctypes.addressof(ctypes.c_char.from_buffer(arena))
        return self._arena_address

    def close(self) -> None:
        """Stop the threads, free the arena, let go of code and weights; again does nothing."""
        with self.lock:
            if self.closed:
                return
            self.closed = True
            if self.pool:
                self.program.close_pool(self.pool)
            self.pool = 0
            self._drop_arena()
            self._mapped = memoryview(b"")
            self.program.close()

    def _hashes(self, view: memoryview) -> bytes:
        """Of the whole pieces of a section, by all threads, where the program has a function for it."""
        pieces = len(view) // PIECE
        found = bytearray(32 * pieces)
        return bytes(found) if pieces and self.program.sha256(self.pool, _address(view), pieces, found) else b""

    def after_fork(self) -> None:
        """In a child: the parent's threads are not here, and one of them may have held the lock."""
        self.lock, self.pool = Lock(), 0
        self._drop_arena()

    def _drop_arena(self) -> None:
        self._arena, self._arena_size, self._arena_address = None, 0, 0

    def __del__(self) -> None:
        if hasattr(self, "_arena_address"):
            self.close()


def _address(view: memoryview) -> int:
    return address(np.frombuffer(view, np.uint8))


def _after_fork() -> None:
    for workspace in list(_open):
        workspace.after_fork()


os.register_at_fork(after_in_child=_after_fork)
