"""What a session can refuse; the root and the errors about the file are in `cuvil_schema.errors`.

CuvilError
├── BundleError     …
├── InputError      a call's arrays are not what the model takes
└── SessionError    the session cannot be opened, is closed, or the machine lacks memory or threads for it
"""

from cuvil_schema.errors import CuvilError


class InputError(CuvilError):
    """An input or output array is not what the model takes, or holds a value that a step refuses."""


class SessionError(CuvilError):
    """The session is closed, or the machine cannot give it what it needs."""
