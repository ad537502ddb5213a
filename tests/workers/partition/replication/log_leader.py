"""A leader broker over a real log, played by the test: it answers followers as Apache Kafka's leader does.

It keeps fetch sessions, checks epochs, tells of diverging ones (or answers OffsetForLeaderEpoch), and holds a Fetch back until it
has news. What it should say wrong, the test makes of its answer (`alter`).
"""

import os

from headrace.errors import ErrorCode
from headrace.ids import TopicPartition
from headrace.log.config import LogConfig
from headrace.log.reading.reader import LogReader
from headrace.log.recovery.log_loader import LogCheckpoint
from headrace.log.writing.log_environment import LogEnvironment
from headrace.log.writing.partition_log import PartitionLog
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey, response_header_version
from headrace.protocol.codec import decode_request, encode_response
from tests.runtime.fake_node import FakeNode, response
from tests.support.fake_clock import NOW_MS, FakeClock
from tests.support.fake_seat import TOPIC_ID
from tests.support.log_fixtures import batch

TOPIC = bytes.fromhex(TOPIC_ID)
_Response = messages.FetchResponse
_Data = _Response.PartitionData


class LedLog:
    """A log, and the epoch under which it is led. `high_watermark` None: its end."""

    def __init__(self, directory, name="t", index=0, epoch=0, config=None):
        self.partition = TopicPartition(name, index)
        self._directory = directory / str(self.partition)
        self._config = config or LogConfig()
        self.log = self._open(LogCheckpoint())
        self.epoch = epoch
        self.leads = True
        self.high_watermark = None

    def _open(self, checkpoint):
        return PartitionLog.open(
            self._directory, self.partition, self._config, checkpoint, LogEnvironment(clock=FakeClock())
        )

    def restart(self, lost_from=None):
        """Its process restarts, with the log as it was, or without what was not synced."""
        start = self.log.log_start_offset
        self.log.abandon()
        self.log = self._open(LogCheckpoint(log_start_offset=start))
        if lost_from is not None:
            self.log.truncate_to(max(start, lost_from))
        return self

    def lead(self, epoch):
        self.epoch = epoch
        self.log.assign_leader_epoch(epoch)
        return self

    def append(self, count=1, size=100, epoch=None, **kwargs):
        """As many batches of one record; the offsets of the first and the last."""
        for _ in range(count):
            ((error, _base, _time),) = self.log.append_as_leader(
                [batch(size=size, **kwargs)], self.epoch if epoch is None else epoch, NOW_MS
            )
            assert not error
        return self

    def refusal(self, epoch):
        if not self.leads:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        if 0 <= epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if epoch > self.epoch else 0

    def read(self, offset, size):
        log = self.log
        reader = LogReader(log.directory)
        reader.refresh(log.segments_version)
        found = reader.locate(offset, size, log.end_segment, log.end_position, True)
        records = os.pread(found.fd, found.length, found.position) if found else b""
        reader.close()
        return records


