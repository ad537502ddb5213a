"""Channels to brokers that note what they are told."""

from __future__ import annotations

from headrace.controller.active.broker_requests import leaders_request
from headrace.errors import ErrorCode


class FakeChannels:
    """`active/notices.Channels`.

    told           the notices, as tuples, in their order
    is_answering   whether brokers answer a LeaderAndIsr, at once: that their replicas serve, but for those that are known to have failed
    """

    def __init__(self, term, is_answering) -> None:
        self.term = term
        self.is_answering = is_answering
        self.open = set(term.known.brokers)
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

    def answer_leaders(self, brokers, topic, indexes=None, error=ErrorCode.NONE):
        """Brokers answer what they were sent of a topic's partitions, those that they have replicas of; None: of all."""
        known = self.term.known.topics.get(topic)
        failed = self.term.failed
        for broker in brokers if known is not None else ():
            told = [
                index
                for index in (range(len(known.replicas)) if indexes is None else known.known_of(indexes))
                if broker in known.replicas[index] and (error or (topic, index) not in failed.get(broker, ()))
            ]
            asked = leaders_request(self.term, 0, {topic: dict.fromkeys(told, False)})
            if asked is not None:
                self.term.take_answer(broker, asked, dict.fromkeys([(topic, index) for index in told], error))

    def tell_leaders(self, topic, indexes, brokers=None, *, is_new=False):
        if not indexes:
            return
        self._note("leaders", topic, sorted(indexes), brokers, is_new)
        if self.is_answering() and not self.is_closed:
            self.answer_leaders([one for one in sorted(self.open) if brokers is None or one in brokers], topic, indexes)

    def tell_metadata(self, topic, indexes=None, brokers=None):
        self._note("metadata", topic, indexes if indexes is None else sorted(indexes), brokers)

    def tell_brokers(self, brokers=None):
        self._note("brokers", brokers)

    def stop_replica(self, broker, topic, index, leader_epoch, *, is_deleted, on_stopped=None):
        if broker not in self.open:
            return False
        self._note("stop", broker, topic, index, leader_epoch, is_deleted, on_stopped)
        return True

    def tell_all(self, broker):
        self._note("all", broker)

    def heard(self):
        return self.unheard

    def take_brokers(self, gone, come):
        self._note("changed", sorted(gone), sorted(come))
        self.open = (self.open - set(gone)) | set(come)
        if self.is_answering():
            for name in self.term.known.topics_on(come):
                self.answer_leaders(sorted(come), name)

    def move_brokers(self, brokers):
        self._note("moved", brokers)

    def close(self):
        self.is_closed = True

    def _note(self, *notice):
        if not self.is_closed:
            self.told.append(notice)
