"""DeleteTopics (key 20), v0 to v5: answered when the topics are gone from this node and from ZooKeeper, or the timeout passed.

Runs in: the controller process. The mark in ZooKeeper comes first: from there on, the deletion is finished
whoever dies.

Source: Kafka `ZkAdminManager.deleteTopics`, `TopicDeletionManager`.
"""

from __future__ import annotations

from headrace.controller.admin.failures import answer_to
from headrace.controller.office import Office
from headrace.controller.waiting import Waiting
from headrace.errors import ErrorCode, HeadraceError, KafkaError
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, encode_response

_Result = messages.DeleteTopicsResponse.DeletableTopicResult


def handle(office: Office, version: int, body: memoryview) -> Waiting:
    """Mark the topics for deletion, then begin."""
    request = decode_request(ApiKey.DELETE_TOPICS, version, body)
    results: dict[str, tuple[ErrorCode, str | None]] = {}
    marked = []
    check_time = office.time_limit()
    for name in dict.fromkeys(request.topic_names):
        try:
            office.check_active()
            check_time()
            if not office.settings["delete.topic.enable"]:
                raise KafkaError(ErrorCode.TOPIC_DELETION_DISABLED, "delete.topic.enable is false")
            if not office.cluster.has(name):
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name}")
            office.deletions.mark(name)
            marked.append(name)
            results[name] = (ErrorCode.NONE, None)
        except HeadraceError as failure:
            results[name] = answer_to(failure)
    if marked:
        office.deletions.begin(marked)
        office.publish()

    def respond(is_done: bool) -> bytes:
        if not is_done:
            results.update(dict.fromkeys(marked, (ErrorCode.REQUEST_TIMED_OUT, "marked for deletion")))
        rows = [_Result(name=name, error_code=int(code), error_message=text) for name, (code, text) in results.items()]
        return encode_response(ApiKey.DELETE_TOPICS, version, messages.DeleteTopicsResponse(responses=rows))

    return office.wait_deleted(marked, request.timeout_ms, respond)
