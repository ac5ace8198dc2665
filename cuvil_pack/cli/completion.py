"""`cuvil-pack completion`: the script that teaches a shell the commands and options."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from .command import declare
from .screen import Screen

EXAMPLES = """\
eval "$(cuvil-pack completion bash)"                                    # in ~/.bashrc
eval "$(cuvil-pack completion zsh)"                                     # in ~/.zshrc
cuvil-pack completion fish > ~/.config/fish/completions/cuvil-pack.fish"""


@declare("completion", EXAMPLES)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
def command(screen: Screen, shell: str) -> int:
    """Print the completion script of SHELL."""
    made = get_completion_class(shell)
    assert made is not None
    root = click.get_current_context().find_root().command
    script = made(root, {}, "cuvil-pack", "_CUVIL_PACK_COMPLETE").source()
    screen.show({"shell": shell, "script": script}, script)
    return 0
