"""From a frame to its handler.

Runs in: a network worker. The table below is what is served; anything else closes the connection, as Kafka
does, with a log line that names peer and reason. ApiVersions alone is answered whatever its version.
"""

from __future__ import annotations

from collections.abc import Callable

from headrace.errors import BadFrame
from headrace.protocol.apis import ADVERTISED, ApiKey, response_header_version
from headrace.protocol.frames import parse_request_header
from headrace.workers.network.connection import Connection
from headrace.workers.network.context import Context
from headrace.workers.network.exchange import Exchange
from headrace.workers.network.handlers import (
    a00_produce,
    a01_fetch,
    a02_list_offsets,
    a03_metadata,
    a08_offset_commit,
    a09_offset_fetch,
    a10_find_coordinator,
    a11_join_group,
    a12_heartbeat,
    a13_leave_group,
    a14_sync_group,
    a15_describe_groups,
    a16_list_groups,
    a18_api_versions,
    a19_create_topics,
    a20_delete_topics,
    a21_delete_records,
    a22_init_producer_id,
    a23_offset_for_leader_epoch,
    a32_describe_configs,
    a33_alter_configs,
    a34_alter_replica_log_dirs,
    a35_describe_log_dirs,
    a37_create_partitions,
    a42_delete_groups,
    a44_incremental_alter_configs,
    a47_offset_delete,
    a60_describe_cluster,
)

Handler = Callable[[Context, Exchange, memoryview], None]

HANDLERS: dict[int, Handler] = {
    ApiKey.PRODUCE: a00_produce.handle,
    ApiKey.FETCH: a01_fetch.handle,
    ApiKey.LIST_OFFSETS: a02_list_offsets.handle,
    ApiKey.METADATA: a03_metadata.handle,
    ApiKey.OFFSET_COMMIT: a08_offset_commit.handle,
    ApiKey.OFFSET_FETCH: a09_offset_fetch.handle,
    ApiKey.FIND_COORDINATOR: a10_find_coordinator.handle,
    ApiKey.JOIN_GROUP: a11_join_group.handle,
    ApiKey.HEARTBEAT: a12_heartbeat.handle,
    ApiKey.LEAVE_GROUP: a13_leave_group.handle,
    ApiKey.SYNC_GROUP: a14_sync_group.handle,
    ApiKey.DESCRIBE_GROUPS: a15_describe_groups.handle,
    ApiKey.LIST_GROUPS: a16_list_groups.handle,
    ApiKey.API_VERSIONS: a18_api_versions.handle,
    ApiKey.CREATE_TOPICS: a19_create_topics.handle,
    ApiKey.DELETE_TOPICS: a20_delete_topics.handle,
    ApiKey.DELETE_RECORDS: a21_delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: a22_init_producer_id.handle,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: a23_offset_for_leader_epoch.handle,
    ApiKey.DESCRIBE_CONFIGS: a32_describe_configs.handle,
    ApiKey.ALTER_CONFIGS: a33_alter_configs.handle,
    ApiKey.ALTER_REPLICA_LOG_DIRS: a34_alter_replica_log_dirs.handle,
    ApiKey.DESCRIBE_LOG_DIRS: a35_describe_log_dirs.handle,
    ApiKey.CREATE_PARTITIONS: a37_create_partitions.handle,
    ApiKey.INCREMENTAL_ALTER_CONFIGS: a44_incremental_alter_configs.handle,
    ApiKey.DELETE_GROUPS: a42_delete_groups.handle,
    ApiKey.OFFSET_DELETE: a47_offset_delete.handle,
    ApiKey.DESCRIBE_CLUSTER: a60_describe_cluster.handle,
}
assert HANDLERS.keys() == ADVERTISED.keys(), "advertise an API only once it works"

# (api key, version) -> (handler, whether the response header is flexible)
_SERVED: dict[tuple[int, int], tuple[Handler, bool]] = {
    (key, version): (HANDLERS[key], response_header_version(key, version) > 0)
    for key, (low, high) in ADVERTISED.items()
    for version in range(low, high + 1)
}


def route(context: Context, connection: Connection, frame: memoryview) -> None:
    """Handle one frame of a connection.

    raises   BadFrame, for a header, key, version or body that can't be
    """
    header = parse_request_header(frame)
    served = _SERVED.get((header.api_key, header.api_version))
    if served is None:
        if header.api_key != ApiKey.API_VERSIONS:
            raise BadFrame(f"api key {header.api_key} version {header.api_version} is not served")
        served = (a18_api_versions.handle, False)
    handler, is_flexible = served
    exchange = Exchange(connection, header.api_key, header.api_version, header.correlation_id, is_flexible)
    connection.expect(exchange)
    connection.client_id = header.client_id
    handler(context, exchange, frame[header.body_position :])
