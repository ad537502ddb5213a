"""A producer and a consumer over engines of a `Network`: what the facades do, without their waiting."""

from __future__ import annotations

from headrace.client.engine.fetching import Fetching, FetchingOptions, OffsetReset
from headrace.client.engine.producing import Producing
from headrace.client.engine.producing_options import ProducingOptions
from headrace.client.engine.transactional_producing import TransactionalProducing
from headrace.client.reading import runs_of

RECORD_BYTES = 100  # that a record takes at most beside its value


class ModelProducer:
    """Sends by partition; `sent` has the values of each in order."""

    def __init__(self, network, given=None, **options):
        self.network = network
        self.engine = network.client()
        self.stored = []  # (partition, base offset, records) of each acknowledged batch
        self.producing = Producing(
            self.engine.requests,
            self.engine.tasks,
            self.engine.metadata,
            ProducingOptions(**{"batch_size": 400, **options}),
            given=given,
            on_stored=lambda *batch: self.stored.append(batch),
        )
        self.engine.parts.append(self.producing)
        self.sent = {}

    def send(self, name, value, headers=()):
        """The batch that has it."""
        producing = self.producing
        route = producing.routes.get(name.topic)
        if route is None:
            route = self.network.result(self.engine.start(producing.learn(name.topic), "learn"))
        queue = producing.queue(route, name.partition)
        batch = queue.open
        size = len(value) + RECORD_BYTES
        if batch is None or batch.builder.size_bytes + size > producing.options.batch_size:
            batch = producing.open_batch(queue, size, self.network.now_s)
        before = batch.builder.size_bytes
        batch.builder.append(1_000, None, value, headers)
        producing.path.add(batch.builder.size_bytes - before)
        self.sent.setdefault(name, []).append(value)
        return batch

    def flush(self, seconds=600.0):
        self.producing.turn(self.network.now_s, is_flushing=True)
        self.network.run_until(lambda: not self.producing.outstanding, seconds, "flush")


class ModelTransactionalProducer(ModelProducer):
    """Sends in transactions."""

    def __init__(self, network, name="copier", **options):
        super().__init__(network, transactional_id=name, is_idempotent=True, **options)
        self.engine.parts.remove(self.producing)
        self.producing = TransactionalProducing(
            self.engine.requests, self.engine.tasks, self.engine.metadata, self.producing.options
        )
        self.engine.parts.append(self.producing)
        self.transactions = self.producing.transactions

    def do(self, name, *arguments):
        """`init`, `commit`, `abort`, `send_offsets`, and wait for it."""
        self.engine.tasks.now_s = self.network.now_s
        return self.network.result(getattr(self.transactions, name)(*arguments))


class ModelConsumer:
    """Reads; `got` has the values of each partition in order."""

    def __init__(self, network, names=(), **options):
        self.network = network
        self.engine = network.client()
        self.fetching = Fetching(
            self.engine.requests,
            self.engine.tasks,
            self.engine.metadata,
            FetchingOptions(**{"reset": OffsetReset.EARLIEST, **options}),
        )
        self.engine.parts.append(self.fetching)
        self.got = {}
        self.failures = []
        self.fetching.assign(names)

    def take(self):
        """All that is there."""
        while self.fetching.has_something:
            try:
                chunk = self.fetching.take()
            except Exception as failure:
                self.failures.append(failure)
                continue
            if chunk is None:
                return
            for run in runs_of(chunk):
                self.got.setdefault(chunk.subject.name, []).extend(record.value for record in run)
            chunk.subject.position = chunk.next_offset

    def read_until(self, is_so, seconds=600.0, what="reading"):
        def look():
            self.take()
            return is_so()

        self.network.run_until(look, seconds, what)

    def has(self, name, count):
        return len(self.got.get(name, ())) >= count
