"""A bundle is written in one way only, and reads back as what it was."""

from hashlib import sha256
from pathlib import Path

import pytest
from cuvil_schema import (
    Buffer,
    Bundle,
    Damaged,
    Entry,
    EntryPlan,
    Golden,
    Malformed,
    Manifest,
    Size,
    Spec,
    Step,
    Tensor,
    Unreadable,
    Variant,
    decode_plan,
    encode_plan,
    golden_cases,
    golden_key,
    pack_tensors,
    read_tensors,
)
from cuvil_schema.manifest import decode_manifest, encode_manifest

from cuvil_pack.bundle.assemble import assemble

MANIFEST = Manifest(
    producer="cuvil 0.1.0",
    model="tiny",
    source="tiny.py:make",
    accuracy="standard",
    sizes=(Size("batch", 1, 8), Size("seq", 1, None)),
    entries=(
        Entry(
            "main",
            (Spec("x", "f32", ("batch", 4)), Spec("mask", "bool", ("seq",))),
            (Spec("y", "f16", ("batch", ("add", ("mul", 2, "seq"), 1))),),
        ),
    ),
    variants=(
        Variant("x86-64-v3", "x86-64", ("avx2", "fma"), "code/x86-64-v3", "plan/x86-64-v3"),
        Variant("aarch64", "aarch64", (), "code/aarch64", "plan/aarch64"),
    ),
    golden=(Golden("main", {"batch": 2, "seq": 3}, 1e-5), Golden("main", {"batch": 1, "seq": 1}, 1e-5)),
)

PLAN = {
    "main": EntryPlan(
        arena=("mul", 16, "batch"),
        steps=(
            Step(
                "k0", ("linear",), "tiny.py:3", "f32", "rows", 8, 16, ("x", "w"), ("t",), {"tile": [12, 32], "k": 256}
            ),
        ),
        buffers=(
            Buffer("x", "input", 0, ("mul", 16, "batch"), "f32[batch, 4]"),
            Buffer("w", "weight", 0, 16, "f32[4]"),
            Buffer("t", "arena", 0, ("mul", 16, "batch"), "f32[batch, 4]"),
        ),
        weights=16,
        peak=("add", 16, ("mul", 16, "batch")),
    )
}


def sections() -> dict[str, object]:
    plan = encode_plan(PLAN, MANIFEST)
    return {
        "weights": pack_tensors({"w": Tensor("f32", (4,), bytes(range(16)))}),
        "plan/x86-64-v3": plan,
        "plan/aarch64": plan,
        "graph": b"def main(x: f32[batch, 4]): ...\n",
        "golden": [b"12", bytearray(b"34"), memoryview(b"5")],
        "code/x86-64-v3": b"x" * 100,
        "code/aarch64": b"a" * 100,
        "assets/labels.txt": b"",
    }


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "tiny.cuvil"
    with path.open("wb") as written:
        written.writelines(assemble(MANIFEST, sections()))
    return path


def test_it_reads_back(file: Path) -> None:
    with Bundle(file) as bundle:
        bundle.check()
        assert bundle.manifest._replace(sections=()) == MANIFEST
        assert list(bundle.sections) == sorted(sections())
        assert bytes(bundle.section("golden")) == b"12345" and bytes(bundle.section("assets/labels.txt")) == b""
        assert decode_plan(bytes(bundle.section("plan/aarch64")), bundle.manifest, 64, "plan") == PLAN
        assert bytes(read_tensors(bundle.section("weights"), "weights")["w"].data) == bytes(range(16))


def test_order_and_cut_of_what_is_given_do_not_matter(file: Path) -> None:
    given = {name: data if isinstance(data, bytes) else b"".join(data) for name, data in reversed(sections().items())}
    assert b"".join(map(bytes, assemble(MANIFEST, given))) == file.read_bytes()


def test_the_layout_is_as_the_format_says(file: Path) -> None:
    data = file.read_bytes()
    assert data[:10] == b"\x89CUVIL\r\n\x1a\n" and data[10:16] == b"\x01\x00\x00\x00\x00\x00"
    size, offset, length = (int.from_bytes(data[at : at + 8], "little") for at in (16, 24, 32))
    assert (size, offset) == (len(data), 128) and not any(data[40:96])
    assert data[96:128] == sha256(data[:96] + data[128 : 128 + length]).digest()
    end = 128 + length
    for section in decode_manifest(data[128:end]).sections:
        alignment = 4096 if section.name == "weights" else 64
        assert section.offset == -(-end // alignment) * alignment and not any(data[end : section.offset])
        end = section.offset + section.size
    assert end == len(data)


def test_damage_is_found_when_a_section_is_read(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[data.index(b"def main")] ^= 1
    file.write_bytes(data)
    with Bundle(file) as bundle:
        assert bytes(bundle.section("golden")) == b"12345"
        with pytest.raises(Damaged, match=r"tiny\.cuvil: section graph is damaged: its SHA-256 is not the one"):
            bundle.section("graph")
        with pytest.raises(Damaged):
            bundle.check(2)
        with pytest.raises(KeyError):
            bundle.section("report")


def test_a_closed_bundle_gives_nothing(file: Path) -> None:
    bundle = Bundle(str(file))
    graph = bundle.section("graph")
    bundle.close()
    with pytest.raises(Unreadable, match=r"tiny\.cuvil: is closed"):
        bundle.section("graph")
    assert bytes(graph).startswith(b"def main")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"weights": None}, "section weights is missing"),
        ({"graph": None}, "section graph is missing"),
        ({"golden": None}, "section golden is missing"),
        ({"plan/aarch64": None}, "section plan/aarch64 is missing"),
        ({"code/riscv": b""}, "section code/riscv belongs to no variant"),
        ({"notes": b""}, "sections is 'notes', which is no section of format 1"),
        ({"assets/../x": b""}, "sections 'assets/../x' after the slash is '../x': only ASCII letters"),
    ],
)
def test_what_cannot_be_assembled(change: dict[str, object], sentence: str) -> None:
    given = {name: data for name, data in (sections() | change).items() if data is not None}
    with pytest.raises(Malformed) as refusal:
        assemble(MANIFEST, given)
    assert str(refusal.value).startswith(sentence)


def test_golden_calls_are_counted_by_entry() -> None:
    assert [case for _, case in golden_cases(MANIFEST)] == [0, 1]
    assert golden_key("in", "main", 1, "x") == "in.main.1.x"


def test_manifests_round_trip() -> None:
    assert decode_manifest(encode_manifest(MANIFEST)) == MANIFEST
    assert [str(spec) for spec in MANIFEST.entries[0].outputs] == ["y: f16[batch, 2*seq + 1]"]
    assert [str(size) for size in MANIFEST.sizes] == ["batch in 1..8", "seq in 1.."]
    assert MANIFEST.entry("main").name == "main"
