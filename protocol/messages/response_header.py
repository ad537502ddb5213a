"""ResponseHeader, v0 to v1.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class ResponseHeader(NamedTuple):
    correlation_id: int = 0  # v0+
