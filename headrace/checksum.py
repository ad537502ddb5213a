"""CRC-32C: by the record kernel (`protocol/kernel/crc32c.c`), or by the extension of the `crc32c` package, where no kernel was built.

Of the package the extension alone: the package itself reads its version from its metadata and builds a command line when it is
imported. That brings the e-mail parser, zip files and argparse, a twentieth of the imports of a node, and 2 MB of its memory.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.util import find_spec, module_from_spec
from typing import Any, Final

from headrace.compiled_kernel import KERNEL

_PACKAGE: Final = "crc32c"
_EXTENSION: Final = "crc32c._crc32c"


def _load() -> Any:
    """The extension, or the package where that was imported before, or where the extension is not where it has been. raises ImportError"""
    if _PACKAGE in sys.modules:
        return sys.modules[_PACKAGE]
    package = find_spec(_PACKAGE)
    for directory in (package and package.submodule_search_locations) or ():
        spec = FileFinder(directory, (ExtensionFileLoader, EXTENSION_SUFFIXES)).find_spec(_EXTENSION)
        if spec is not None and spec.loader is not None:
            extension = module_from_spec(spec)
            spec.loader.exec_module(extension)
            return extension
    import crc32c

    return crc32c


crc32c: Final[Callable[..., int]] = _load().crc32c if KERNEL is None else KERNEL.crc32c
"""(data, value=0): the checksum of the bytes after those that have `value`."""
