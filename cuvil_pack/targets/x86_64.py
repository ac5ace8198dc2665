"""The x86-64 levels: v2 (SSE4.2), v3 (AVX2, FMA), v4 (AVX-512)."""

from .target import Target

_TRIPLE = "x86_64-linux-gnu"
_V2 = ("pni", "ssse3", "sse4_1", "sse4_2", "popcnt", "cx16", "lahf_lm")
_V3 = (*_V2, "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "abm", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

TARGETS = (
    Target(
        name="x86-64-v2",
        arch="x86-64",
        features=_V2,
        triple=_TRIPLE,
        cpu="x86_64_v2",
        flags=(),
        lanes=4,
        vector_registers=16,
        l1_bytes=32 << 10,
        l2_bytes=256 << 10,
        flops_per_cycle=10,
        l1_bytes_per_cycle=32,
        l2_bytes_per_cycle=24,
        l3_bytes_per_cycle=8,
        dram_bytes=10e9,
        hertz=2.6e9,
    ),
    Target(
        name="x86-64-v3",
        arch="x86-64",
        features=_V3,
        triple=_TRIPLE,
        cpu="x86_64_v3",
        flags=("-mprefer-vector-width=256",),
        lanes=8,
        vector_registers=16,
        l1_bytes=32 << 10,
        l2_bytes=512 << 10,
        flops_per_cycle=32,
        l1_bytes_per_cycle=64,
        l2_bytes_per_cycle=40,
        l3_bytes_per_cycle=10,
        dram_bytes=10e9,
        hertz=2.6e9,
    ),
    Target(
        name="x86-64-v4",
        arch="x86-64",
        features=_V4,
        triple=_TRIPLE,
        cpu="x86_64_v4-prefer_256_bit",
        flags=("-mprefer-vector-width=512",),
        lanes=16,
        vector_registers=32,
        l1_bytes=48 << 10,
        l2_bytes=2 << 20,
        flops_per_cycle=64,
        l1_bytes_per_cycle=124,
        l2_bytes_per_cycle=51,
        l3_bytes_per_cycle=10,
        dram_bytes=10e9,
        hertz=2.6e9,
    ),
)
