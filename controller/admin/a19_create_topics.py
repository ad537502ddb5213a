"""CreateTopics (key 19), v0 to v7: answered when the partitions hosted here are being served, or the timeout passed.

Runs in: the controller process. One result a topic: the topics of a request succeed or fail by themselves.

Source: Kafka `ZkAdminManager.createTopics`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from headrace.controller.active.topics.internal_topics import plan_internal_topic
from headrace.controller.active.topics.placement import Racks, has_all_racks, without_racks
from headrace.controller.active.topics.topic_creation import check_assignment, check_total, place
from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.controller.agent.topic_configs import check_configs, check_overrides
from headrace.controller.zookeeper.errors import ZkError
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.limits import CONFIGS_RETURNED_MAX, CREATIONS_IN_FLIGHT_MAX, PARTITIONS_PER_TOPIC_MAX
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.settings import TOPIC_SETTINGS, format_value, topic_values

VERSION_OF_CONFIGS = 5

# Kafka's DescribeConfigsResponse.ConfigSource
SOURCE_TOPIC = 1
SOURCE_BROKER = 2
SOURCE_ALL_BROKERS = 3
SOURCE_BROKER_FILE = 4
SOURCE_DEFAULT = 5

_Result = messages.CreateTopicsResponse.CreatableTopicResult
_Config = messages.CreateTopicsResponse.CreatableTopicConfigs


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Create what can be created."""
    request = decode_request(ApiKey.CREATE_TOPICS, version, body)
    counts = Counter(topic.name for topic in request.topics)
    creation = _Creation(context, version, request.validate_only)
    wanted = {topic.name: topic for topic in request.topics}  # in their order
    results: dict[str, _Result] = {}
    created = []
    left = iter(wanted.values())

    async def create_some() -> None:
        """One of several tasks, that each take the next topic."""
        for topic in left:
            try:
                if counts[topic.name] > 1:
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST, f"topic {topic.name} appears {counts[topic.name]} times"
                    )
                results[topic.name] = await creation.create(topic)
                if not request.validate_only:
                    created.append(topic.name)
            except HeadraceError as failure:
                code, message = answer_to(failure)
                results[topic.name] = _Result(
                    name=topic.name, error_code=int(code), error_message=message or None, configs=None
                )
            if len(wanted) > 1:
                await context.tasks.pause()

    if len(wanted) == 1:
        await create_some()
    else:
        try:
            await context.tasks.share(min(CREATIONS_IN_FLIGHT_MAX, len(wanted)), create_some)
        except ZkError as failure:  # the session has ended, and every task of it
            code, message = answer_to(failure)
            for name in wanted:
                results.setdefault(name, _Result(name=name, error_code=int(code), error_message=message, configs=None))

    def respond(is_done: bool) -> bytes:
        if not is_done:
            for name in created:
                results[name] = results[name]._replace(
                    error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message="created, not yet served"
                )
        response = messages.CreateTopicsResponse(topics=[results[name] for name in wanted])
        return encode_response(ApiKey.CREATE_TOPICS, version, response)

    return context.agent.wait_served(created, request.timeout_ms, respond)


class _Creation:
    """What the topics of one request have in common."""

    def __init__(self, context: AdminContext, version: int, is_trial: bool) -> None:
        self._context = context
        self._is_trial = is_trial
        self._check_time = context.time_limit()
        self._partitions = 0
        self._configs: dict[frozenset[tuple[str, str]], list[_Config]] = {}  # by the topic's own
        self._configs_left = CONFIGS_RETURNED_MAX if version >= VERSION_OF_CONFIGS else 0

    async def create(self, topic: messages.CreateTopicsRequest.CreatableTopic) -> _Result:
        """The result of one topic; raises HeadraceError"""
        context, cluster = self._context, self._context.known
        context.agent.check_active()
        self._check_time()
        await context.active.wait_free(topic.name)
        context.agent.check_active()
        if context.active.is_deleting(topic.name):
            raise KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' is marked for deletion.")
        if topic.name in cluster.released:
            raise KafkaError(
                ErrorCode.TOPIC_ALREADY_EXISTS,
                f"Topic '{topic.name}' is missing in ZooKeeper without having been deleted, its records are kept:"
                " restore its znode, or delete the topic first",
            )
        cluster.names.check(topic.name)
        configs = check_configs({config.name: config.value for config in topic.configs})
        check_overrides(configs, context.agent.topic_defaults())
        asked = len(topic.assignments) or max(topic.num_partitions, 1)
        if asked <= PARTITIONS_PER_TOPIC_MAX:
            check_total(self._partitions + asked)
            self._partitions += asked
        if topic.assignments:
            if topic.num_partitions != -1 or topic.replication_factor != -1:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST,
                    "an assignment requires num_partitions -1 and replication_factor -1",
                )
            wanted = {row.partition_index: list(row.broker_ids) for row in topic.assignments}
            replicas = check_assignment(wanted, cluster.live())
        else:
            partitions, factor = topic.num_partitions, topic.replication_factor
            racks: Racks = cluster.racks()
            plan = plan_internal_topic(context.settings, topic.name, len(racks))
            if plan is not None and (partitions, factor) == (-1, -1):
                racks = racks if has_all_racks(racks) else without_racks(racks)  # groups don't wait for broker.rack
                partitions, factor = plan.partitions, plan.replication_factor
                configs = {**plan.configs, **configs}
            replicas = place(racks, context.settings, partitions, factor, context.active.chance)
        if not self._is_trial:
            topic_id = await context.active.create(topic.name, replicas, configs)
            return self._tell(topic.name, replicas, configs)._replace(topic_id=bytes.fromhex(topic_id))
        return self._tell(topic.name, replicas, configs)

    def _tell(self, name: str, replicas: Sequence[Sequence[int]], configs: dict[str, str]) -> _Result:
        """With all settings of the topic, for the first ones: of thousands no message would hold them."""
        result = _Result(name=name, error_code=0, error_message=None, configs=None)
        if not self._configs_left:
            return result._replace(topic_config_error_code=int(ErrorCode.POLICY_VIOLATION))
        self._configs_left -= 1
        own = frozenset(configs.items())
        if own not in self._configs:
            self._configs[own] = _describe(self._context, configs)
        return result._replace(
            num_partitions=len(replicas), replication_factor=len(replicas[0]), configs=self._configs[own]
        )


def _describe(context: AdminContext, overrides: dict[str, str]) -> list[_Config]:
    """Every topic setting as it holds for the new topic."""
    rows = []
    cluster = context.known
    sources = (
        (SOURCE_BROKER, cluster.node_settings),
        (SOURCE_ALL_BROKERS, cluster.cluster_settings),
        (SOURCE_BROKER_FILE, context.settings.explicit),
    )
    for key, value in sorted(topic_values(context.agent.topic_defaults(), overrides).items()):
        source = SOURCE_TOPIC
        if key not in overrides:
            source = next((source for source, given in sources if TOPIC_SETTINGS[key] in given), SOURCE_DEFAULT)
        rows.append(
            _Config(name=key, value=format_value(value), read_only=False, config_source=source, is_sensitive=False)
        )
    return rows