class LogLeader:
    """One broker that leads some logs.

    fetches, asked   decoded Fetch requests, and all requests as (api key, version, request)
    alter            called with each answer (a decoded message) before it is sent; returns what is sent instead, None: nothing
    """

    def __init__(self, *logs):
        self.node = FakeNode()
        self.logs = {log.partition: log for log in logs}
        self.asked = []
        self.alter = lambda _key, answer: answer
        self.keeps_sessions = True
        self.holds_fetches = True
        self._sessions = {}  # id -> [epoch, {(name, index): row}, {(name, index): what was told}]
        self._next_id = 100
        self._held = []  # fetches that wait for news

    @property
    def fetches(self):
        return [request for key, _version, request in self.asked if key == ApiKey.FETCH]

    def lead(self, log):
        self.logs[log.partition] = log

    def pump(self):
        self.node.pump()
        for session in self.node.sessions:
            while session.requests:
                header, body = session.requests.pop(0)
                request = decode_request(header.api_key, header.api_version, memoryview(body))
                self.asked.append((header.api_key, header.api_version, request))
                self._take(session, header, request)
        held, self._held = self._held, []
        for one in held:
            if not one[0].is_over and not self._answer_fetch(*one):
                self._held.append(one)

    def close(self):
        self.node.close()
        for log in self.logs.values():
            log.log.abandon()

    def forget_sessions(self):
        self._sessions.clear()

    def _take(self, session, header, request):
        if header.api_key == ApiKey.FETCH:
            self._begin_fetch(session, header, request)
        elif header.api_key == ApiKey.OFFSET_FOR_LEADER_EPOCH:
            self._say(session, header, self._end_offsets(request))
        elif header.api_key == ApiKey.LIST_OFFSETS:
            self._say(session, header, self._offsets(request))
        else:
            raise AssertionError(header)

    def _say(self, session, header, answer):
        answer = self.alter(header.api_key, answer)
        if answer is None:
            return
        body = answer if isinstance(answer, bytes) else encode_response(header.api_key, header.api_version, answer)
        tags = b"\0" if response_header_version(header.api_key, header.api_version) else b""
        session.say(response(header.correlation_id, tags + body))

    # Fetch

    def _begin_fetch(self, session, header, request):
        is_by_id = header.api_version >= 13
        rows = {
            (topic.topic if not is_by_id else self._name_of(topic.topic_id), row.partition): row
            for topic in request.topics
            for row in topic.partitions
        }
        kept = None
        if request.session_epoch == 0:
            self._sessions.pop(request.session_id, None)
            if self.keeps_sessions:
                self._next_id += 1
                kept = self._sessions[self._next_id] = [1, dict(rows), {}]
                session_id = self._next_id
            else:
                session_id = 0
        elif request.session_epoch == -1:
            session_id = 0
        else:
            session_id = request.session_id
            kept = self._sessions.get(session_id)
            error = 0
            if kept is None:
                error = ErrorCode.FETCH_SESSION_ID_NOT_FOUND
            elif kept[0] != request.session_epoch:
                error = ErrorCode.INVALID_FETCH_SESSION_EPOCH
            if error:
                self._say(session, header, _Response(error_code=int(error)))
                return
            kept[0] += 1
            for topic in request.forgotten_topics_data:
                name = topic.topic if not is_by_id else self._name_of(topic.topic_id)
                for index in topic.partitions:
                    del kept[1][name, index]
                    kept[2].pop((name, index), None)
            kept[1].update(rows)
            rows = kept[1]
        told = kept[2] if kept is not None and request.session_epoch > 0 else None
        one = (session, header, request, rows, session_id, told, kept)
        if not self._answer_fetch(*one, is_first=True):
            self._held.append(one)

    def _answer_fetch(self, session, header, request, rows, session_id, told, kept, is_first=False):
        """Answer if there is news; a full fetch tells of all."""
        left = request.max_bytes
        found, has_news = {}, told is None or not rows
        for (name, index), row in rows.items():
            data = self._read(name, index, row, min(left, row.partition_max_bytes), header.api_version)
            left -= len(data.records or b"")
            what = (data.high_watermark, data.log_start_offset)
            is_news = bool(data.records) or data.error_code != 0 or data.diverging_epoch.epoch >= 0
            if told is not None and not is_news and told.get((name, index)) == what:
                continue
            has_news = has_news or is_news or told is not None
            found.setdefault(name, []).append((index, data, what))
        if self.holds_fetches and not has_news:
            return False
        for name, some in found.items():
            for index, _data, what in some:
                if kept is not None:
                    kept[2][name, index] = what
        topics = [
            _Response.FetchableTopicResponse(
                topic=name, topic_id=TOPIC, partitions=[data for _index, data, _what in some]
            )
            for name, some in found.items()
        ]
        self._say(session, header, _Response(session_id=session_id, responses=topics))
        return True

    def _name_of(self, topic_id):
        assert topic_id == TOPIC
        return next(iter(self.logs)).topic

    def _read(self, name, index, row, size, version):
        led = self.logs.get(TopicPartition(name, index))
        if led is None:
            return _Data(partition_index=index, error_code=int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION), records=b"")
        log = led.log
        error = led.refusal(row.current_leader_epoch)
        diverging = _Response.EpochEndOffset()
        records = b""
        if not error and row.fetch_offset < log.log_start_offset:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        if not error and version >= 12 and row.last_fetched_epoch >= 0:
            epoch, end_offset = log.epochs.end_offset_for(row.last_fetched_epoch, log.log_end_offset)
            if end_offset < 0:
                error = ErrorCode.OFFSET_OUT_OF_RANGE
            elif epoch < row.last_fetched_epoch or end_offset < row.fetch_offset:
                diverging = _Response.EpochEndOffset(epoch=epoch, end_offset=end_offset)
        if not error and diverging.epoch < 0 and row.fetch_offset > log.log_end_offset:
            error = ErrorCode.OFFSET_OUT_OF_RANGE
        if not error and diverging.epoch < 0 and row.fetch_offset < log.log_end_offset:
            records = led.read(row.fetch_offset, size)
        high_watermark = log.log_end_offset if led.high_watermark is None else led.high_watermark
        return _Data(
            partition_index=index, error_code=int(error), high_watermark=-1 if error else high_watermark,
            log_start_offset=-1 if error else log.log_start_offset, diverging_epoch=diverging, records=records,
        )  # fmt: skip

    # The others

    def _end_offsets(self, request):
        kind = messages.OffsetForLeaderEpochResponse
        topics = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                led = self.logs[TopicPartition(topic.topic, row.partition)]
                error = led.refusal(row.current_leader_epoch)
                epoch, end_offset = (
                    (-1, -1) if error else led.log.epochs.end_offset_for(row.leader_epoch, led.log.log_end_offset)
                )
                rows.append(
                    kind.EpochEndOffset(
                        error_code=int(error), partition=row.partition, leader_epoch=epoch, end_offset=end_offset
                    )
                )
            topics.append(kind.OffsetForLeaderTopicResult(topic=topic.topic, partitions=rows))
        return kind(topics=topics)

    def _offsets(self, request):
        kind = messages.ListOffsetsResponse
        topics = []
        for topic in request.topics:
            rows = []
            for row in topic.partitions:
                led = self.logs[TopicPartition(topic.name, row.partition_index)]
                error = led.refusal(row.current_leader_epoch)
                offset = -1 if error else led.log.log_end_offset if row.timestamp == -1 else led.log.log_start_offset
                rows.append(
                    kind.ListOffsetsPartitionResponse(
                        partition_index=row.partition_index, error_code=int(error), offset=offset
                    )
                )
            topics.append(kind.ListOffsetsTopicResponse(name=topic.name, partitions=rows))
        return kind(topics=topics)
