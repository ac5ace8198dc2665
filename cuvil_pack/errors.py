"""What a model can be refused for, below the root that the whole of Cuvil shares.

CuvilError
└── PackError
    └── ToolchainError   the generated program does not compile, or is not what a bundle may carry
"""

from cuvil_schema.errors import CuvilError


class PackError(CuvilError):
    """A model cannot be packed."""


class ToolchainError(PackError):
    """The compiler is missing, refuses the program, or made an object that needs what a process may not have."""
