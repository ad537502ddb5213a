"""The leader epochs of logs, told to the controller process."""

from headrace.shm.messages import LOG_EPOCH, LOG_EPOCHS_ASKED, LOG_EPOCHS_TOLD
from headrace.workers.partition.replicas.log_epochs import LogEpochs
from tests.support.fake_seat import TOPIC_ID, view_of
from tests.workers.partition.replica_fixtures import Node, with_id


def test_the_epochs_of_the_logs_that_it_has_are_told(tmp_path):
    node = Node(tmp_path)
    for epoch in (3, 5):
        node.replicas.follow(with_id(view_of(("t", 2, {}, epoch)), TOPIC_ID))
    keys = [node.replicas.by_slot[slot].key for slot in (0, 1)]
    node.replicas.by_slot[0].log.epochs.replace([(3, 0), (5, 9)])
    replies = []
    [(_kind, handler)] = LogEpochs(node.replicas.by_slot).handlers().items()
    asked = [(0, keys[0]), (1, keys[0]), (7, keys[1])]  # another one's slot, and one that is free
    handler(0, memoryview(b"".join(LOG_EPOCHS_ASKED.pack(*one) for one in asked)), replies.append)
    assert replies == [LOG_EPOCHS_TOLD.pack(keys[0], 2) + LOG_EPOCH.pack(3, 0) + LOG_EPOCH.pack(5, 9)]
