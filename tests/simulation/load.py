"""The load of a simulation: a producer without retries, an idempotent one, consumers, and who looks at the end.

Source: `tests/chaos`, whose clients have these kinds.
"""

from headrace.errors import ErrorCode
from tests.simulation.client import Client, NoAnswer, NotSent

ATTEMPTS_MAX = 400
SURE = (
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_ENOUGH_REPLICAS,
)  # nothing was appended
GONE_ON = (
    *SURE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,  # it may have been appended before another took over, as with Kafka
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
    ErrorCode.LEADER_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.NETWORK_EXCEPTION,
)


class Producer(Client):
    """Each batch once: what comes of it is what was said."""

    def __init__(self, cluster, name, topic, partitions):
        self.topic, self.partitions = topic, partitions
        super().__init__(cluster, name)

    def life(self):
        history, count = self.cluster.history, 0
        leaders = {}
        while not self.cluster.is_ending:
            partition = self.chance.randrange(self.partitions)
            if partition not in leaders:
                leaders = yield from self.leaders(self.topic)
                if partition not in leaders:
                    yield from self.sleep(self.chance.randrange(10, 200))
                    continue
            values = [f"{self.name}-{count + index}" for index in range(self.chance.randrange(1, 4))]
            count += len(values)
            history.unknown.update(values)
            try:
                error, base_offset = yield from self.produce(leaders[partition], self.topic, partition, values)
            except NotSent:
                history.failed.update(values)
                leaders = {}
                continue
            except NoAnswer as failure:
                self.kernel.note(self.name, f"has no answer for {values[0]} to {partition}: {failure}")
                leaders = {}
                continue
            self.kernel.note(self.name, f"produced {values[0]} to {partition}: {error.name} at {base_offset}")
            if error is ErrorCode.NONE:
                history.acknowledge(self.name, partition, values, base_offset)
            else:
                if error in SURE:
                    history.failed.update(values)
                elif error not in GONE_ON:
                    self.kernel.anomaly(f"{self.name} was refused: {error.name}")
                leaders = {}
            yield from self.sleep(self.chance.randrange(0, 60))


class IdempotentProducer(Client):
    """Each batch again and again until it is acknowledged; one in flight."""

    def __init__(self, cluster, name, topic, partitions):
        self.topic, self.partitions = topic, partitions
        super().__init__(cluster, name)

    def life(self):
        history, count = self.cluster.history, 0
        producer_id, epoch = yield from self._identify()
        sequences = dict.fromkeys(range(self.partitions), 0)
        while not self.cluster.is_ending:
            partition = self.chance.randrange(self.partitions)
            values = [f"{self.name}-{count + index}" for index in range(self.chance.randrange(1, 4))]
            count += len(values)
            history.unknown.update(values)
            history.idempotent.update(values)
            sequence = sequences[partition]
            base_offset = yield from self._store(partition, values, producer_id, epoch, sequence)
            if base_offset is None:
                return
            history.acknowledge(self.name, partition, values, base_offset)
            sequences[partition] += len(values)
            yield from self.sleep(self.chance.randrange(0, 60))

    def _identify(self):
        while True:
            try:
                error, producer_id, epoch = yield from self.producer_id(self.some_host())
                if error is ErrorCode.NONE:
                    return producer_id, epoch
            except (NotSent, NoAnswer):
                pass
            yield from self.sleep(100)

    def _store(self, partition, values, producer_id, epoch, sequence):
        """The base offset; None: it was given up at the end."""
        leaders = {}
        while True:
            if partition not in leaders:
                leaders = yield from self.leaders(self.topic)
                if partition not in leaders:
                    if self.cluster.is_over:
                        return None
                    yield from self.sleep(self.chance.randrange(10, 200))
                    continue
            try:
                error, base_offset = yield from self.produce(
                    leaders[partition], self.topic, partition, values,
                    producer_id=producer_id, producer_epoch=epoch, base_sequence=sequence,
                )  # fmt: skip
            except (NotSent, NoAnswer) as failure:
                self.kernel.note(self.name, f"again {values[0]} to {partition}: {failure}")
                leaders = {}
                continue
            self.kernel.note(self.name, f"stored {values[0]} to {partition}: {error.name} at {base_offset}")
            if error is ErrorCode.NONE:
                return base_offset
            if error is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                return -1
            leads = self.cluster.judges.leads(leaders[partition], self.topic, partition)
            is_of_past = error is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and not leads
            if error not in GONE_ON and not is_of_past:
                self.kernel.anomaly(f"{self.name} was refused: {error.name} for sequence {sequence} of {partition}")
                return None
            leaders = {}
            yield from self.sleep(self.chance.randrange(1, 100))


