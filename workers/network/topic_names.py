"""Which strings may name a topic.

Source: Kafka `Topic.validate`.
"""

from __future__ import annotations

import re
from typing import Final

from headrace.limits import TOPIC_NAME_LENGTH_MAX

_LEGAL: Final = re.compile(r"[a-zA-Z0-9._-]+\Z")


def is_valid_topic_name(name: str | None) -> bool:
    """Letters, digits, `.`, `_` and `-`; not `.` or `..`; at most 249 characters."""
    return (
        name is not None
        and len(name) <= TOPIC_NAME_LENGTH_MAX
        and name not in (".", "..")
        and _LEGAL.match(name) is not None
    )
