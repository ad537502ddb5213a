"""Filters of topics: `Whitelist("a.*,b")`, `Blacklist("_.*")`. Pure.

A filter is a regex that has to match the whole name; commas separate alternatives. Old configs wrote Java's dialect: what both Java and
Python have works, anything else is refused when the filter is made.

Source: Kafka 0.8.2 `kafka.consumer.TopicFilter`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from headrace.classic.registry import BLACK_LIST, STATIC, WHITE_LIST, Registration
from headrace.errors import ConfigError
from headrace.ids import INTERNAL_TOPICS


class TopicFilter:
    """What both kinds have: the regex."""

    pattern = STATIC

    def __init__(self, regex: str) -> None:
        """raises   ConfigError, for an invalid regex"""
        self.regex = "".join(regex.strip().replace(",", "|").split()).strip("\"'")
        try:
            self._compiled = re.compile(self.regex)
        except re.error as failure:
            raise ConfigError("topic filter", regex, f"not a regex: {failure}") from None

    def is_allowed(self, topic: str, exclude_internal: bool = True) -> bool:
        """Whether a topic is subscribed to."""
        if exclude_internal and topic in INTERNAL_TOPICS:
            return False
        return self._is_listed(self._compiled.fullmatch(topic) is not None)

    def _is_listed(self, is_matched: bool) -> bool:
        return is_matched


class Whitelist(TopicFilter):
    """Topics that match."""

    pattern = WHITE_LIST


class Blacklist(TopicFilter):
    """Topics that don't match."""

    pattern = BLACK_LIST

    def _is_listed(self, is_matched: bool) -> bool:
        return not is_matched


def streams_of(registration: Registration, topics: Iterable[str], exclude_internal: bool = True) -> dict[str, int]:
    """How many streams a member has of each topic; raises ConfigError, for a filter that is invalid."""
    if registration.pattern == STATIC:
        return dict(registration.subscription)
    ((regex, count),) = registration.subscription.items()
    kind = Whitelist if registration.pattern == WHITE_LIST else Blacklist
    wanted = kind(regex)
    return {topic: count for topic in topics if wanted.is_allowed(topic, exclude_internal)}
