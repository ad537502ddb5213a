"""ApiVersionsRequest, v0 to v4.

Made by `make codec` from protocol/schema/18_api_versions.txt: do not edit.
"""

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from headrace.protocol.messages.api_versions_response import ApiVersionsResponse


class _ApiVersionsRequest(NamedTuple):
    client_software_name: str = ""  # v3+
    client_software_version: str = ""  # v3+


class ApiVersionsRequest(_ApiVersionsRequest):
    __slots__ = ()
    if TYPE_CHECKING:

        def _answer_(self) -> ApiVersionsResponse: ...
