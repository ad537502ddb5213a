"""ShareGroupMemberMetadataValue, v0.

Made by `make codec` from protocol/schema/records_and_headers.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple


class ShareGroupMemberMetadataValue(NamedTuple):
    rack_id: str | None = ""  # v0+, null v0+
    client_id: str = ""  # v0+
    client_host: str = ""  # v0+
    subscribed_topic_names: Sequence[str] = ()  # v0+
