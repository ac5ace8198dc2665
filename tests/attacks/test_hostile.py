"""Hostile bundles: each is refused with its sentence before any of its code runs."""

import struct
from collections.abc import Callable
from pathlib import Path

import cuvil_runtime
import pytest
from cuvil_schema import BundleError, Damaged, Incompatible, Malformed, NewerFormat, NotABundle, Unreadable

from tests.attacks.forge import MAGIC, Forgery, canonical, forged, header, sound
from tests.runtime import toy as hand

Change = Callable[[Forgery], object]


def put(*path: object) -> Change:
    """Set the last item of `path` at the place in the manifest that the others name."""
    *keys, last, value = path

    def change(forgery: Forgery) -> None:
        place = forgery.manifest
        for key in keys:
            place = place[key]
        place[last] = value

    return change


def put_plan(*path: object) -> Change:
    *keys, last, value = path

    def change(forgery: Forgery) -> None:
        place = forgery.plan["add"]
        for key in keys:
            place = place[key]
        place[last] = value

    return change


def put_section(name: str, data: bytes | None) -> Change:
    return lambda forgery: forgery.sections.pop(name) if data is None else forgery.sections.update({name: data})


def drop(key: str) -> Change:
    return lambda forgery: forgery.manifest.pop(key)


def packed_manifest(data: bytes) -> Change:
    return lambda forgery: setattr(forgery, "packed_manifest", data)


def packed_plan(data: bytes) -> Change:
    return lambda forgery: setattr(forgery, "packed_plan", data)


def edited_code(offset: int, data: bytes) -> Change:
    def change(forgery: Forgery) -> None:
        code = bytearray(forgery.sections["code/plain"])
        code[offset : offset + len(data)] = data
        forgery.sections["code/plain"] = bytes(code)

    return change


def dynamic_tag(tag: int) -> Change:
    """The first entry of the dynamic table becomes `tag`."""

    def change(forgery: Forgery) -> None:
        code = bytearray(forgery.sections["code/plain"])
        table, count = struct.unpack_from("<Q", code, 32)[0], struct.unpack_from("<H", code, 56)[0]
        for at in range(table, table + 56 * count, 56):
            if struct.unpack_from("<I", code, at)[0] == 2:
                struct.pack_into("<q", code, struct.unpack_from("<Q", code, at + 8)[0], tag)
        forgery.sections["code/plain"] = bytes(code)

    return change


