"""Every error of Cuvil stands below one root; here are the root and what a bundle can be refused for.

CuvilError
└── BundleError
    ├── Unreadable      the file cannot be opened
    ├── NotABundle      the file is something else
    ├── NewerFormat     written for a later format than this reader knows
    ├── Damaged         the bytes are not the ones that were written
    ├── Malformed       the bytes are as written, and say what the format forbids
    └── Incompatible    a sound bundle, and nothing in it may run here
"""


class CuvilError(Exception):
    """The root of every error that Cuvil raises on purpose."""


class BundleError(CuvilError):
    """A bundle is refused."""


class Unreadable(BundleError):
    """The file cannot be opened or mapped."""


class NotABundle(BundleError):
    """The file does not begin as a bundle does."""


class NewerFormat(BundleError):
    """The bundle was written for a later format than this reader knows."""


class Damaged(BundleError):
    """The file is cut, longer than it says, or its bytes are not the ones that were written."""


class Malformed(BundleError):
    """The bundle says something that the format forbids."""


class Incompatible(BundleError):
    """No variant of the bundle, or not the one that was asked for, may run on this machine."""
