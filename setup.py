"""What pyproject.toml can't say: a wheel carries the native parts (`tools/native`), where a C compiler is.

An editable install gets none here: `make core` builds them in the checkout.
"""

import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from headrace import compiled_core  # noqa: E402
from tools.native import core, kernel  # noqa: E402

NOT_IN_PACKAGES = (
    "constraints.txt",
    "tools/__init__.py",
    *(f"tools/native/{path.name}" for path in ROOT.glob("tools/native/*.py")),
)


class BuildWithNative(build_py):
    """The sources, and beside them what was compiled of them."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            target = compiled_core.directory(Path(self.build_lib, "headrace"))
            kernel.build(ROOT, target, "")
            core.build(ROOT, target, "")

    def get_source_files(self) -> list[str]:
        return [*super().get_source_files(), *NOT_IN_PACKAGES]


class WithNative(Distribution):
    """A wheel with a library is of one Python and machine; one that is asked to be pure fits any."""

    def has_ext_modules(self) -> bool:
        return not compiled_core.is_pure_asked()


setup(cmdclass={"build_py": BuildWithNative}, distclass=WithNative)