class Consumer(Client):
    """Reads one partition on and on."""

    def __init__(self, cluster, name, topic, partition):
        self.topic, self.partition = topic, partition
        super().__init__(cluster, name)

    def life(self):
        position, leaders = 0, {}
        while not self.cluster.is_over:
            if self.partition not in leaders:
                leaders = yield from self.leaders(self.topic)
                if self.partition not in leaders:
                    yield from self.sleep(self.chance.randrange(10, 200))
                    continue
            try:
                found = yield from self.fetch(leaders[self.partition], self.topic, self.partition, position)
            except (NotSent, NoAnswer):
                leaders = {}
                continue
            if isinstance(found, ErrorCode):
                if found is ErrorCode.OFFSET_OUT_OF_RANGE:
                    self.kernel.anomaly(f"{self.name} at {position} is out of range")
                    return
                leaders = {}
                yield from self.sleep(self.chance.randrange(1, 100))
                continue
            records, position = found
            self.cluster.history.read(self.name, self.partition, records)


class Creator(Client):
    """Makes the topic, then is over."""

    def __init__(self, cluster, name, topic, partitions, factor, configs):
        self.arguments = (topic, partitions, factor, configs)
        super().__init__(cluster, name)

    def life(self):
        while True:
            try:
                error = yield from self.create_topic(self.some_host(), *self.arguments)
                self.kernel.note(self.name, f"created: {error.name}")
                if error in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                    return
            except (NotSent, NoAnswer) as failure:
                self.kernel.note(self.name, f"not created: {failure}")
            yield from self.sleep(200)


class Finisher(Client):
    """Once faults have ended: every partition has to acknowledge and every replica to be in sync; then it reads everything.

    final   partition -> {offset: value}, once it is over
    """

    def __init__(self, cluster, name, topic, partitions, factor):
        self.topic, self.partitions, self.factor = topic, partitions, factor
        self.final = {}
        self.state = "begins"
        super().__init__(cluster, name)

    def life(self):
        for partition in range(self.partitions):
            yield from self._probe(partition)
        yield from self._await_replicas()
        for partition in range(self.partitions):
            self.state = f"reads {partition}"
            self.final[partition] = yield from self._read(partition)
        self.state = "done"

    def _probe(self, partition):
        value = f"{self.name}-{partition}"
        self.cluster.history.unknown.add(value)
        attempt = 0
        while True:
            self.state = f"produces to {partition}"
            leaders = yield from self.leaders(self.topic)
            if partition in leaders:
                attempt += 1
                one = f"{value}-{attempt}"
                self.cluster.history.unknown.add(one)
                try:
                    error, offset = yield from self.produce(leaders[partition], self.topic, partition, [one])
                    self.state = f"produces to {partition}: {error.name}"
                    if error is ErrorCode.NONE:
                        self.cluster.history.acknowledge(self.name, partition, [one], offset)
                        return
                except (NotSent, NoAnswer) as failure:
                    self.state = f"produces to {partition}: {failure}"
            yield from self.sleep(100)

    def _await_replicas(self):
        """Every node that is asked says that all replicas are in sync."""
        for host in self.cluster.hosts:
            while True:
                try:
                    answer = yield from self.metadata(host, self.topic)
                    (topic,) = answer.topics
                    short = [
                        one
                        for one in topic.partitions
                        if {len(one.isr_nodes), len(one.replica_nodes)} != {self.factor} or one.error_code
                    ]
                    self.state = (
                        f"waits for replicas, {host} says {[(one.partition_index, one.isr_nodes) for one in short]}"
                    )
                    if not topic.error_code and len(topic.partitions) == self.partitions and not short:
                        break
                except (NotSent, NoAnswer) as failure:
                    self.state = f"waits for replicas, {host}: {failure}"
                yield from self.sleep(100)

    def _read(self, partition):
        found, position, end = {}, 0, None
        while end is None or position < end:
            leaders = yield from self.leaders(self.topic)
            if partition not in leaders:
                yield from self.sleep(50)
                continue
            try:
                if end is None:
                    told = yield from self.end_offset(leaders[partition], self.topic, partition)
                    end = None if isinstance(told, ErrorCode) else told
                    continue
                got = yield from self.fetch(leaders[partition], self.topic, partition, position)
            except (NotSent, NoAnswer):
                continue
            if isinstance(got, ErrorCode):
                self.state = f"reads {partition} at {position} of {end}: {got.name}"
                yield from self.sleep(50)
                continue
            records, position = got
            found.update(records)
        return found
