"""The blocking API as the asyncio one looks, so that one scenario is for both.

A method of a blocking object that asyncio awaits becomes a coroutine function that blocks; the rest passes as it is.
"""

import headrace.aio
import headrace.client

# of asyncio's objects as well: they don't wait
PLAIN = {"seek", "start_at", "seek_to_beginning", "seek_to_end", "pause", "resume", "health", "to_arrow"}
MAKERS = {"producer", "consumer", "admin"}


class Awaited:
    """A blocking object of ours."""

    def __init__(self, target):
        self.target = target

    def __getattr__(self, name):
        found = getattr(self.target, name)
        if not callable(found) or name in PLAIN:
            return found
        if name in MAKERS:
            return lambda *args, **named: Awaited(found(*args, **named))

        async def call(*args, **named):
            made = found(*args, **named)
            return AwaitedDelivery(made) if name == "send" else made

        return call

    async def batches(self, *args, **named):
        for batch in self.target.batches(*args, **named):
            yield Awaited(batch)

    async def __aiter__(self):
        for record in self.target:
            yield record

    def __len__(self):
        return len(self.target)

    async def __aenter__(self):
        self.target.__enter__()
        return self

    async def __aexit__(self, *failure):
        self.target.__exit__(*failure)


class AwaitedDelivery:
    def __init__(self, delivery):
        self.delivery = delivery

    def __await__(self):
        return self.delivery.result()
        yield

    @property
    def is_done(self):
        return self.delivery.is_done

    async def exception(self, timeout=None):
        return self.delivery.exception(timeout)


class Blocking:
    is_async = False

    @staticmethod
    def Kafka(bootstrap):
        return Awaited(headrace.client.Kafka(bootstrap))

    @staticmethod
    def callback(function):
        return function


class Asyncio:
    is_async = True
    Kafka = staticmethod(headrace.aio.Kafka)

    @staticmethod
    def callback(function):
        """A coroutine function, as asyncio's callbacks may be."""

        async def call(argument):
            return function(argument)

        return call


APIS = {"blocking": Blocking, "asyncio": Asyncio}
