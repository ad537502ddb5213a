"""UpdateMetadataResponse, v0 to v8.

Made by `make codec` from protocol/schema/06_update_metadata.txt: do not edit.
"""

from typing import NamedTuple


class UpdateMetadataResponse(NamedTuple):
    error_code: int = 0  # v0+
