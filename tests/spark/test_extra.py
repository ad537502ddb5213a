"""`import headrace.spark` where the extra is not installed says what to install."""

import subprocess
import sys

import pytest

WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{module}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
try:
    import headrace.spark
except ImportError as failure:
    print(failure)
"""


@pytest.mark.parametrize("module", ["pyspark", "pyarrow", "numba"])
def test_the_extra_is_named(module):
    code = WITHOUT.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (
        done.stdout
        == f"headrace.spark needs the extra spark: pip install 'headrace[spark]' (No module named '{module}')\n"
    )
