"""What pyproject.toml can't say: a wheel carries the compiled core (`headrace/compiled_build.py`), where a C compiler is.

An editable install gets none here: `make core` builds it in the checkout.
"""

import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from headrace import compiled_build, compiled_core, kernel_build  # noqa: E402


class BuildWithCore(build_py):
    """The sources, and beside them what was compiled of them."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            package = Path(self.build_lib, "headrace")
            kernel_build.build_kernel(ROOT, compiled_core.directory(package), "")
            compiled_build.build(ROOT, compiled_core.directory(package), "")

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), "constraints.txt"]


class WithCore(Distribution):
    """A wheel with a library is of one Python and machine; one that is asked to be pure fits any."""

    def has_ext_modules(self) -> bool:
        return not compiled_core.is_pure_asked()


setup(cmdclass={"build_py": BuildWithCore}, distclass=WithCore)
