"""Kernel bodies to source code. Importing this package defines every template."""

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

HEADERS = Path(__file__).parent / "cpu"
"""The folder of the C headers that generated programs include."""

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
