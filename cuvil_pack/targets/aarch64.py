"""64-bit Arm with Advanced SIMD."""

from .target import Target

TARGETS = (
    Target(
        name="aarch64",
        arch="aarch64",
        features=("fp", "asimd"),
        triple="aarch64-linux-gnu",
        cpu="generic",
        flags=(),
        lanes=4,
        vector_registers=32,
        l1_bytes=64 << 10,
        l2_bytes=512 << 10,
        flops_per_cycle=16,
        l1_bytes_per_cycle=32,
        l2_bytes_per_cycle=24,
        l3_bytes_per_cycle=10,
        dram_bytes=10e9,
        hertz=2.5e9,
    ),
)
