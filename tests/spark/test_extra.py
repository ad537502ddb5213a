"""`headrace.spark` where the extra is not installed says what to install."""

import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

pytestmark = pytest.mark.process

WITHOUT = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "{module}":
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
try:
    from headrace.spark import scan
except ImportError as failure:
    print(failure)
"""


@pytest.mark.parametrize("module", ["pyspark", "pyarrow"])
def test_the_extra_is_named(module):
    code = WITHOUT.format(module=module)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (
        done.stdout
        == f"headrace.spark needs the extra spark: pip install 'headrace[spark]' (No module named '{module}')\n"
    )


DECODING = """
import sys
class Without:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("fastavro", "google"):
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Without())
from headrace.spark import decoding
decoding.json("a int")
try:
    decoding.{call}
except ImportError as failure:
    print(failure)
"""


@pytest.mark.parametrize(
    ("call", "extra", "package"),
    [("avro('\"int\"')", "avro", "fastavro"), ("protobuf(b'')", "protobuf", "protobuf")],
)
def test_a_decoder_names_the_extra_that_it_needs(call, extra, package):
    done = subprocess.run(
        [sys.executable, "-c", DECODING.format(call=call)], capture_output=True, text=True, timeout=60
    )
    assert done.stdout.startswith(f"decoding {extra} needs the package {package}: pip install 'headrace[{extra}]'"), (
        done.stderr
    )


def test_any_pyspark_from_4_0_on_will_do():
    """Nobody's cluster has the one that we develop with."""
    project = tomllib.loads((Path(__file__).parent.parent.parent / "pyproject.toml").read_text())["project"]
    requirements = map(Requirement, project["optional-dependencies"]["spark"])
    (pyspark,) = (one for one in requirements if one.name == "pyspark")
    for version, is_taken in (("3.5.9", False), ("4.0.0", True), ("4.0.5", True), ("4.3.0", True)):
        assert pyspark.specifier.contains(version) is is_taken, version
