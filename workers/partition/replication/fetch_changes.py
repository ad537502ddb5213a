"""An incremental Fetch by topic ids: the request that a follower sends for each answer, written without a message's objects.

    since v13   [replica id] | max wait | min bytes | max bytes | isolation | session id, epoch | topics( id | partitions ) |
                nothing forgotten | no rack | tags: since v15 the follower, with its broker epoch

Runs in: a partition worker. Every other Fetch is the codec's. Source: `protocol/schema/01_fetch.txt`; a test compares.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from typing import Final

from headrace.protocol.varint import encode_uvarint
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetch_session import Subject

_VERSION_OF_REPLICA_STATE: Final = 15
_REPLICA: Final = Struct(">i")
_HEAD: Final = Struct(">iiibii")
_ROW: Final = Struct(">iiqiqix")  # the last byte: no tags
_STATE: Final = Struct(">iqx")
_STATE_TAG: Final = 1


def build_changes(
    version: int,
    options: FetchOptions,
    broker_epoch: int,
    session: tuple[int, int],
    subjects: Sequence[Subject],
) -> bytes:
    """The body of a request.

    version        13 and later
    broker_epoch   our own
    session        id and epoch
    subjects       each as it was `asked`, in their order within a topic
    """
    session_id, epoch = session
    head = _HEAD.pack(options.wait_max_ms, options.min_bytes, options.response_bytes_max, 0, session_id, epoch)
    parts = [head] if version >= _VERSION_OF_REPLICA_STATE else [_REPLICA.pack(options.node_id), head]
    topics: dict[bytes, list[Subject]] = {}
    for subject in subjects:
        topics.setdefault(subject.topic_id, []).append(subject)
    parts.append(encode_uvarint(len(topics) + 1))
    for topic_id, named in topics.items():
        parts += (topic_id, encode_uvarint(len(named) + 1))
        parts += _rows(named, options.partition_bytes_max)
        parts.append(b"\0")
    parts.append(_end(version, options.node_id, broker_epoch))
    return b"".join(parts)


def _rows(subjects: Iterable[Subject], bytes_max: int) -> list[bytes]:
    rows: list[bytes] = []
    for subject in subjects:
        asked = subject.asked
        assert asked is not None
        leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, own_max = asked
        limit = own_max or bytes_max
        rows.append(_ROW.pack(subject.index, leader_epoch, fetch_offset, last_fetched_epoch, log_start_offset, limit))
    return rows


def _end(version: int, node_id: int, broker_epoch: int) -> bytes:
    """Nothing to forget, a rack of no letters, and the tags."""
    if version < _VERSION_OF_REPLICA_STATE:
        return b"\x01\x01\x00"
    return bytes((1, 1, 1, _STATE_TAG, _STATE.size)) + _STATE.pack(node_id, broker_epoch)
