"""UpdateFeaturesRequest, v0 to v1.

Made by `make codec` from protocol/schema/57_update_features.txt: do not edit.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from headrace.protocol.messages.update_features_response import UpdateFeaturesResponse


class FeatureUpdateKey(NamedTuple):
    feature: str = ""  # v0+
    max_version_level: int = 0  # v0+
    allow_downgrade: bool = False  # v0
    upgrade_type: int = 1  # v1+


class _UpdateFeaturesRequest(NamedTuple):
    timeout_ms: int = 60000  # v0+
    feature_updates: Sequence[FeatureUpdateKey] = ()  # v0+
    validate_only: bool = False  # v1+


class UpdateFeaturesRequest(_UpdateFeaturesRequest):
    __slots__ = ()
    FeatureUpdateKey: TypeAlias = FeatureUpdateKey
    if TYPE_CHECKING:

        def _answer_(self) -> UpdateFeaturesResponse: ...
