"""What a model can be refused for, below the root that the whole of Cuvil shares.

CuvilError
└── PackError
    ├── ToolchainError   the generated program does not compile, or is not what a bundle may carry
    ├── OutputError      the bundle cannot be written where it should go
    └── ProofError       the finished bundle does not answer as the model does
"""

from cuvil_schema.errors import CuvilError


class PackError(CuvilError):
    """A model cannot be packed."""


class ToolchainError(PackError):
    """The compiler is missing, refuses the program, or made an object that needs what a process may not have."""


class OutputError(PackError):
    """The bundle cannot be written."""


class ProofError(PackError):
    """The bundle, run in a process of its own, differs from the model or does not run."""
