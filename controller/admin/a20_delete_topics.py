"""DeleteTopics (key 20), v0 to v6: answered when the topics are gone from this node and from ZooKeeper, or the timeout passed.

Runs in: the controller process. The mark in ZooKeeper comes first: from there on, the deletion is finished
whoever dies. It begins in the step in which its mark returned, before another topic is marked: the watch of the marks may
have one deleted, and a producer create it again, while the request goes on. From v6 on a topic may be named by its id, which no
later topic of its name has.

Source: Kafka `ZkAdminManager.deleteTopics`, `TopicDeletionManager`; KIP-516 for ids.
"""

from __future__ import annotations

from collections.abc import Sequence

from headrace.controller.admin.context import AdminContext
from headrace.controller.admin.failures import answer_to
from headrace.controller.agent.pending_response import PendingResponse
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response
from headrace.protocol.messages import ZERO_UUID

VERSION_OF_IDS = 6

_Result = messages.DeleteTopicsResponse.DeletableTopicResult
_State = messages.DeleteTopicsRequest.DeleteTopicState
_Place = tuple[str | None, bytes]  # as the request names a topic
_Marked = tuple[str, str]  # name, id


async def handle(context: AdminContext, version: int, body: memoryview) -> PendingResponse:
    """Mark the topics for deletion, and begin with each. What is named again is deleted, and answered, once."""
    request = decode_request(ApiKey.DELETE_TOPICS, version, body)
    asked = request.topics if version >= VERSION_OF_IDS else [_State(name=name) for name in request.topic_names]
    names = _names_by_id(context, asked)
    results: dict[_Place, _Result] = {}
    marked: dict[_Marked, _Place] = {}
    done: set[str] = set()  # names
    check_time = context.time_limit()
    for place in dict.fromkeys((topic.name, topic.topic_id) for topic in asked):
        name, topic_id = place
        await context.tasks.pause()
        row = _Result(name=name or names.get(topic_id), topic_id=topic_id, error_code=0)
        try:
            context.agent.check_active()
            check_time()
            name = _name_of(place, names)
            if name in done:
                continue
            topic = await _mark(context, name, topic_id)
            context.active.begin_deletion(*topic)
            row = row._replace(topic_id=bytes.fromhex(topic[1]) or ZERO_UUID)
            marked[topic] = place
            done.add(name)
        except HeadraceError as failure:
            code, text = answer_to(failure)
            row = row._replace(error_code=int(code), error_message=text)
        results[place] = row

    def respond(is_done: bool) -> bytes:
        if not is_done:
            for place in marked.values():
                results[place] = results[place]._replace(
                    error_code=int(ErrorCode.REQUEST_TIMED_OUT), error_message="marked for deletion"
                )
        response = messages.DeleteTopicsResponse(responses=list(results.values()))
        return encode_response(ApiKey.DELETE_TOPICS, version, response)

    return context.agent.wait_deleted(list(marked), request.timeout_ms, respond)


def _names_by_id(context: AdminContext, asked: Sequence[_State]) -> dict[bytes, str]:
    """Of all topics, where one is asked for by its id."""
    if all(topic.topic_id == ZERO_UUID for topic in asked):
        return {}
    known = (*context.known.topics.values(), *context.known.released.values())
    return {bytes.fromhex(topic.topic_id): topic.name for topic in known}


def _name_of(place: _Place, names: dict[bytes, str]) -> str:
    """raises   KafkaError, for a topic that is named by nothing, by both, or by an id that none has"""
    name, topic_id = place
    if (name is None) == (topic_id == ZERO_UUID):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic must be given either by name or by id")
    name = names.get(topic_id) if name is None else name
    if name is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "unknown topic id")
    return name


async def _mark(context: AdminContext, name: str, topic_id: bytes) -> _Marked:
    """Mark a topic; returns which. raises   KafkaError, ControllerMoved, ZkError

    topic_id   that it has to have; ZERO_UUID: any
    """
    if not context.settings["delete.topic.enable"]:
        raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
    await context.active.wait_free(name)
    context.agent.check_active()
    topic = context.known.topics.get(name) or context.known.released.get(name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"topic {name} does not exist")
    if topic_id not in (ZERO_UUID, bytes.fromhex(topic.topic_id)):  # it was created again while we waited for the name
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, "unknown topic id")
    found = (name, topic.topic_id)
    await context.active.mark(name)
    return found
