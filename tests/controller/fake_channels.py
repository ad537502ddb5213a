"""Channels to brokers that note what they are told."""

from __future__ import annotations

from headrace.errors import ErrorCode


class FakeChannels:
    """`active/notices.Channels`.

    told      the notices, as tuples, in their order
    """

    def __init__(self) -> None:
        self.told = []
        self.is_closed = False
        self.unheard = {}  # what `heard` gives

    def of(self, kind):
        """The notices of one kind, without its name."""
        return [notice[1:] for notice in self.told if notice[0] == kind]

    def answer_stops(self, brokers, error=ErrorCode.NONE):
        """Brokers answer the StopReplica that they were sent; returns what each was about."""
        asked = [notice for notice in self.told if notice[0] == "stop" and notice[1] in brokers]
        self.told = [notice for notice in self.told if notice not in asked]
        for _kind, broker, topic, index, _epoch, _is_deleted, on_stopped in asked:
            if on_stopped is not None:
                on_stopped(broker, topic, index, error)
        return [notice[1:6] for notice in asked]

    def tell_leaders(self, topic, indexes, brokers=None, *, is_new=False):
        if not indexes:
            return
        self._note("leaders", topic, sorted(indexes), brokers, is_new)

    def tell_metadata(self, topic, indexes=None, brokers=None):
        self._note("metadata", topic, indexes if indexes is None else sorted(indexes), brokers)

    def tell_brokers(self, brokers=None):
        self._note("brokers", brokers)

    def stop_replica(self, broker, topic, index, leader_epoch, *, is_deleted, on_stopped=None):
        self._note("stop", broker, topic, index, leader_epoch, is_deleted, on_stopped)

    def tell_all(self, broker):
        self._note("all", broker)

    def heard(self):
        return self.unheard

    def take_brokers(self, gone, come):
        self._note("changed", sorted(gone), sorted(come))

    def move_brokers(self, brokers):
        self._note("moved", brokers)

    def close(self):
        self.is_closed = True

    def _note(self, *notice):
        if not self.is_closed:
            self.told.append(notice)
