"""`cuvil-pack explain`: which variant runs here, and why."""

from __future__ import annotations

import cuvil_runtime

from .command import declare, file_argument
from .screen import Screen

EXAMPLES = """\
cuvil-pack explain minilm.cuvil
CUVIL_CPU_DISABLE=avx512f cuvil-pack explain minilm.cuvil"""


@declare("explain", EXAMPLES)
@file_argument
def command(screen: Screen, file: str) -> int:
    """Show this machine, the variants of FILE, what each needs and lacks, and which one runs.

    Exit code 1 where none does.
    """
    found = cuvil_runtime.explain(file)
    screen.show(found.data(), str(found))
    return 0 if found.good else 1
