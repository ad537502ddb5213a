"""CRC-32C by the record kernel, or by the extension of the package alone."""

import os
import subprocess
import sys

import crc32c as package
import pytest

from headrace.checksum import crc32c
from tests.support import walkers

KNOWN = 0xE3069283  # of 123456789, RFC 3720

AS_IT_IS_IMPORTED = """
import sys
{before}
from headrace.checksum import crc32c
assert "email" not in sys.modules or {before!r}
import crc32c as package
assert crc32c(b"123456789") == package.crc32c(b"123456789") == 0xE3069283
"""


def test_it_is_the_checksum_of_the_standard():
    assert crc32c(b"123456789") == KNOWN
    assert crc32c(b"789", crc32c(b"123456")) == package.crc32c(b"123456789")


@pytest.mark.process
@pytest.mark.parametrize("is_pure", [True, False])
@pytest.mark.parametrize("before", ["", "import crc32c"])
def test_the_package_is_imported_before_it_after_it_or_not_at_all(before, is_pure):
    environment = {**os.environ, "HEADRACE_PURE": "1" if is_pure else ""}
    program = AS_IT_IS_IMPORTED.format(before=before)
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_kernel_takes_long_data_and_refuses_what_is_no_value():
    kernel = walkers.built()
    if isinstance(kernel, str):
        pytest.skip(kernel)
    data = os.urandom(1 << 20)
    assert kernel.crc32c(memoryview(data)[1:], 5) == package.crc32c(data[1:], 5)
    with pytest.raises(TypeError, match="crc32c takes 2 arguments, 3 were given"):
        kernel.crc32c(data, 0, 0)
    with pytest.raises(OverflowError):
        kernel.crc32c(data, 1 << 70)
