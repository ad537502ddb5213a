"""A source as one process of a mirror sees it: its cluster, the partitions that are copied, and whether it responds.

A mirror of several sources copies from those that respond. One that is away when the mirror starts is taken up when it is back.
"""

from __future__ import annotations

import logging

from headrace.client.cluster import Cluster
from headrace.client.connection import ConnectionFailed
from headrace.errors import BadFrame, KafkaError
from headrace.ids import TopicPartition
from headrace.mirror.outage import Outage
from headrace.mirror.partition_copy import PartitionCopy
from headrace.mirror.source_reader import SourceReader

log = logging.getLogger("headrace.mirror")


class Source:
    """`reader` and `cluster` have connections of their own.

    source_id   of its cluster; where it has none (Kafka 0.10.0), its addresses; empty until it has responded once
    is_seen     its topics were looked at once
    """

    def __init__(self, bootstrap: str, cluster: Cluster, reader: SourceReader, outage: Outage) -> None:
        self.bootstrap = bootstrap
        self.cluster = cluster
        self.reader = reader
        self.source_id = ""
        self.is_seen = False
        self.copies: dict[TopicPartition, PartitionCopy] = {}
        self._outage = outage
        self._is_reported = False  # that it is away

    @property
    def is_away(self) -> bool:
        """Whether the last try got no response."""
        return bool(self._outage.reason)

    def identify(self) -> None:
        """Wait for it. raises   ConnectionFailed, KafkaError"""
        self.cluster.retried(lambda: self.cluster.refresh([]), set())
        self._found()

    def responds(self) -> bool:
        """Ask for its brokers, unless it is left alone now. Its id is known once this was true."""
        outage = self._outage
        if not outage.may_try:
            self._report()
            return False
        begun_s = outage.clock_s()
        try:
            self.cluster.refresh([])
        except (ConnectionFailed, KafkaError, BadFrame) as failure:
            outage.failed(begun_s, failure)
            self._report()
            return False
        self._found()
        return True

    def _found(self) -> None:
        self.source_id = self.source_id or self.cluster.cluster_id or self.bootstrap
        self._outage.ended()
        if self._is_reported:
            self._is_reported = False
            log.info("source responds again source=%s", self.source_id)

    def _report(self) -> None:
        """Once for each outage, whichever part found it."""
        if not self._is_reported:
            self._is_reported = True
            log.warning(
                "source does not respond source=%s reason=%s", self.source_id or self.bootstrap, self._outage.reason
            )

    def close(self) -> None:
        self.reader.close()
        self.cluster.close()
