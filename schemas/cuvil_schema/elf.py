"""What a code section must be: an ELF shared object for its architecture that links and starts nothing."""

from struct import error as StructError
from struct import iter_unpack, unpack_from

from cuvil_schema.errors import Malformed

MACHINES = {"x86-64": 62, "aarch64": 183}
DYNAMIC, LOAD = 2, 1
FORBIDDEN = {
    1: "links another library (DT_NEEDED)",
    12: "runs code when it is loaded (DT_INIT)",
    13: "runs code when it is unloaded (DT_FINI)",
    25: "runs code when it is loaded (DT_INIT_ARRAY)",
    26: "runs code when it is unloaded (DT_FINI_ARRAY)",
    32: "runs code when it is loaded (DT_PREINIT_ARRAY)",
}


def check_code(code: memoryview, arch: str, what: str) -> None:
    """Malformed unless `code` is such an object for `arch`, all its segments inside of it."""
    try:
        _check(code, arch, what)
    except StructError:
        raise Malformed(f"{what} is a cut ELF file") from None


def _check(code: memoryview, arch: str, what: str) -> None:
    ident, kind, machine = unpack_from("<16sHH", code)
    if ident[:4] != b"\x7fELF":
        raise Malformed(f"{what} is not an ELF file")
    if ident[4:6] != b"\x02\x01" or kind != 3 or machine != MACHINES[arch]:
        raise Malformed(f"{what} is not a 64-bit little-endian ELF shared object for {arch}")
    (table,) = unpack_from("<Q", code, 32)
    entry_size, count = unpack_from("<HH", code, 54)
    if entry_size != 56 or table + count * entry_size > len(code):
        raise Malformed(f"{what} has its program headers outside of it")
    for type_, _, offset, _, _, size, memory, _ in iter_unpack("<IIQQQQQQ", code[table : table + count * entry_size]):
        if type_ in (LOAD, DYNAMIC) and (offset + size > len(code) or memory < size):
            raise Malformed(f"{what} has a segment outside of it")
        if type_ == DYNAMIC:
            _check_dynamic(code[offset : offset + size - size % 16], what)


def _check_dynamic(table: memoryview, what: str) -> None:
    for tag, _ in iter_unpack("<qQ", table):
        if tag == 0:
            return
        if tag in FORBIDDEN:
            raise Malformed(f"{what} {FORBIDDEN[tag]}, which a code section must not")
