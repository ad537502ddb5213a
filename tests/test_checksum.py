"""CRC-32C by the extension of the package alone."""

import subprocess
import sys

import crc32c as package

from headrace.checksum import crc32c

KNOWN = 0xE3069283  # of 123456789, RFC 3720

AS_IT_IS_IMPORTED = """
import sys
{before}
from headrace.checksum import crc32c
import crc32c as package
assert crc32c(b"123456789") == package.crc32c(b"123456789") == 0xE3069283
print("email" in sys.modules)
"""


def test_it_is_the_package_s_function():
    assert crc32c(b"123456789") == KNOWN
    assert crc32c(b"789", crc32c(b"123456")) == package.crc32c(b"123456789")


def test_the_package_is_imported_before_it_after_it_or_not_at_all():
    for before in ("", "import crc32c"):
        done = subprocess.run(
            [sys.executable, "-c", AS_IT_IS_IMPORTED.format(before=before)], capture_output=True, text=True
        )
        assert (done.returncode, done.stdout) == (0, "True\n"), done.stderr
