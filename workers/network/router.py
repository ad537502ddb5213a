"""From a frame to its handler.

Runs in: a network worker. The table below is what is served, to clients and to brokers (`protocol/broker_versions.py`);
anything else closes the connection, as Kafka does, with a log line that names peer and reason. ApiVersions alone is answered
whatever its version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from headrace.errors import BadFrame
from headrace.memory import view
from headrace.protocol.apis import ApiKey, request_header_version, response_header_version
from headrace.protocol.broker_versions import SERVED
from headrace.protocol.frames import parse_request_header, read_client_id, unpack_api
from headrace.workers.network.connections.connection import Connection
from headrace.workers.network.connections.exchange import Exchange
from headrace.workers.network.context import Context
from headrace.workers.network.forwarding.forwarded import FORWARDED
from headrace.workers.network.handlers import (
    a00_produce,
    a01_fetch,
    a02_list_offsets,
    a03_metadata,
    a08_offset_commit,
    a09_offset_fetch,
    a10_find_coordinator,
    a11_join_group,
    a15_describe_groups,
    a16_list_groups,
    a17_sasl_handshake,
    a18_api_versions,
    a21_delete_records,
    a22_init_producer_id,
    a23_offset_for_leader_epoch,
    a24_add_partitions_to_txn,
    a25_add_offsets_to_txn,
    a26_end_txn,
    a27_write_txn_markers,
    a28_txn_offset_commit,
    a29_describe_acls,
    a30_create_acls,
    a31_delete_acls,
    a32_describe_configs,
    a34_alter_replica_log_dirs,
    a35_describe_log_dirs,
    a36_sasl_authenticate,
    a42_delete_groups,
    a48_describe_client_quotas,
    a50_describe_user_scram_credentials,
    a60_describe_cluster,
    a61_describe_producers,
    a65_describe_transactions,
    a66_list_transactions,
)

Handler = Callable[[Context, Exchange, memoryview], None]

HANDLERS: Final[dict[int, Handler]] = {
    **FORWARDED,
    ApiKey.PRODUCE: a00_produce.handle,
    ApiKey.FETCH: a01_fetch.handle,
    ApiKey.LIST_OFFSETS: a02_list_offsets.handle,
    ApiKey.METADATA: a03_metadata.handle,
    ApiKey.OFFSET_COMMIT: a08_offset_commit.handle,
    ApiKey.OFFSET_FETCH: a09_offset_fetch.handle,
    ApiKey.FIND_COORDINATOR: a10_find_coordinator.handle,
    ApiKey.JOIN_GROUP: a11_join_group.handle,
    ApiKey.DESCRIBE_GROUPS: a15_describe_groups.handle,
    ApiKey.LIST_GROUPS: a16_list_groups.handle,
    ApiKey.SASL_HANDSHAKE: a17_sasl_handshake.handle,
    ApiKey.API_VERSIONS: a18_api_versions.handle,
    ApiKey.DELETE_RECORDS: a21_delete_records.handle,
    ApiKey.INIT_PRODUCER_ID: a22_init_producer_id.handle,
    ApiKey.OFFSET_FOR_LEADER_EPOCH: a23_offset_for_leader_epoch.handle,
    ApiKey.ADD_PARTITIONS_TO_TXN: a24_add_partitions_to_txn.handle,
    ApiKey.ADD_OFFSETS_TO_TXN: a25_add_offsets_to_txn.handle,
    ApiKey.END_TXN: a26_end_txn.handle,
    ApiKey.WRITE_TXN_MARKERS: a27_write_txn_markers.handle,
    ApiKey.TXN_OFFSET_COMMIT: a28_txn_offset_commit.handle,
    ApiKey.DESCRIBE_ACLS: a29_describe_acls.handle,
    ApiKey.CREATE_ACLS: a30_create_acls.handle,
    ApiKey.DELETE_ACLS: a31_delete_acls.handle,
    ApiKey.DESCRIBE_CONFIGS: a32_describe_configs.handle,
    ApiKey.ALTER_REPLICA_LOG_DIRS: a34_alter_replica_log_dirs.handle,
    ApiKey.DESCRIBE_LOG_DIRS: a35_describe_log_dirs.handle,
    ApiKey.SASL_AUTHENTICATE: a36_sasl_authenticate.handle,
    ApiKey.DELETE_GROUPS: a42_delete_groups.handle,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: a48_describe_client_quotas.handle,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: a50_describe_user_scram_credentials.handle,
    ApiKey.DESCRIBE_CLUSTER: a60_describe_cluster.handle,
    ApiKey.DESCRIBE_PRODUCERS: a61_describe_producers.handle,
    ApiKey.DESCRIBE_TRANSACTIONS: a65_describe_transactions.handle,
    ApiKey.LIST_TRANSACTIONS: a66_list_transactions.handle,
}
assert HANDLERS.keys() == SERVED.keys()

VERSIONS: Final = 1 << 16  # there may be, by their two bytes


class Service:
    """What is served of one API and version.

    header_version   of its requests
    is_flexible      its responses' headers have tags
    """

    __slots__ = ("handler", "header_version", "is_flexible")

    def __init__(self, key: int, version: int) -> None:
        self.handler = HANDLERS[key]
        self.header_version = request_header_version(key, version)
        self.is_flexible = response_header_version(key, version) > 0


_SERVED: Final[dict[int, Service]] = {
    key * VERSIONS + version: Service(key, version)
    for key, (low, high) in SERVED.items()
    for version in range(low, high + 1)
}


def route(context: Context, connection: Connection, frame: memoryview) -> None:
    """Handle one frame of a connection.

    raises   BadFrame, for a header, key, version or body that is invalid
    """
    api_key, version, correlation_id = unpack_api(frame, 0)
    service = _SERVED.get(api_key * VERSIONS + version)
    if service is None:
        _route_strange(context, connection, frame)
        return
    client_id_end, position = read_client_id(frame, service.header_version)
    connection.note_client(frame, client_id_end)
    exchange = Exchange(connection, api_key, version, correlation_id, service.is_flexible)
    connection.expect(exchange)
    if connection.produces and api_key != ApiKey.PRODUCE:
        body = memoryview(bytes(view(frame, position, len(frame))))  # the frame's memory is not kept that long
        connection.postpone(partial(service.handler, context, exchange, body))
        return
    service.handler(context, exchange, view(frame, position, len(frame)))


def _route_strange(context: Context, connection: Connection, frame: memoryview) -> None:
    """Of what is not served ApiVersions alone is answered, whatever its version. raises BadFrame for the others"""
    header = parse_request_header(frame)
    if header.api_key != ApiKey.API_VERSIONS:
        raise BadFrame(f"api key {header.api_key} version {header.api_version} is not served")
    exchange = Exchange(connection, header.api_key, header.api_version, header.correlation_id, False)
    connection.note_client(frame, read_client_id(frame, request_header_version(header.api_key, 0))[0])
    connection.expect(exchange)
    a18_api_versions.handle(context, exchange, frame[header.body_position :])