SIZE = {"name": "n", "min": 0, "max": None}
MANIFESTS: dict[str, tuple[Change, str]] = {
    "no msgpack": (packed_manifest(b"\xc1"), "the manifest is not MessagePack"),
    "a list": (packed_manifest(canonical([])), "manifest is a list, not a map"),
    "huge list": (packed_manifest(b"\xdd\xff\xff\xff\xff"), "the manifest is not MessagePack"),
    "deep": (packed_manifest(b"\x91" * 100 + b"\x01"), "the manifest is nested more than 64 deep"),
    "long integers": (packed_manifest(b"\x81\xa6format\xcd\x00\x01"), "the manifest is not in canonical encoding"),
    "unknown field": (put("owner", "me"), "manifest has a field 'owner' that the format does not have"),
    "missing field": (drop("accuracy"), "manifest lacks its field 'accuracy'"),
    "later format": (put("format", 2), "the manifest is of format 2, this reader knows format 1"),
    "format is text": (put("format", "1"), "format is a string, not an integer"),
    "format is true": (put("format", True), "format is a bool, not an integer"),
    "producer": (put("producer", 7), "producer is an integer, not a string"),
    "control characters": (put("producer", "a\x1b[2J"), "producer is 'a\\x1b[2J': a name is 1 to 255 bytes"),
    "long name": (put("producer", "é" * 128), "producer is longer than 255 bytes"),
    "empty name": (put("model", "name", ""), "model.name is '': a name is 1 to 255 bytes of printable characters"),
    "model": (put("model", "extra", 1), "manifest.model has a field 'extra' that the format does not have"),
    "sizes": (put("sizes", {}), "sizes is a map, not a list"),
    "too many sizes": (put("sizes", [SIZE] * 65), "sizes has 65 items, the format allows 64"),
    "a size twice": (put("sizes", [SIZE, SIZE]), "sizes names 'n' twice"),
    "size name": (put("sizes", 1, "name", "a-b"), "sizes[1].name is 'a-b', not an ASCII identifier"),
    "negative size": (put("sizes", 1, "min", -1), "sizes[1].min is -1, outside 0..2147483647"),
    "empty range": (put("sizes", 1, SIZE | {"min": 5, "max": 4}), "sizes[1].max is 4, outside 5..2147483647"),
    "endless size": (put("sizes", 1, "max", 2**31), "sizes[1].max is 2147483648, outside 0..2147483647"),
    "float size": (put("sizes", 1, "min", 1.0), "sizes[1].min is a float, not an integer"),
    "no entry": (put("entries", []), "entries is empty"),
    "entry name": (put("entries", 0, "name", "a b"), "entries[0].name is 'a b', not an ASCII identifier"),
    "an input twice": (
        put("entries", 0, "inputs", [{"name": "x", "dtype": "f32", "shape": ["n"]}] * 2),
        "add.inputs names 'x' twice",
    ),
    "dtype": (put("entries", 0, "inputs", 0, "dtype", "f33"), "add.inputs[0].dtype is 'f33', not one of f64, f32"),
    "rank": (
        put("entries", 0, "inputs", 0, "shape", [1] * 17),
        "add.inputs[0].shape has 17 items, the format allows 16",
    ),
    "negative dim": (
        put("entries", 0, "inputs", 0, "shape", [-1]),
        "add.inputs[0].shape[0] is -1, outside 0..1099511627776",
    ),
    "unknown size": (put("entries", 0, "inputs", 0, "shape", ["m"]), "add.inputs[0].shape[0]: no size is named 'm'"),
    "unsolvable": (
        put("entries", 0, "inputs", 0, "shape", [["add", "n", 1]]),
        "add: size 'n' of x: f32[n + 1] is alone in no input, so no call can give it",
    ),
    "no dim": (put("entries", 0, "inputs", 0, "shape", [None]), "add.inputs[0].shape[0]: None is neither an integer"),
    "always negative": (
        put("entries", 0, "outputs", 0, "shape", [["add", ["mul", -1, "n"], -1]]),
        "add.outputs[0].shape[0]: -1*n - 1 is negative for every size",
    ),
    "division by zero": (
        put("entries", 0, "outputs", 0, "shape", [["floordiv", "n", 0]]),
        "add.outputs[0].shape[0]: floordiv divides by one positive integer, not by [0]",
    ),
    "no variant": (put("variants", []), "variants is empty"),
    "variant name": (
        put("variants", 0, "name", "../v"),
        "variants[0].name is '../v': only ASCII letters, digits and ._+-",
    ),
    "arch": (put("variants", 0, "arch", "pdp-11"), "variants[0].arch is 'pdp-11', not one of aarch64, x86-64"),
    "features": (put("variants", 0, "features", "avx2"), "variants[0].features is a string, not a list"),
    "code elsewhere": (put("variants", 0, "code", "graph"), "variant plain names graph as its code"),
    "absent plan": (put("variants", 0, "plan", "plan/x"), "section plan/x is missing"),
    "golden entry": (
        put("golden", [{"entry": "main", "sizes": {}, "tolerance": 0.0}]),
        "golden: no entry is named 'main'",
    ),
    "golden size": (
        put("golden", [{"entry": "add", "sizes": {"k": 1}, "tolerance": 0.0}]),
        "golden: no size is named 'k'",
    ),
    "tolerance": (
        put("golden", [{"entry": "add", "sizes": {}, "tolerance": float("nan")}]),
        "golden[0].tolerance is nan, not a float in 0..1",
    ),
    "golden is missing": (
        put("golden", [{"entry": "add", "sizes": {}, "tolerance": 0.0}]),
        "section golden is missing",
    ),
    "a section too many": (put_section("code/rootkit", b"\x90"), "section code/rootkit belongs to no variant"),
    "a strange section": (put_section("notes", b""), "sections[2].name is 'notes', which is no section of format 1"),
    "a path": (put_section("assets/../../etc", b""), "sections[0].name 'assets/../../etc' after the slash is"),
    "no weights": (put_section("weights", None), "section weights is missing"),
    "no graph": (put_section("graph", None), "section graph is missing"),
}


def table(*changes: object) -> Change:
    """Change fields of the true section table: (index, field, value)…"""

    def change(forgery: Forgery) -> None:
        import msgpack

        forgery.sections["plan/plain"] = canonical(forgery.plan)
        written = msgpack.unpackb(forgery._placed())["sections"]
        for index, key, value in changes:
            written[index][key] = value(written[index][key]) if callable(value) else value
        forgery.manifest["sections"] = written

    return change


