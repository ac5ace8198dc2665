"""The manifest of a bundle as frozen data, strictly read: what goes in and out, what runs where, and where it lies."""

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from cuvil_schema import fields
from cuvil_schema.canonical import decode, encode
from cuvil_schema.errors import Malformed, NewerFormat
from cuvil_schema.sizes import Expr, Range, bounds, expression, names, text

FORMAT = 1
ARCHES = ("aarch64", "x86-64")
DTYPES = {
    "f64": 8, "f32": 4, "f16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1,
    "u64": 8, "u32": 4, "u16": 2, "u8": 1, "bool": 1,
}  # fmt: skip
MAX_SIZE = 2**31 - 1
MAX_DIM = 2**40
MAX_RANK = 16
MAX_ITEMS = 4096
MAX_SECTIONS = 4096
MAX_FILE = 2**48


class Size(NamedTuple):
    """A named size and its range; `max` is None where the model has no maximum."""

    name: str
    min: int
    max: int | None

    def __str__(self) -> str:
        return f"{self.name} in {self.min}..{'' if self.max is None else self.max}"


class Spec(NamedTuple):
    """The name, dtype and shape of one input or output; a dim is an int, a size's name or an expression of sizes."""

    name: str
    dtype: str
    shape: tuple[Expr, ...]

    def __str__(self) -> str:
        return f"{self.name}: {self.dtype}[{', '.join(map(text, self.shape))}]"


class Entry(NamedTuple):
    """A function of the bundle; a plain model has one, `main`."""

    name: str
    inputs: tuple[Spec, ...]
    outputs: tuple[Spec, ...]


class Variant(NamedTuple):
    """One compiled program: the machine it needs and the sections that hold it."""

    name: str
    arch: str
    features: tuple[str, ...]
    code: str
    plan: str


class Section(NamedTuple):
    """A range of the file; `sha256` is the digest that `cuvil_schema.digest` computes."""

    name: str
    offset: int
    size: int
    sha256: bytes


class Golden(NamedTuple):
    """One recorded call of an entry; its arrays are in the section `golden` under `golden_key`."""

    entry: str
    sizes: dict[str, int]
    tolerance: float


class Manifest(NamedTuple):
    """Variants stand best first. `sections` is filled in by who writes the file."""

    producer: str
    model: str
    source: str
    accuracy: str
    sizes: tuple[Size, ...]
    entries: tuple[Entry, ...]
    variants: tuple[Variant, ...]
    golden: tuple[Golden, ...] = ()
    sections: tuple[Section, ...] = ()

    def entry(self, name: str) -> Entry:
        """The entry called `name`; KeyError when there is none."""
        return {entry.name: entry for entry in self.entries}[name]

    def ranges(self) -> dict[str, Range]:
        return {size.name: (size.min, size.max) for size in self.sizes}


def golden_key(side: str, entry: str, case: int, name: str) -> str:
    """`in.main.0.x`: `side` is `in` or `out`, `case` counts the golden calls of that entry from 0."""
    return f"{side}.{entry}.{case}.{name}"


def golden_cases(manifest: Manifest) -> Iterator[tuple[Golden, int]]:
    """Every golden call with its number among those of its entry."""
    seen: dict[str, int] = {}
    for golden in manifest.golden:
        case = seen.get(golden.entry, 0)
        seen[golden.entry] = case + 1
        yield golden, case


def encode_manifest(manifest: Manifest) -> bytes:
    """Canonical bytes, checked by reading them back."""
    model = {"name": manifest.model, "source": manifest.source}
    data = manifest._asdict() | {"format": FORMAT, "model": model}
    del data["source"]
    packed = encode(data)
    decode_manifest(packed)
    return packed


def decode_manifest(packed: bytes) -> Manifest:
    """The manifest in `packed`; Malformed names the field that is wrong, NewerFormat a format that is not 1."""
    data = decode(packed, "the manifest")
    written = data.get("format") if isinstance(data, dict) else None
    if type(written) is int and written != FORMAT:
        raise NewerFormat(f"the manifest is of format {written}, this reader knows format {FORMAT}")
    version, producer, model, accuracy, sizes, entries, variants, golden, sections = fields.record(
        data, "manifest", "format", *(field for field in Manifest._fields if field != "source")
    )
    fields.integer(version, "format", FORMAT, FORMAT)
    name, source = fields.record(model, "manifest.model", "name", "source")
    known = fields.each(sizes, "sizes", 64, _size)
    fields.unique(known, "sizes")
    manifest = Manifest(
        fields.name(producer, "producer"),
        fields.name(name, "model.name"),
        fields.text(source, "model.source"),
        fields.name(accuracy, "accuracy"),
        known,
        fields.each(entries, "entries", 64, _entry, {size.name: (size.min, size.max) for size in known}),
        fields.each(variants, "variants", 64, _variant),
        fields.each(golden, "golden", MAX_ITEMS, _golden),
        fields.each(sections, "sections", MAX_SECTIONS, _section),
    )
    _check(manifest)
    return manifest


