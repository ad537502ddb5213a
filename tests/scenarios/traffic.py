"""A producer and a consumer in the background of a scenario, and what is said of both at the end.

As Kafka's `EndToEndTest` and `ProduceConsumeValidateTest`: records are produced and consumed while something happens; then what was
acknowledged has to be among what the consumer was given. Beyond that: what was given has to be what a fresh reader finds at that
offset, nothing twice or out of order with idempotence, and replicas have to be equal.

    java     VerifiableProducer and VerifiableConsumer
    native   librdkafka's producer and consumer
"""

import time

from tests.interop.acked_load import JavaLoad, NativeLoad, judge, read_all
from tests.interop.replica_files import differences
from tests.scenarios.verifiable_consumer import NativeConsumer, VerifiableConsumer, wait_passed

FIRST_RECORDS = 5
ACKED_DEADLINE_S = 120
POLL_S = 0.1


class Traffic:
    """Of one topic.

    producers   several, where a scenario has that many
    """

    def __init__(
        self, cluster, topic, partitions, kind="java", is_idempotent=True, rate=300, producers=1, settings=None
    ):
        self.cluster = cluster
        self.topic = topic
        self.is_idempotent = is_idempotent
        self._partitions = partitions
        bootstrap, directory = cluster.bootstrap, cluster.directory
        self.loads = []
        self.consumer = None
        for number in range(producers):
            self.loads.append(
                JavaLoad(bootstrap, topic, directory, rate, number, is_idempotent=is_idempotent)
                if kind == "java"
                else NativeLoad(bootstrap, topic, partitions, rate, f"native{number}", is_idempotent=is_idempotent)
            )
        self.consumer = (
            VerifiableConsumer(bootstrap, topic, directory, f"of-{topic}", f"consumer-{topic}", settings)
            if kind == "java"
            else NativeConsumer(bootstrap, topic, f"of-{topic}", settings)
        )

    @property
    def acked(self):
        """How many records were acknowledged so far."""
        return sum(len(load.acked) for load in self.loads)

    def __enter__(self):
        for load in self.loads:
            load.start()
        self._wait(lambda: len(self.consumer.records) >= FIRST_RECORDS, "no record came")
        return self

    def __exit__(self, *_failure):
        for one in (*self.loads, self.consumer):
            one.end()

    def wait_acked(self, more):
        """Until so many more records were acknowledged."""
        wanted = self.acked + more
        self._wait(lambda: self.acked >= wanted, lambda: f"{self.acked} acknowledged, wanted {wanted}")

    def finish(self, more=300):
        """Go on until so many more are acknowledged, then stop, and judge. raises AssertionError"""
        self.wait_acked(more)
        for load in self.loads:
            load.stop()
        ends = {}
        for load in self.loads:
            for partition, offset in load.acked:
                ends[partition] = max(ends.get(partition, 0), offset + 1)
        wait_passed(self.consumer, ends)
        self.consumer.stop()
        wrong = self.judge()
        assert not wrong, wrong

    def judge(self):
        """What is wrong with what was delivered; empty where nothing is."""
        found = read_all(self.cluster.bootstrap, self.topic, self._partitions)
        wrong = judge(self.loads, found)
        if not self.is_idempotent:
            wrong = [one for one in wrong if not one.startswith(("duplicated", "disordered"))]
        there = {(index, offset): value for index, records in found.items() for offset, value in records}
        given = {(index, offset): value for index, offset, value in self.consumer.records}
        for load in self.loads:
            missing = [place for place, value in load.acked.items() if given.get(place) != value]
            wrong += [f"not consumed: {load.acked[place]} acknowledged at {place}" for place in missing[:5]]
        wrong += [
            f"consumed {value} at {place}, there is {there[place]}"
            for place, value in given.items()
            if place in there and there[place] != value
        ][:5]
        return wrong

    def differences(self):
        """What differs between the replicas of the topic; call once the cluster is whole, and nothing is written."""
        log_dirs = {one.broker_id: one.log_dir for one in self.cluster.members.values()}
        return [
            one
            for index, replicas in self.cluster.assignment(self.topic).items()
            for one in differences(log_dirs, self.topic, index, replicas)
        ]

    def _wait(self, condition, complaint):
        deadline = time.monotonic() + ACKED_DEADLINE_S
        while not condition():
            assert time.monotonic() < deadline, complaint() if callable(complaint) else complaint
            for load in self.loads:
                assert load.is_idempotent is False or not load.failures, load.failures[0]
            time.sleep(POLL_S)
