"""RequestHeader, v0 to v2.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from typing import NamedTuple


class RequestHeader(NamedTuple):
    request_api_key: int = 0  # v0+
    request_api_version: int = 0  # v0+
    correlation_id: int = 0  # v0+
    client_id: str | None = ""  # v1+, null v1+
