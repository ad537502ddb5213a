"""Leader epochs of a stream's offsets, and whether the logs still have what was read.

Runs in: a Python process beside Spark's driver. Before a micro-batch is planned, the epochs that the checkpoint has with its offsets are
compared with the leaders' (`client/leader_epochs.py`); where a log was truncated since, the records that were read from the cut on are
no longer in it, and those that took their place would be passed over. A checkpoint without epochs is not compared.

What is kept here is lost with the process: which leader epochs were compared already, and where epochs begin.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping

from headrace.arrow.errors import DataLoss
from headrace.arrow.planner import patiently
from headrace.client.cluster import LATEST, Cluster
from headrace.client.leader_epochs import Position, RecordEpochs, truncations
from headrace.errors import HeadraceError
from headrace.ids import NO_EPOCH, TopicPartition
from headrace.spark.options import SourceOptions
from headrace.spark.stream_offsets import Offsets

_log = logging.getLogger("headrace.spark")

LeaderEpochs = Mapping[TopicPartition, int]


class StreamEpochs:
    """Of one query."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._records = RecordEpochs()
        self._compared: dict[TopicPartition, tuple[Position, int]] = {}  # with which leader's epoch

    def of_ends(self, starts: Offsets, known: Offsets, ends: Offsets, leaders: LeaderEpochs) -> Offsets:
        """The epochs of the last records before `ends`, as far as leaders know them; those of an offset that stays, stay.

        known     the epochs of `starts`
        leaders   leader epochs as they were when the ends were found
        """
        kept = {name: known[name] for name, end in ends.items() if name in known and starts.get(name) == end}
        due = {name: end for name, end in ends.items() if starts.get(name) != end}
        found, left = self._records.remembered(due, leaders)
        if left:
            try:
                with Cluster(self._options.bootstrap_servers) as cluster:
                    cluster.refresh(sorted({name.topic for name in left}))
                    found |= self._records.before(cluster, left)
            except HeadraceError as failure:  # the offsets are right without them
                _log.info("leader epochs of a micro-batch are unknown: %s", failure)
        return kept | found

    def checked(
        self, starts: Offsets, known: Offsets, ends: Offsets, known_ends: Offsets, leaders: LeaderEpochs
    ) -> Offsets:
        """Where to begin: at `starts`, or before them, at the place where a log was cut, if the options read what is there.

        known_ends   epochs of `ends`: of a micro-batch that is repeated, they may be cut off as well
        leaders      as they are now; those that it lacks are asked for
        raises       DataLoss, unless the options allow it; KafkaError, ConnectionFailed
        """
        found = dict(starts)
        for offsets, epochs in ((starts, known), (ends, known_ends)):
            positions = {
                name: Position(offsets[name], epoch)
                for name, epoch in epochs.items()
                if name in offsets and name in ends and self._is_due(name, Position(offsets[name], epoch), leaders)
            }
            if not positions:
                continue
            cuts = patiently(lambda: self._compare(positions), self._options)  # noqa: B023
            for name, at in sorted(cuts.items()):
                self._lose(name, positions[name].offset, at)
                if at >= 0 and name in found:
                    found[name] = min(found[name], at)
        return found

    def _is_due(self, name: TopicPartition, at: Position, leaders: LeaderEpochs) -> bool:
        present = leaders.get(name, NO_EPOCH)
        return present == NO_EPOCH or (present != at.epoch and self._compared.get(name) != (at, present))

    def _compare(self, positions: Mapping[TopicPartition, Position]) -> Offsets:
        """raises   KafkaError, ConnectionFailed"""
        with Cluster(self._options.bootstrap_servers) as cluster:
            there = set(cluster.refresh(None))  # a topic that is gone is the planner's matter
            present = {name: at for name, at in positions.items() if name.topic in there and name in cluster.partitions}
            cluster.offsets(dict.fromkeys(present, LATEST))
            cuts = truncations(cluster, present)
            for name, at in present.items():
                if name not in cuts:
                    self._compared[name] = (at, cluster.leader_epochs.get(name, NO_EPOCH))
            return cuts

    def _lose(self, name: TopicPartition, offset: int, at: int) -> None:
        """raises   DataLoss, unless failOnDataLoss is false"""
        since = (
            f"it has other records from offset {at} on"
            if at >= 0
            else "its leader does not know the epoch in which they were written"
        )
        what = f"{name}: the log was truncated, and no longer has the records before offset {offset} that were read: {since}"
        if self._options.fails_on_data_loss:
            raise DataLoss(f"{what}; failOnDataLoss=false reads what is there")
        _log.warning("records may be lost, continuing because failOnDataLoss=false: %s", what)