TABLES: dict[str, tuple[Change, str]] = {
    "order": (table((0, "name", "report")), "section graph stands after report: sections are sorted and unique"),
    "a section twice": (table((1, "name", "code/plain")), "section code/plain stands after code/plain"),
    "overlap": (table((1, "offset", lambda offset: offset - 64)), "section graph begins at "),
    "hole": (table((1, "offset", lambda offset: offset + 64)), "section graph begins at "),
    "beyond the file": (table((3, "size", lambda size: size + 1)), "the last section ends at "),
    "before the end": (table((3, "size", lambda size: size - 1)), "the last section ends at "),
    "size of the world": (table((3, "size", 2**63)), "sections[3].size is 9223372036854775808, outside 0..2814749767"),
    "short digest": (table((0, "sha256", b"123")), "sections[0].sha256 is not 32 bytes"),
    "digest as text": (table((0, "sha256", "x" * 32)), "sections[0].sha256 is not 32 bytes"),
    "another digest": (
        table((0, "sha256", bytes(32))),
        "section code/plain is damaged: its SHA-256 is not the one in the manifest",
    ),
}

PLANS: dict[str, tuple[Change, str]] = {
    "no msgpack": (packed_plan(b"\xc1"), "section plan/plain is not MessagePack"),
    "another entry": (
        lambda f: f.plan.update(main=f.plan["add"]),
        "section plan/plain has the entries add, main, the manifest add",
    ),
    "no entry": (packed_plan(b"\x80"), "section plan/plain has the entries , the manifest add"),
    "unknown field": (
        put_plan("speed", 1),
        "section plan/plain['add'] has a field 'speed' that the format does not have",
    ),
    "arena": (put_plan("arena", "m"), "section plan/plain['add'].arena: no size is named 'm'"),
    "kind": (
        put_plan("buffers", 0, "kind", "disk"),
        "section plan/plain['add'].buffers[0].kind is 'disk', not one of input",
    ),
    "input": (put_plan("buffers", 0, "offset", 1), "section plan/plain['add']: buffer 'x' is input 1, the entry has 1"),
    "negative": (put_plan("buffers", 1, "offset", -4), "section plan/plain['add']: buffer 'bias' is 4 bytes at -4"),
    "weights": (
        put_plan("buffers", 1, "bytes", 65),
        "section plan/plain['add']: buffer 'bias' ends at 65, its weight space at 64",
    ),
    "arena too small": (
        put_plan("buffers", 1, {"name": "bias", "kind": "arena", "offset": 0, "bytes": "n", "type": ""}),
        "section plan/plain['add']: buffer 'bias' ends at 1024, its arena space at 0",
    ),
    "a buffer twice": (put_plan("buffers", 1, "name", "x"), "section plan/plain['add'].buffers names 'x' twice"),
    "unknown buffer": (
        put_plan("steps", 0, "reads", ["x", "bais"]),
        "section plan/plain['add'].steps[0] (k0_add) uses 'bais', which is no buffer of the plan",
    ),
    "schedule": (
        put_plan("steps", 0, "schedule", {"tile": {}}),
        "section plan/plain['add'].steps[0].schedule['tile'] is a map",
    ),
    "long place": (
        put_plan("steps", 0, "where", "x" * 65_537),
        "section plan/plain['add'].steps[0].where is longer than 65536 bytes",
    ),
}

CODES: dict[str, tuple[Change, str]] = {
    "empty": (put_section("code/plain", b""), "section code/plain is a cut ELF file"),
    "cut": (put_section("code/plain", b"\x7fELF\x02\x01"), "section code/plain is a cut ELF file"),
    "a script": (
        put_section("code/plain", b"#!/bin/sh\nrm -rf /\n".ljust(64)),
        "section code/plain is not an ELF file",
    ),
    "32 bits": (
        edited_code(4, b"\x01"),
        f"section code/plain is not a 64-bit little-endian ELF shared object for {hand.ARCH}",
    ),
    "a program": (
        edited_code(16, b"\x02"),
        f"section code/plain is not a 64-bit little-endian ELF shared object for {hand.ARCH}",
    ),
    "another machine": (
        edited_code(18, b"\xf3"),
        f"section code/plain is not a 64-bit little-endian ELF shared object for {hand.ARCH}",
    ),
    "headers outside": (edited_code(32, b"\xff" * 7), "section code/plain has its program headers outside of it"),
    "half of it": (
        lambda f: f.sections.update({"code/plain": f.sections["code/plain"][:600]}),
        "section code/plain has a segment outside of it",
    ),
    "links libc": (
        dynamic_tag(1),
        "section code/plain links another library (DT_NEEDED), which a code section must not",
    ),
    "constructor": (
        dynamic_tag(25),
        "section code/plain runs code when it is loaded (DT_INIT_ARRAY), which a code section must not",
    ),
    "another abi": (
        lambda f: f.sections.update({"code/plain": hand.compiled(abi=2)}),
        "section code/plain speaks ABI 2, this runtime 1",
    ),
    "no entry": (put("entries", 0, "name", "sub"), "section plan/plain has the entries add, the manifest sub"),
    "no function": (
        lambda f: (put("entries", 0, "name", "sub")(f), f.plan.update(sub=f.plan.pop("add"))),
        "section code/plain exports no cuvil_run_sub",
    ),
}

