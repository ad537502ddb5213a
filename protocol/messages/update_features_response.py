"""UpdateFeaturesResponse, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class UpdatableFeatureResult(NamedTuple):
    feature: str = ""  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+


class _UpdateFeaturesResponse(NamedTuple):
    throttle_time_ms: int = 0  # v0+
    error_code: int = 0  # v0+
    error_message: str | None = ""  # v0+, null v0+
    results: Sequence[UpdatableFeatureResult] = ()  # v0+


class UpdateFeaturesResponse(_UpdateFeaturesResponse):
    __slots__ = ()
    UpdatableFeatureResult: TypeAlias = UpdatableFeatureResult
