"""A code section, loaded from a sealed copy of itself whose hash is checked where it will run from."""

import _ctypes
import ctypes
import fcntl
import itertools
import mmap
import os

from cuvil_schema.digest import digest_view
from cuvil_schema.elf import check_code
from cuvil_schema.errors import Damaged, Incompatible, Malformed
from cuvil_schema.manifest import Section

from cuvil_runtime.errors import SessionError

ABI = 1
MFD_NOEXEC_SEAL = 8
SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE

_loads = itertools.count(1)


class Call(ctypes.Structure):
    """`cuvil_call` of the ABI."""

    _fields_ = (
        ("inputs", ctypes.c_void_p),
        ("outputs", ctypes.c_void_p),
        ("sizes", ctypes.c_void_p),
        ("weights", ctypes.c_void_p),
        ("arena", ctypes.c_void_p),
        ("times", ctypes.c_void_p),
    )


class Program:
    """The functions of a loaded code section. `close` unmaps it: every pool of it must be closed before."""

    def __init__(self, code: memoryview, section: Section, arch: str) -> None:
        check_code(code, arch, f"section {section.name}")
        self.name = section.name
        self._file = _sealed(code, section)
        try:
            self._library = ctypes.CDLL(_unique_path(self._file), mode=os.RTLD_NOW | os.RTLD_LOCAL)
            abi = self._function("cuvil_abi", ctypes.c_uint32)()
            if abi != ABI:
                raise Incompatible(f"section {section.name} speaks ABI {abi}, this runtime {ABI}")
            self._open = self._function("cuvil_open", ctypes.c_void_p, ctypes.c_int32)
            self._close = self._function("cuvil_close", None, ctypes.c_void_p)
        except OSError as error:
            os.close(self._file)
            raise Incompatible(f"section {section.name} cannot be linked here: {error}") from None
        except BaseException:
            self.close()
            raise

    def open_pool(self, threads: int) -> int:
        pool = self._open(threads)
        if not pool:
            raise SessionError(f"this machine gives no pool of {threads} threads")
        return int(pool)

    def close_pool(self, pool: int) -> None:
        self._close(pool)

    def arena(self, entry: str) -> "ctypes._NamedFuncPointer":
        """`bytes = arena(address of sizes, threads)`"""
        return self._function(f"cuvil_arena_{entry}", ctypes.c_int64, ctypes.c_void_p, ctypes.c_int32)

    def run(self, entry: str) -> "ctypes._NamedFuncPointer":
        """`0 or 1 + index of the step that refused = run(pool, address of a Call)`"""
        return self._run(f"cuvil_run_{entry}")

    def sha256(self, pool: int, begin: int, pieces: int, digests: bytearray) -> bool:
        """Fill in the SHA-256 of each of `pieces` MiB from the address `begin` on; False where the program cannot."""
        if not hasattr(self._library, "cuvil_sha256"):
            return False
        written = (ctypes.c_char * len(digests)).from_buffer(digests)
        places = (ctypes.c_int64 * 3)(begin, ctypes.addressof(written), pieces)
        first = ctypes.addressof(places)
        call = Call(inputs=first, outputs=first + 8, sizes=first + 16)
        return not self._run("cuvil_sha256")(pool, ctypes.addressof(call))

    def close(self) -> None:
        _ctypes.dlclose(self._library._handle)
        os.close(self._file)

    def _run(self, name: str) -> "ctypes._NamedFuncPointer":
        return self._function(name, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)

    def _function(self, name: str, result: type | None, *arguments: type) -> "ctypes._NamedFuncPointer":
        try:
            function = self._library[name]
        except AttributeError:
            raise Malformed(f"section {self.name} exports no {name}") from None
        function.restype, function.argtypes = result, arguments
        return function


def _sealed(code: memoryview, section: Section) -> int:
    """A memory file that holds `code` and that nobody can change any more."""
    file = _memory_file()
    try:
        written = 0
        while written < len(code):
            written += os.write(file, code[written:])
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, SEALS)
        with mmap.mmap(file, len(code), flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ) as copy, memoryview(copy) as view:
            if digest_view(view) != section.sha256:
                raise Damaged(f"section {section.name} is damaged: its SHA-256 is not the one in the manifest")
    except OSError as error:
        os.close(file)
        raise SessionError(f"the code cannot be copied to memory: {error.strerror}") from None
    except BaseException:
        os.close(file)
        raise
    return file


def _memory_file() -> int:
    flags = os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING
    try:
        return os.memfd_create("cuvil", flags | MFD_NOEXEC_SEAL)
    except OSError:
        try:
            return os.memfd_create("cuvil", flags)
        except OSError as error:
            raise SessionError(f"the kernel gives no memory file for the code: {error.strerror}") from None


def _unique_path(file: int) -> str:
    """A path of an open file that no earlier load in this process had.

    The C library answers a path that it knows with the library it has, and file numbers are used again.
    """
    load = "".join("./" if bit == "1" else "/" for bit in f"{next(_loads):b}")
    return f"/proc/self/fd/{load}{file}"