WEIGHTS: dict[str, tuple[Change, str]] = {
    "empty": (put_section("weights", b""), "section weights has 0 bytes, a safetensors blob has "),
    "long header": (put_section("weights", b"\xff" * 64), "section weights says that its header has "),
    "unaligned": (put_section("weights", b"\x08" + bytes(63)), "section weights: tensor data begins at 16, "),
}

CASES = {
    f"{group}: {name}": case
    for group, cases in (
        ("manifest", MANIFESTS),
        ("table", TABLES),
        ("plan", PLANS),
        ("code", CODES),
        ("weights", WEIGHTS),
    )
    for name, case in cases.items()
}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "h.cuvil"


def test_two_writers_agree() -> None:
    assert forged() == sound()


@pytest.mark.parametrize(("change", "sentence"), CASES.values(), ids=CASES)
def test_it_is_refused(change: Change, sentence: str, file: Path) -> None:
    file.write_bytes(forged(change))
    with pytest.raises(BundleError) as refusal:
        cuvil_runtime.load(file)
    assert str(refusal.value).startswith(f"h.cuvil: {sentence}")
    assert isinstance(refusal.value, (Malformed, Damaged, NewerFormat, Incompatible))


HEAD = len(MAGIC)

HEADERS: dict[str, tuple[Callable[[bytes], bytes], type[BundleError], str]] = {
    "empty": (lambda data: b"", NotABundle, "is not a cuvil bundle: it begins with nothing, not 89 43 55"),
    "a zip": (lambda data: b"PK\x03\x04" + data, NotABundle, "is not a cuvil bundle: it begins with 50 4b 03 04"),
    "one byte": (lambda data: data[:1], Damaged, "ends after 1 bytes of its header"),
    "a short header": (lambda data: data[:127], Damaged, "has 127 bytes, a header alone has 128"),
    "text mode": (lambda data: data.replace(b"\r\n", b"\n"), Damaged, "its line ends were changed, as a transfer"),
    "stripped bit": (lambda data: bytes([data[0] & 0x7F]) + data[1:], NotABundle, "is not a cuvil bundle: it begins"),
    "later format": (
        lambda data: data[:HEAD] + b"\x02" + data[HEAD + 1 :],
        NewerFormat,
        "is of format 2, this runtime",
    ),
    "flags": (lambda data: data[:12] + b"\x01" + data[13:], NewerFormat, "is of format 1 with flags 0x1, this"),
    "cut": (lambda data: data[:-1], Damaged, "has "),
    "longer": (lambda data: data + b"\0", Damaged, "has "),
    "manifest elsewhere": (lambda data: data[:24] + b"\x81" + data[25:], Damaged, "its header places "),
    "no manifest": (lambda data: data[:32] + bytes(8) + data[40:], Damaged, "its header places 0 bytes of manifest"),
    "long manifest": (lambda data: data[:39] + b"\x01" + data[40:], Damaged, "its header places "),
    "damaged manifest": (lambda data: data[:200] + b"\xff" + data[201:], Damaged, "its header or manifest is damaged"),
    "rest of the header": (
        lambda data: header(_manifest(data), len(data), rest=b"\x01") + data[128:],
        Malformed,
        "bytes 40 to 95 of its header are not zero",
    ),
    "padding": (lambda data: data[: _gap(data)] + b"\x01" + data[_gap(data) + 1 :], Damaged, "the "),
}


@pytest.mark.parametrize(("change", "error", "sentence"), HEADERS.values(), ids=HEADERS)
def test_header(change: Callable[[bytes], bytes], error: type[BundleError], sentence: str, file: Path) -> None:
    file.write_bytes(change(sound()))
    with pytest.raises(error) as refusal:
        cuvil_runtime.load(file)
    assert str(refusal.value).startswith(f"h.cuvil: {sentence}")


def test_what_is_no_file(tmp_path: Path) -> None:
    for path, sentence in (
        (tmp_path / "absent.cuvil", "absent.cuvil: No such file or directory"),
        (tmp_path, f"{tmp_path.name}: is not a regular file"),
        (Path("/dev/zero"), "zero: is not a regular file"),
        (Path("a\0b"), "embedded null byte"),
    ):
        with pytest.raises(Unreadable, match=sentence):
            cuvil_runtime.load(path)


def _manifest(data: bytes) -> bytes:
    return data[128 : 128 + int.from_bytes(data[32:40], "little")]


def _gap(data: bytes) -> int:
    """The last byte before the weights, which is padding."""
    return len(data) // 4096 * 4096 - 1
