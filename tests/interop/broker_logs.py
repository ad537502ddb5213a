"""Lines of brokers' logs that no run may have: ERROR and worse, uncaught exceptions; and the few that are as they should be."""

import re

SEVERE = re.compile(
    r"^\d\d\d\d-\d\d-\d\d \S+ (ERROR|FATAL|CRITICAL) |^Exception in thread|^Traceback \(most recent call last\)"
)
# lines, and why they mean nothing: what three Apache Kafka brokers say as well
NOTHING: dict[str, str] = {}
OF_OFFLINE_PARTITIONS = {
    r"cannot become follower since the new leader -1 is unavailable": "told of a partition whose replicas are not up yet",
    r"failed to (change state|elect leader) for partition \S+ from \S+ to OnlinePartition": "no replica of its ISR is up",
}
OF_REASSIGNMENTS = {
    r"from (Offline|Online)Replica to NewReplica failed": "Kafka's controller takes a reassignment up from its first step",
}
# Only for a cluster without a node of ours: which state its own controller thinks a replica to be in. Seen once in
# `test_cluster_tools.py`, under load, where a reassignment that was on its way was submitted again
OF_KAFKA_ALONE = {
    r"\[kafka\] state\.change\.logger: (.|\n)*ZkReplicaStateMachine\.logInvalidTransition": "Kafka's controller, of itself",
}
# `leader_moves.py`, 120 moves of six partitions at IBP 2.6 under load: 46 such lines with three Kafka brokers, 4 with Headrace as the
# controller. A batch comes before the leader knows that it is, and is refused; the next one in flight comes after
OF_MOVED_LEADERS = {
    r"\[kafka\] kafka\.server\.ReplicaManager: (.|\n)*OutOfOrderSequenceException": "Kafka's leader tells a producer to retry",
}
OF_A_STOPPED_CONTROLLER = {
    r"RequestSendThread.* fails to send a request to broker(.|\n)*InterruptedException": "Kafka's controller resigns",
}
OF_A_MOVED_CONTROLLER = {
    r"ControllerMovedException: .*from an old controller": "a request of the one before, told that it is",
    **OF_A_STOPPED_CONTROLLER,
}
OF_A_KILLED_CONTROLLER = {
    **OF_A_MOVED_CONTROLLER,
    **OF_OFFLINE_PARTITIONS,
    **OF_REASSIGNMENTS,
    r"cannot become follower since the new leader \d+ is unavailable": "it died, and is leader until the election",
}


def severe_lines(path, position=0, allowed=None):
    """Lines from a position on that say that something is wrong, each with what follows it where it has a stack.

    allowed   patterns of lines that may be there, and why
    """
    patterns = [re.compile(pattern) for pattern in allowed or NOTHING]
    with open(path, "rb") as file:
        file.seek(position)
        lines = file.read().decode(errors="replace").splitlines()
    found = []
    for number, line in enumerate(lines):
        if SEVERE.match(line):
            more = [one for one in lines[number + 1 : number + 3] if not re.match(r"\d\d\d\d-", one)]
            said = "\n    ".join([line, *more])
            if not any(pattern.search(said) for pattern in patterns):
                found.append(said)
    return found
