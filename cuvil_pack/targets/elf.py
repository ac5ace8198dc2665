"""Makes sure that a compiled program stands alone: that all it takes from a process is what every process has."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cuvil_schema.elf import check_code
from cuvil_schema.errors import Malformed

from ..errors import ToolchainError

PROCESS_SYMBOLS = frozenset(
    {
        "clock_gettime",
        "free",
        "malloc",
        "memcmp",
        "memcpy",
        "memmove",
        "memset",
        "pthread_attr_destroy",
        "pthread_attr_init",
        "pthread_attr_setstacksize",
        "pthread_create",
        "pthread_join",
        "pthread_sigmask",
    }
)
"""What generated programs may take from the process that loads them: present in glibc and musl alike."""

_LOAD, _DYNAMIC, _TLS, _STACK = 1, 2, 7, 0x6474E551
_EXECUTE, _WRITE = 1, 2
_HASH, _STRTAB, _SYMTAB = 4, 5, 6
_PATHS_AND_TEXT_RELOCATIONS = {15: "a library path", 22: "relocations in its code", 29: "a library path"}


@dataclass(frozen=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


def check_object(data: bytes, arch: str = "x86-64") -> frozenset[str]:
    """The names that a shared object exports, after making sure that it stands alone.

    Raises ToolchainError when it is none that a loader accepts for `arch`, has thread-local variables or writable code,
    or takes a symbol that is not one of PROCESS_SYMBOLS.
    """
    try:
        check_code(memoryview(data), arch, "the object")
        segments = tuple(_segments(data))
        _check_segments(segments)
        defined, taken = _symbols(data, segments)
    except (Malformed, struct.error, ValueError) as error:
        raise ToolchainError(str(error)) from None
    strangers = sorted(taken - PROCESS_SYMBOLS)
    if strangers:
        raise ToolchainError(f"the object needs {', '.join(strangers)}, which a process may not have")
    return defined


def _segments(data: bytes) -> Iterator[_Segment]:
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for index in range(count):
        kind, flags, offset, address, _, in_file = struct.unpack_from("<IIQQQQ", data, start + size * index)
        yield _Segment(kind, flags, offset, address, in_file)


def _check_segments(segments: tuple[_Segment, ...]) -> None:
    for segment in segments:
        if segment.kind == _TLS:
            raise ToolchainError("the object has thread-local variables")
        if segment.kind == _STACK and segment.flags & _EXECUTE:
            raise ToolchainError("the object asks for an executable stack")
        if segment.kind == _LOAD and segment.flags & _EXECUTE and segment.flags & _WRITE:
            raise ToolchainError("the object has memory that is writable and executable")


def _symbols(data: bytes, segments: tuple[_Segment, ...]) -> tuple[frozenset[str], frozenset[str]]:
    """The names that the object defines, and those that it takes from the process."""
    tags = dict(_dynamic(data, segments))
    for tag, what in _PATHS_AND_TEXT_RELOCATIONS.items():
        if tag in tags:
            raise ToolchainError(f"the object has {what}")
    if not {_HASH, _STRTAB, _SYMTAB} <= tags.keys():
        return frozenset(), frozenset()
    strings, table = _offset(segments, tags[_STRTAB]), _offset(segments, tags[_SYMTAB])
    _, count = struct.unpack_from("<II", data, _offset(segments, tags[_HASH]))
    rows = tuple(struct.unpack_from("<IBBH", data, table + 24 * index) for index in range(1, count))
    defined = frozenset(_text(data, strings + name) for name, _, _, section in rows if section)
    return defined, frozenset(_text(data, strings + name) for name, _, _, section in rows if not section)


def _dynamic(data: bytes, segments: tuple[_Segment, ...]) -> Iterator[tuple[int, int]]:
    for segment in segments:
        if segment.kind == _DYNAMIC:
            yield from struct.iter_unpack("<QQ", data[segment.offset : segment.offset + segment.size])


def _offset(segments: tuple[_Segment, ...], address: int) -> int:
    for segment in segments:
        if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    raise ToolchainError(f"the object names the address {address:#x}, which it does not load")


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(0, start)].decode()
