"""ApiVersionsResponse, v0 to v4.

Made by `make codec` from protocol/schema/18_api_versions.txt: do not edit.
"""

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias


class ApiVersion(NamedTuple):
    api_key: int = 0  # v0+
    min_version: int = 0  # v0+
    max_version: int = 0  # v0+


class SupportedFeatureKey(NamedTuple):
    name: str = ""  # v3+
    min_version: int = 0  # v3+
    max_version: int = 0  # v3+


class FinalizedFeatureKey(NamedTuple):
    name: str = ""  # v3+
    max_version_level: int = 0  # v3+
    min_version_level: int = 0  # v3+


class _ApiVersionsResponse(NamedTuple):
    error_code: int = 0  # v0+
    api_keys: Sequence[ApiVersion] = ()  # v0+
    throttle_time_ms: int = 0  # v1+
    supported_features: Sequence[SupportedFeatureKey] = ()  # v3+, tag 0 v3+
    finalized_features_epoch: int = -1  # v3+, tag 1 v3+
    finalized_features: Sequence[FinalizedFeatureKey] = ()  # v3+, tag 2 v3+
    zk_migration_ready: bool = False  # v3+, tag 3 v3+


class ApiVersionsResponse(_ApiVersionsResponse):
    __slots__ = ()
    ApiVersion: TypeAlias = ApiVersion
    SupportedFeatureKey: TypeAlias = SupportedFeatureKey
    FinalizedFeatureKey: TypeAlias = FinalizedFeatureKey
