"""`cuvil-pack verify`: does the bundle still answer as its model did?"""

from __future__ import annotations

import cuvil_runtime

from .command import declare, file_argument, threads_option
from .screen import Screen

EXAMPLES = """\
cuvil-pack verify minilm.cuvil
cuvil-pack verify minilm.cuvil --threads 1 --json"""


@declare("verify", EXAMPLES)
@file_argument
@threads_option
def command(screen: Screen, file: str, threads: int | None) -> int:
    """Run the recorded calls of FILE through every variant that this machine has. Exit 1 where an answer differs."""
    found = cuvil_runtime.verify(file, threads)
    screen.show(found.data(), str(found))
    return 0 if found.good else 1
