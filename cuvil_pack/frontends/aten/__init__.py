"""ATen said with the ops of the IR: a file of functions per family. Importing this package needs no torch."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
