"""Small bundles made by hand: `toy` has several inputs, named sizes and a step that refuses; `add` is y = x + 1."""

import subprocess
import sys
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from cuvil_runtime.cpu import read_cpu
from cuvil_schema import (
    Buffer,
    Entry,
    EntryPlan,
    Golden,
    Manifest,
    Plan,
    Size,
    Spec,
    Step,
    Tensor,
    Variant,
    encode_plan,
    pack_tensors,
)

from cuvil_pack.bundle.assemble import assemble

ARCH = read_cpu().arch
BIAS = np.array([1, 2, 3], np.float32)
TWICE_AND_ONE = ("add", ("mul", 2, "batch"), 1)

MAIN = Entry(
    "main",
    (Spec("x", "f32", ("batch", 3)), Spec("ids", "i64", ("batch",)), Spec("tail", "u8", (TWICE_AND_ONE,))),
    (Spec("sum", "f32", ("batch", 3)), Spec("ramp", "f32", (TWICE_AND_ONE,)), Spec("pool", "i64", ())),
)
ADD = Entry("add", (Spec("x", "f32", ("n",)),), (Spec("y", "f32", ("n",)),))


def variant(name: str, *features: str) -> Variant:
    return Variant(name, ARCH, features, f"code/{name}", f"plan/{name}")


TOY = Manifest(
    producer="cuvil 0.1.0",
    model="toy",
    source="toy.c",
    accuracy="standard",
    sizes=(Size("batch", 0, 64), Size("n", 0, None)),
    entries=(MAIN, ADD),
    variants=(variant("imaginary", "imaginary_isa", "imaginary_fma"), variant("plain")),
)


def plan_of(manifest: Manifest) -> Plan:
    """A plan for the entries that the manifest has."""
    main = EntryPlan(
        arena=("add", ("mul", 12, "batch"), 4096),
        steps=(
            Step(
                "k0_gather", ("gather",), "toy.py:7   return table[ids]", "f32", "rows", 0, 8, ("ids", "x"), ("staged",)
            ),
            Step("k1_add", ("add",), "toy.py:8   return x + bias", "f32", "", "batch", 8, ("staged", "bias"), ("sum",)),
        ),
        buffers=(
            Buffer("x", "input", 0, ("mul", 12, "batch"), "f32[batch, 3]"),
            Buffer("ids", "input", 1, ("mul", 8, "batch"), "i64[batch]"),
            Buffer("bias", "weight", 0, 12, "f32[3]"),
            Buffer("staged", "arena", 0, ("mul", 12, "batch"), "f32[batch, 3]"),
            Buffer("sum", "output", 0, ("mul", 12, "batch"), "f32[batch, 3]"),
        ),
        weights=12,
    )
    add = EntryPlan(
        arena=0,
        steps=(Step("k0_add", ("add",), "add.py:1", "f32", "", "n", ("mul", 8, "n"), ("x", "bias"), ("y",)),),
        buffers=(
            Buffer("x", "input", 0, ("mul", 4, "n"), "f32[n]"),
            Buffer("bias", "weight", 0, 4, "f32[1]"),
            Buffer("y", "output", 0, ("mul", 4, "n"), "f32[n]"),
        ),
        weights=4,
    )
    plans = {"main": main, "add": add}
    return {entry.name: plans[entry.name] for entry in manifest.entries}


@cache
def compiled(traps: bool = False, abi: int = 1) -> bytes:
    """toy.c as a code section; the one that `traps` kills the process that opens it."""
    source = Path(__file__).with_name("toy.c")
    with TemporaryDirectory() as folder:
        library = Path(folder) / "toy.so"
        flags = ["-shared", "-nostdlib", "-O1", "-fPIC", "-s", "-fno-sanitize=undefined", "-Wl,--build-id=none"]
        defines = [f"-DTOY_TRAPS={int(traps)}", f"-DTOY_ABI={abi}"]
        subprocess.run(
            [sys.executable, "-m", "ziglang", "cc", *flags, *defines, str(source), "-o", str(library)], check=True
        )
        return library.read_bytes()


@dataclass
class Parts:
    """What a bundle is assembled from, to be changed before it is."""

    manifest: Manifest = TOY
    sections: dict[str, object] = field(default_factory=dict)

    def write(self, path: Path) -> Path:
        with path.open("wb") as file:
            file.writelines(assemble(self.manifest, self.sections))
        return path


def toy() -> Parts:
    """Entries `main` and `add`; the best variant needs what no CPU has and traps when it is opened."""
    golden = [Golden("add", {"n": 2}, 1e-6), Golden("main", {"batch": 1}, 0.0)]
    manifest = TOY._replace(golden=tuple(golden))
    plan = encode_plan(plan_of(manifest), manifest)
    return Parts(
        manifest,
        {
            "graph": b"def main(x: f32[batch, 3]): ...\n",
            "weights": pack_tensors({"bias": Tensor("f32", (3,), BIAS.data)}),
            "code/imaginary": compiled(traps=True),
            "plan/imaginary": plan,
            "code/plain": compiled(),
            "plan/plain": plan,
            "assets/labels.txt": b"cat\ndog\n",
            "report": b'{"packed": true}',
            "golden": pack_tensors(
                {
                    "in.add.0.x": _tensor(np.float32([1, 2])),
                    "out.add.0.y": _tensor(np.float32([2, 3])),
                    "in.main.0.x": _tensor(np.zeros((1, 3), np.float32)),
                    "in.main.0.ids": _tensor(np.int64([5])),
                    "in.main.0.tail": _tensor(np.uint8([7, 8, 9])),
                    "out.main.0.sum": _tensor(np.float32([[6, 7, 8]])),
                    "out.main.0.ramp": _tensor(np.float32([7, 8, 9])),
                    "out.main.0.pool": _tensor(np.int64(1).reshape(())),
                }
            ),
        },
    )


def add() -> Parts:
    """y = x + 1 for any number of elements, in one variant."""
    sizes = (Size("unused", 1, 1), Size("n", 0, None))
    manifest = TOY._replace(model="add", sizes=sizes, entries=(ADD,), variants=(variant("plain"),))
    weights = pack_tensors({"bias": Tensor("f32", (1,), BIAS[:1].data)})
    plan = encode_plan(plan_of(manifest), manifest)
    return Parts(manifest, {"graph": b"", "weights": weights, "code/plain": compiled(), "plan/plain": plan})


def _tensor(array: np.ndarray) -> Tensor:
    names = {"float32": "f32", "int64": "i64", "uint8": "u8"}
    return Tensor(names[array.dtype.name], array.shape, array.data)