def _size(data: object, what: str) -> Size:
    name, low, high = fields.record(data, what, *Size._fields)
    least = fields.integer(low, f"{what}.min", 0, MAX_SIZE)
    most = None if high is None else fields.integer(high, f"{what}.max", least, MAX_SIZE)
    return Size(fields.identifier(name, f"{what}.name"), least, most)


def _entry(data: object, what: str, ranges: Mapping[str, Range]) -> Entry:
    name, inputs, outputs = fields.record(data, what, *Entry._fields)
    called = fields.identifier(name, f"{what}.name")
    entry = Entry(
        called,
        fields.each(inputs, f"{called}.inputs", MAX_ITEMS, _spec, ranges),
        fields.each(outputs, f"{called}.outputs", MAX_ITEMS, _spec, ranges),
    )
    fields.unique(entry.inputs, f"{called}.inputs")
    fields.unique(entry.outputs, f"{called}.outputs")
    solved = {dim for spec in entry.inputs for dim in spec.shape}
    for spec in entry.inputs + entry.outputs:
        for dim in spec.shape:
            for size in names(dim):
                if size not in solved:
                    raise Malformed(f"{called}: size {size!r} of {spec} is alone in no input, so no call can give it")
    return entry


def _spec(data: object, what: str, ranges: Mapping[str, Range]) -> Spec:
    name, dtype, shape = fields.record(data, what, *Spec._fields)
    return Spec(
        fields.name(name, f"{what}.name"),
        fields.choice(dtype, f"{what}.dtype", tuple(DTYPES)),
        fields.each(shape, f"{what}.shape", MAX_RANK, _dim, ranges),
    )


def _dim(data: object, what: str, ranges: Mapping[str, Range]) -> Expr:
    dim = expression(data, ranges.keys(), what)
    if isinstance(dim, int):
        return fields.integer(dim, what, 0, MAX_DIM)
    _, high = bounds(dim, ranges)
    if high is not None and high < 0:
        raise Malformed(f"{what}: {text(dim)} is negative for every size")
    return dim


def _variant(data: object, what: str) -> Variant:
    name, arch, features, code, plan = fields.record(data, what, *Variant._fields)
    return Variant(
        fields.label(name, f"{what}.name"),
        fields.choice(arch, f"{what}.arch", ARCHES),
        fields.each(features, f"{what}.features", 256, fields.label),
        fields.name(code, f"{what}.code"),
        fields.name(plan, f"{what}.plan"),
    )


def _section(data: object, what: str) -> Section:
    name, offset, size, sha256 = fields.record(data, what, *Section._fields)
    if not isinstance(sha256, bytes) or len(sha256) != 32:
        raise Malformed(f"{what}.sha256 is not 32 bytes")
    return Section(
        section_name(name, f"{what}.name"),
        fields.integer(offset, f"{what}.offset", 0, MAX_FILE),
        fields.integer(size, f"{what}.size", 0, MAX_FILE),
        sha256,
    )


def section_name(data: object, what: str) -> str:
    """`graph`, `weights`, `report`, `golden`, `code/…`, `plan/…` or `assets/…`; Malformed for any other."""
    found = fields.name(data, what)
    folder, slash, rest = found.partition("/")
    if slash and folder in ("code", "plan", "assets"):
        fields.label(rest, f"{what} {found!r} after the slash")
    elif found not in ("graph", "weights", "report", "golden"):
        raise Malformed(f"{what} is {found!r}, which is no section of format {FORMAT}")
    return found


def _golden(data: object, what: str) -> Golden:
    entry, sizes, tolerance = fields.record(data, what, *Golden._fields)
    if not isinstance(tolerance, float) or not 0 <= tolerance <= 1:
        raise Malformed(f"{what}.tolerance is {tolerance!r}, not a float in 0..1")
    return Golden(
        fields.identifier(entry, f"{what}.entry"),
        fields.table(sizes, f"{what}.sizes", 64, fields.integer, 0, MAX_SIZE),
        tolerance,
    )


def _check(manifest: Manifest) -> None:
    if not manifest.entries:
        raise Malformed("entries is empty")
    if not manifest.variants:
        raise Malformed("variants is empty")
    entries = fields.unique(manifest.entries, "entries")
    fields.unique(manifest.variants, "variants")
    for golden in manifest.golden:
        if golden.entry not in entries:
            raise Malformed(f"golden: no entry is named {golden.entry!r}")
        if unknown := golden.sizes.keys() - manifest.ranges().keys():
            raise Malformed(f"golden: no size is named {min(unknown)!r}")
