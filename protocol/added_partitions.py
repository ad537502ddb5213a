"""Rows of an AddPartitionsToTxn's response, for network workers and coordinators.

Source: Kafka `AddPartitionsToTxnResponse`; KIP-890 for v4 and later.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from headrace.protocol import messages

VERSION_OF_BROKERS: Final = 4  # several transactions, from brokers alone

_Response = messages.AddPartitionsToTxnResponse


def topic_results(topics: Any, code_of: Callable[[tuple[str, int]], int]) -> list[Any]:
    """A row for each partition of a request.

    topics    of the request, or of one transaction of it
    code_of   error code of a partition: (topic, index)
    """
    row = _Response.AddPartitionsToTxnPartitionResult
    return [
        _Response.AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                row(partition_index=index, partition_error_code=code_of((topic.name, index)))
                for index in topic.partitions
            ],
        )
        for topic in topics
    ]
