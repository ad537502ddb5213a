"""The Produce request of a leader: one batch of each of some partitions.

From v3 on a request has batches of v2, before that sets of v1.
"""

from __future__ import annotations

from typing import Any

from headrace.client.engine.batches import VERSION_OF_BATCHES, Batch
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.routes import Queue
from headrace.errors import HeadraceError
from headrace.protocol import messages


def produce_request(
    version: int,
    chosen: list[tuple[Queue, Batch]],
    options: ProducingOptions,
    refused: dict[Batch, HeadraceError],
) -> messages.ProduceRequest:
    """The request in a version; `refused` gets the batches that this version has no form for, which are left out."""
    kind = messages.ProduceRequest
    topics: dict[str, list[Any]] = {}
    for queue, batch in chosen:
        if batch.is_done:  # it was given up while the link was not open yet
            continue
        try:
            if version >= VERSION_OF_BATCHES:
                data: Any = batch.encoded(queue.identity, options.codec, options.level)
            else:
                data = batch.as_set(options.codec)
        except HeadraceError as failure:
            refused[batch] = failure
            continue
        topics.setdefault(queue.name.topic, []).append(kind.PartitionProduceData(queue.name.partition, data))
    return kind(
        transactional_id=options.transactional_id,
        acks=options.acks,
        timeout_ms=options.request_timeout_ms,
        topic_data=[kind.TopicProduceData(topic, rows) for topic, rows in topics.items()],
    )
