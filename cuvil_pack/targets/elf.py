"""Reads as much of an ELF shared object as it takes to know that it stands alone."""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from cuvil_pack.errors import ToolchainError

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

_MACHINES = {"x86-64": 62, "aarch64": 183}
_SHARED_OBJECT = 3
_LOAD, _DYNAMIC, _INTERPRETER, _TLS, _STACK = 1, 2, 3, 7, 0x6474E551
_EXECUTE, _WRITE = 1, 2
_NEEDED, _HASH, _STRTAB, _SYMTAB = 1, 4, 5, 6
_FORBIDDEN_TAGS = {
    12: "an initialiser",
    13: "a finaliser",
    15: "a library path",
    22: "relocations in its code",
    25: "constructors",
    26: "destructors",
    29: "a library path",
    32: "constructors",
}


@dataclass(frozen=True)
class _Segment:
    kind: int
    flags: int
    offset: int
    address: int
    size: int


@dataclass(frozen=True)
class _Symbol:
    name: str
    defined: bool


def _segments(data: bytes) -> tuple[_Segment, ...]:
    (start,) = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    rows = (struct.unpack_from("<IIQQQQ", data, start + size * index) for index in range(count))
    return tuple(_Segment(kind, flags, offset, address, size) for kind, flags, offset, address, _, size in rows)


def _offset(segments: tuple[_Segment, ...], address: int) -> int:
    for segment in segments:
        if segment.kind == _LOAD and segment.address <= address < segment.address + segment.size:
            return segment.offset + address - segment.address
    raise ToolchainError(f"the object names the address {address:#x}, which it does not load")


def _dynamic(data: bytes, segments: tuple[_Segment, ...]) -> Iterator[tuple[int, int]]:
    for segment in segments:
        if segment.kind != _DYNAMIC:
            continue
        for tag, value in struct.iter_unpack("<QQ", data[segment.offset : segment.offset + segment.size]):
            if tag == 0:
                return
            yield tag, value


def _text(data: bytes, start: int) -> str:
    return data[start : data.index(0, start)].decode()


def _symbols(data: bytes, segments: tuple[_Segment, ...], tags: dict[int, int]) -> Iterator[_Symbol]:
    if not {_HASH, _STRTAB, _SYMTAB} <= tags.keys():
        return
    strings, table = _offset(segments, tags[_STRTAB]), _offset(segments, tags[_SYMTAB])
    _, count = struct.unpack_from("<II", data, _offset(segments, tags[_HASH]))
    for index in range(1, count):
        name, _, _, section = struct.unpack_from("<IBBH", data, table + 24 * index)
        yield _Symbol(_text(data, strings + name), section != 0)


def _check_header(data: bytes, arch: str) -> None:
    if data[:6] != b"\x7fELF\x02\x01" or len(data) < 64:
        raise ToolchainError("the compiler wrote no 64-bit ELF file")
    kind, machine = struct.unpack_from("<HH", data, 16)
    if (kind, machine) != (_SHARED_OBJECT, _MACHINES[arch]):
        raise ToolchainError(f"the object is of kind {kind} for machine {machine}, not a shared object for {arch}")
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    if sections + size * count > len(data):
        raise ToolchainError(f"the object is cut: it has {len(data)} bytes of {sections + size * count}")


def _check_segments(segments: tuple[_Segment, ...]) -> None:
    for segment in segments:
        if segment.kind == _INTERPRETER:
            raise ToolchainError("the object names a program interpreter")
        if segment.kind == _TLS:
            raise ToolchainError("the object has thread-local variables")
        if segment.kind == _STACK and segment.flags & _EXECUTE:
            raise ToolchainError("the object asks for an executable stack")
        if segment.kind == _LOAD and segment.flags & _EXECUTE and segment.flags & _WRITE:
            raise ToolchainError("the object has memory that is writable and executable")


def _check_dynamic(dynamic: list[tuple[int, int]], data: bytes, segments: tuple[_Segment, ...]) -> None:
    tags = dict(dynamic)
    for tag, value in dynamic:
        if tag == _NEEDED:
            library = _text(data, _offset(segments, tags[_STRTAB]) + value)
            raise ToolchainError(f"the object needs the library {library}")
        if tag in _FORBIDDEN_TAGS:
            raise ToolchainError(f"the object has {_FORBIDDEN_TAGS[tag]}")


def check_object(data: bytes, arch: str = "x86-64") -> frozenset[str]:
    """The names that a shared object exports, after making sure that it stands alone.

    Raises ToolchainError when it is no shared object for `arch`, needs a library, runs code when it is loaded, has
    thread-local variables or writable code, or takes a symbol that is not one of PROCESS_SYMBOLS.
    """
    _check_header(data, arch)
    try:
        segments = _segments(data)
        _check_segments(segments)
        dynamic = list(_dynamic(data, segments))
        _check_dynamic(dynamic, data, segments)
        symbols = tuple(_symbols(data, segments, dict(dynamic)))
    except (struct.error, ValueError) as error:
        raise ToolchainError(f"the object is cut or damaged: {error}") from error
    strangers = sorted(symbol.name for symbol in symbols if not symbol.defined and symbol.name not in PROCESS_SYMBOLS)
    if strangers:
        raise ToolchainError(f"the object needs {', '.join(strangers)}, which a process may not have")
    return frozenset(symbol.name for symbol in symbols if symbol.defined)
