"""Requests and answers between Apache Kafka 3.9 brokers, as they went over the wire (`tests/protocol/recorded/`).

    for one in recorded("2.8", ApiKey.LEADER_AND_ISR, "create"):
        one.request_body      bytes behind the header, as `decode_request` takes them
        one.request           the same, decoded

Brokers 1, 2, 3; 1 was the controller until `resign`. Topic `recorded`: partition 0 on 1, 2, 3, partition 1 on 2, 3, 1. The
situations, in order:

    start      three brokers start, no topic
    create     the topic is created
    produce    a few records with acks=all, by an idempotent producer
    shutdown   3 stops in order
    return     3 starts again
    kill       2 is killed, and its session expires
    restart    2 starts again
    resign     /controller is deleted: another controller, or the same one with a higher epoch
    shrink     partition 0 is reassigned to 1, 2
    grow       partition 0 is reassigned to 2, 1, 3
    elect      the preferred leader of partition 1 is elected
    delete     the topic is deleted

Made by `python -m tests.interop.record_frames`.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response
from headrace.protocol.frames import parse_request_header, parse_response_header

FOLDER = Path(__file__).parents[1] / "protocol" / "recorded"
IBPS = ("2.6", "2.8", "3.9")


class Recorded(NamedTuple):
    """One request and its answer, both frames without their sizes."""

    ibp: str
    situation: str
    target: int  # broker id of who was asked
    request_frame: bytes
    response_frame: bytes

    @property
    def header(self):
        return parse_request_header(memoryview(self.request_frame))

    @property
    def api_key(self):
        return ApiKey(self.header.api_key)

    @property
    def version(self):
        return self.header.api_version

    @property
    def request_body(self):
        return self.request_frame[self.header.body_position :]

    @property
    def response_body(self):
        _correlation_id, position = parse_response_header(memoryview(self.response_frame), self.api_key, self.version)
        return self.response_frame[position:]

    @property
    def request(self):
        return decode_request(self.api_key, self.version, memoryview(self.request_body))

    @property
    def response(self):
        return decode_response(self.api_key, self.version, self.response_body)


@cache
def all_recorded(ibp):
    """Every exchange of one IBP, in the order of their answers."""
    found = []
    for line in (FOLDER / f"{ibp}.txt").read_text().splitlines():
        if line and not line.startswith("#"):
            situation, target, _name, request, response = line.split()
            found.append(Recorded(ibp, situation, int(target), bytes.fromhex(request), bytes.fromhex(response)))
    return tuple(found)


def recorded(ibp, api_key=None, situation=None, target=None):
    """Those of one IBP, of one API, in one situation, to one broker; None: of any."""
    return [
        one
        for one in all_recorded(ibp)
        if api_key in (None, one.api_key) and situation in (None, one.situation) and target in (None, one.target)
    ]
