"""The file itself: a 128-byte header, the manifest, then sections."""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from hashlib import sha256
from stat import S_ISREG
from struct import Struct
from typing import TYPE_CHECKING

from cuvil_schema.digest import digest_view
from cuvil_schema.errors import BundleError, Damaged, Malformed, NewerFormat, NotABundle, Unreadable
from cuvil_schema.manifest import FORMAT, Manifest, decode_manifest

if TYPE_CHECKING:
    from os import PathLike

MAGIC = b"\x89CUVIL\r\n\x1a\n"
HEADER = Struct("<10sHIQQQ56x32s")
SIGNED = HEADER.size - 32
MAX_MANIFEST = 16 << 20
ALIGNMENT = 64
WEIGHTS_ALIGNMENT = 4096


class Bundle:
    """A mapped bundle whose header, manifest and section table are checked; a section is checked when it is first read.

    `Bundle(path)` raises a BundleError that begins with the file's name. Close it, or use it in a `with`.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = os.fsdecode(path)
        self.name = self.path.rpartition("/")[2]
        self.view = memoryview(b"")
        self._checked: set[str] = set()
        try:
            self.view = _mapped(self.path)
            self.manifest = _manifest(self.view)
        except BundleError as error:
            self.close()
            raise self.blame(error) from None
        self.sections = {section.name: section for section in self.manifest.sections}

    def section(self, name: str, threads: int = 1, hashes: Callable[[memoryview], bytes] | None = None) -> memoryview:
        """The bytes of a section where they are mapped; Damaged unless they have its digest, KeyError without one.

        `threads` and `hashes` are those of `digest_view`.
        """
        if not self.view:
            raise self.blame(Unreadable("is closed"))
        section = self.sections[name]
        view = self.view[section.offset : section.offset + section.size]
        if name not in self._checked and digest_view(view, threads, hashes) != section.sha256:
            raise self.blame(Damaged(f"section {name} is damaged: its SHA-256 is not the one in the manifest"))
        self._checked.add(name)
        return view

    def check(self, threads: int = 1, but: str = "") -> None:
        """Check every section, `but` one, on up to `threads` threads."""
        for name in self.sections:
            if name != but:
                self.section(name, threads)

    def blame(self, error: BundleError) -> BundleError:
        """The same error, its sentence beginning with the name of this file."""
        return type(error)(f"{self.name}: {error}")

    def close(self) -> None:
        """Let go of the file; views that were handed out stay valid."""
        self.view = memoryview(b"")

    def report(self) -> dict[str, object]:
        """What the packer recorded about the build; empty when it recorded nothing."""
        import json

        if "report" not in self.sections:
            return {}
        try:
            return dict(json.loads(bytes(self.section("report"))))
        except (ValueError, TypeError, RecursionError):
            raise self.blame(Malformed("section report is not a JSON object")) from None

    def __enter__(self) -> Bundle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _mapped(path: str) -> memoryview:
    file = -1
    try:
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        status = os.fstat(file)
        if not S_ISREG(status.st_mode):
            raise Unreadable("is not a regular file")
        if status.st_size < HEADER.size:
            _check_magic(os.read(file, HEADER.size))
            raise Damaged(f"has {status.st_size} bytes, a header alone has {HEADER.size}")
        return memoryview(mmap.mmap(file, 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:
        raise Unreadable(getattr(error, "strerror", None) or str(error)) from None
    finally:
        if file >= 0:
            os.close(file)


def _check_magic(start: bytes) -> None:
    if start[: len(MAGIC)] == MAGIC:
        return
    if start.startswith(MAGIC[:6]):
        raise Damaged("its line ends were changed, as a transfer in text mode does: transfer it as binary")
    if start and MAGIC.startswith(start):
        raise Damaged(f"ends after {len(start)} bytes of its header")
    raise NotABundle(
        f"is not a cuvil bundle: it begins with {start[:8].hex(' ') or 'nothing'}, not {MAGIC[:8].hex(' ')}"
    )


def _manifest(view: memoryview) -> Manifest:
    """The manifest of a mapped bundle, after the checks of the header, the sizes, the hash and the section table."""
    _check_magic(bytes(view[: len(MAGIC)]))
    _, format_, flags, size, offset, length, digest_ = HEADER.unpack(view[: HEADER.size])
    if format_ != FORMAT or flags:
        found = f"format {format_}" + (f" with flags {flags:#x}" if flags else "")
        raise NewerFormat(f"is of {found}, this runtime knows format {FORMAT} without flags: update cuvil")
    if size != len(view):
        raise Damaged(f"has {len(view)} bytes, its header says {size}")
    if offset != HEADER.size or not 0 < length <= min(MAX_MANIFEST, size - HEADER.size):
        raise Damaged(f"its header places {length} bytes of manifest at {offset} in a file of {size}")
    end = HEADER.size + length
    packed = bytes(view[HEADER.size : end])
    if sha256(bytes(view[:SIGNED]) + packed).digest() != digest_:
        raise Damaged("its header or manifest is damaged: their SHA-256 is not the one in the header")
    if any(view[SIGNED - 56 : SIGNED]):
        raise Malformed("bytes 40 to 95 of its header are not zero")
    manifest = decode_manifest(packed)
    check_sections(manifest, end, size)
    for section in manifest.sections:
        if any(view[end : section.offset]):
            raise Damaged(f"the {section.offset - end} bytes before section {section.name} are not zero")
        end = section.offset + section.size
    return manifest


def check_sections(manifest: Manifest, start: int, size: int) -> None:
    """Sections are sorted, unique, aligned, without holes from `start` to the file's `size`, and none is missing."""
    end, last = start, ""
    for section in manifest.sections:
        if section.name <= last:
            raise Malformed(f"section {section.name} stands after {last}: sections are sorted and unique")
        begin = aligned(end, alignment(section.name))
        if section.offset != begin:
            raise Malformed(f"section {section.name} begins at {section.offset}, not at {begin}")
        end, last = begin + section.size, section.name
    if end != size:
        raise Malformed(f"the last section ends at {end}, the file at {size}")
    present = {section.name for section in manifest.sections}
    used = {name for variant in manifest.variants for name in (variant.code, variant.plan)}
    needed = {"graph", "weights"} | used | ({"golden"} if manifest.golden else set())
    if missing := needed - present:
        raise Malformed(f"section {min(missing)} is missing")
    for variant in manifest.variants:
        if not variant.code.startswith("code/") or not variant.plan.startswith("plan/"):
            raise Malformed(f"variant {variant.name} names {variant.code} as its code and {variant.plan} as its plan")
    if stray := {name for name in present if name.startswith(("code/", "plan/"))} - used:
        raise Malformed(f"section {min(stray)} belongs to no variant")


def alignment(name: str) -> int:
    """What the offset of a section is a multiple of."""
    return WEIGHTS_ALIGNMENT if name == "weights" else ALIGNMENT


def aligned(size: int, alignment: int) -> int:
    return -(-size // alignment) * alignment
