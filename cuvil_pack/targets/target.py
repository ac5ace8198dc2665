"""What is known about a machine before it is seen: its instructions, how to compile for it, its nominal speed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """One variant of the generated program.

    `features` are flags of /proc/cpuinfo: the loader runs a variant only where all are present. Speeds are one core's,
    for the cost model: f32 operations and bytes a cycle, `hertz` cycles a second, `dram_bytes` a second from memory.
    """

    name: str
    arch: str
    features: tuple[str, ...]
    triple: str
    cpu: str
    flags: tuple[str, ...]
    lanes: int
    vector_registers: int
    l1_bytes: int
    l2_bytes: int
    flops_per_cycle: float
    l1_bytes_per_cycle: float
    l2_bytes_per_cycle: float
    l3_bytes_per_cycle: float
    dram_bytes: float
    hertz: float

    @property
    def vector_bytes(self) -> int:
        return 4 * self.lanes

    @property
    def peak_flops(self) -> float:
        """f32 operations a second on one core."""
        return self.flops_per_cycle * self.hertz
