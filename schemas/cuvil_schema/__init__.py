"""The one thing that the packer and the runtimes both know: the bundle format. Standard library and msgpack only.

Write a bundle:

    manifest = Manifest(producer, model, source, accuracy, sizes, entries, variants, golden)
    plan = encode_plan({"main": EntryPlan(arena, steps, buffers, weights, activations, scratch, peak)}, manifest)
    sections = {"graph": text, "weights": pack_tensors({"w": Tensor("f32", (2,), array)}), "code/v": elf}
    sections["plan/v"] = plan
    file.writelines(cuvil_pack.bundle.assemble.assemble(manifest, sections))

Read one:

    with Bundle(path) as bundle:                    header, sizes, hash and section table are checked here
        bundle.manifest                             frozen data: Manifest, Entry, Spec, Size, Variant, Section, Golden
        bundle.section("graph")                     a view, its SHA-256 checked on first reading
        decode_plan(bytes(bundle.section("plan/v")), bundle.manifest, weights_bytes, "plan/v")
        read_tensors(bundle.section("weights"), "weights")

A size is an int, a name or a tuple ("add" | "mul" | "floordiv" | "max" | "min", …): `evaluate`, `bounds`, `names`,
`text`. Where tensor data will lie in the weights: `tensor_offsets`. The arrays of golden calls: `golden_key`,
`golden_cases`. Every refusal is an error of `cuvil_schema.errors`. The specification is `bundle_format.md`.
"""

from cuvil_schema.bundle import Bundle
from cuvil_schema.canonical import decode, encode
from cuvil_schema.errors import (
    BundleError,
    CuvilError,
    Damaged,
    Incompatible,
    Malformed,
    NewerFormat,
    NotABundle,
    Unreadable,
)
from cuvil_schema.manifest import (
    DTYPES,
    FORMAT,
    Entry,
    Golden,
    Manifest,
    Section,
    Size,
    Spec,
    Variant,
    golden_cases,
    golden_key,
)
from cuvil_schema.plan import Buffer, EntryPlan, Plan, Step, decode_plan, encode_plan
from cuvil_schema.sizes import Expr, bounds, evaluate, expression, names, text
from cuvil_schema.tensors import Tensor, data_start, pack_tensors, read_tensors, tensor_offsets

__all__ = [
    "DTYPES",
    "FORMAT",
    "Buffer",
    "Bundle",
    "BundleError",
    "CuvilError",
    "Damaged",
    "Entry",
    "EntryPlan",
    "Expr",
    "Golden",
    "Incompatible",
    "Malformed",
    "Manifest",
    "NewerFormat",
    "NotABundle",
    "Plan",
    "Section",
    "Size",
    "Spec",
    "Step",
    "Tensor",
    "Unreadable",
    "Variant",
    "bounds",
    "data_start",
    "decode",
    "decode_plan",
    "encode",
    "encode_plan",
    "evaluate",
    "expression",
    "golden_cases",
    "golden_key",
    "names",
    "pack_tensors",
    "read_tensors",
    "tensor_offsets",
    "text",
]
