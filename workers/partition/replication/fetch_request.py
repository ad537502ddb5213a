"""The Fetch that a follower sends: by topic ids where the session can, and only what has changed where the leader knows the rest.

Runs in: a partition worker, for each fetch.
"""

from __future__ import annotations

from typing import Final

from headrace.protocol import messages
from headrace.workers.partition.replication.fetch_answer import VERSION_OF_IDS
from headrace.workers.partition.replication.fetch_changes import build_changes
from headrace.workers.partition.replication.fetch_options import FetchOptions
from headrace.workers.partition.replication.fetch_session import FetchSession
from headrace.workers.partition.replication.followed import Followed

VERSION_WITHOUT_IDS: Final = 12

_ReplicaState = messages.FetchRequest.ReplicaState


def build_request(
    session: FetchSession[Followed], options: FetchOptions, broker_epoch: int
) -> tuple[int, bytes | messages.FetchRequest]:
    """(version, the request or its bytes)

    broker_epoch   our own
    """
    versions = options.versions
    is_by_id = versions.fetch >= VERSION_OF_IDS and session.can_go_by_id()
    version = versions.fetch if is_by_id else min(versions.fetch, VERSION_WITHOUT_IDS)
    changes = session.changes() if is_by_id else None
    if changes is not None:
        position = (session.session_id, session.epoch)
        return version, build_changes(version, options, broker_epoch, position, changes)
    topics, forgotten = session.build(is_by_id)
    return version, messages.FetchRequest(
        replica_id=options.node_id,
        replica_state=_ReplicaState(replica_id=options.node_id, replica_epoch=broker_epoch),
        max_wait_ms=options.wait_max_ms,
        min_bytes=options.min_bytes,
        max_bytes=options.response_bytes_max,
        session_id=session.session_id,
        session_epoch=session.epoch,
        topics=topics,
        forgotten_topics_data=forgotten,
    )
