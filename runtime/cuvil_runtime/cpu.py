"""Which variants this machine has the instructions for. Features have the names of `/proc/cpuinfo`."""

import os
from typing import NamedTuple

from cuvil_schema.errors import Incompatible
from cuvil_schema.manifest import Manifest, Variant

ARCHES = {"x86_64": "x86-64", "amd64": "x86-64", "aarch64": "aarch64", "arm64": "aarch64"}
FEATURE_LINES = ("flags", "Features")
MODEL_LINES = ("model name", "CPU implementer")


class Cpu(NamedTuple):
    """`hidden` are features that the machine has and CUVIL_CPU_DISABLE takes away; `features` is without them."""

    arch: str
    model: str
    features: frozenset[str]
    hidden: frozenset[str]


def read_cpu(cpuinfo: str = "/proc/cpuinfo") -> Cpu:
    """The first processor that Linux lists; without that list, an unknown model with no features."""
    machine = os.uname().machine
    lines = _first_processor(cpuinfo)
    features = frozenset(next((lines[key] for key in FEATURE_LINES if key in lines), "").split())
    disabled = frozenset(os.environ.get("CUVIL_CPU_DISABLE", "").replace(",", " ").lower().split())
    model = next((lines[key] for key in MODEL_LINES if key in lines), machine)
    return Cpu(ARCHES.get(machine, machine), model, features - disabled, features & disabled)


def _first_processor(cpuinfo: str) -> dict[str, str]:
    lines: dict[str, str] = {}
    try:
        file = os.open(cpuinfo, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return lines
    with os.fdopen(file, encoding="utf-8", errors="replace") as processors:
        for line in processors:
            key, colon, value = line.partition(":")
            if not colon and lines:
                return lines
            lines[key.strip()] = value.strip()
    return lines


def missing(variant: Variant, cpu: Cpu) -> tuple[str, ...]:
    """What `variant` needs and `cpu` lacks, its architecture first."""
    if variant.arch != cpu.arch:
        return (variant.arch,)
    return tuple(feature for feature in variant.features if feature not in cpu.features)


def lack(variant: Variant, cpu: Cpu) -> str:
    """The sentence for a variant that must not run here."""
    absent = missing(variant, cpu)
    if variant.arch != cpu.arch:
        return f"variant {variant.name} is for {variant.arch}, this machine is {cpu.arch}"
    hidden = [feature for feature in absent if feature in cpu.hidden]
    why = f"CUVIL_CPU_DISABLE hides {', '.join(hidden)}" if hidden else f"this cpu ({cpu.model}) does not have"
    listed = f"variant {variant.name} needs {', '.join(absent)}"
    return f"{listed}; {why}" if hidden else f"{listed}, which {why}"


def choose(manifest: Manifest, cpu: Cpu, name: str | None) -> Variant:
    """The variant called `name`, or the first that `cpu` can run; Incompatible says what is missing."""
    if name is None:
        for variant in manifest.variants:
            if not missing(variant, cpu):
                return variant
        raise Incompatible("; ".join(lack(variant, cpu) for variant in manifest.variants))
    for variant in manifest.variants:
        if variant.name == name and missing(variant, cpu):
            raise Incompatible(lack(variant, cpu))
        if variant.name == name:
            return variant
    raise Incompatible(f"has no variant {name!r}; it has {', '.join(variant.name for variant in manifest.variants)}")
