"""`make lint` finds a misspelt field of a message or struct, and a misspelt key of a setting.

Needs the links that `make lint` makes; the test makes them itself.
"""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.process

ROOT = Path(__file__).parent.parent

HEAD = """
from headrace.protocol import messages
from headrace.protocol.apis import ApiKey
from headrace.protocol.codec import decode_request, decode_response, decode_struct
from headrace.settings import Settings, topic_values
from typing import cast
from headrace.ids import RequestId
from headrace.log.config import LogConfig
from headrace.workers.partition.answers import Answers
"""
# what a line says -> what mypy has to say of it
MISSPELT = {
    "decode_request(ApiKey.PRODUCE, 9, memoryview(b'')).timout_ms": '"ProduceRequest" has no attribute "timout_ms"',
    "decode_request(ApiKey.PRODUCE, 9, memoryview(b'')).topic_data[0].partitoin_data": (
        '"TopicProduceData" has no attribute "partitoin_data"'
    ),
    "Settings()['log.dir']": "No overload variant of",
    "decode_response(ApiKey.FETCH, 12, b'').responses[0].partitions[0].high_watermrak": '"high_watermrak"',
    "decode_struct('OffsetCommitValue', 3, b'').ofset": '"OffsetCommitValue" has no attribute "ofset"',
    "messages.FetchRequest(max_byts=1)": 'Unexpected keyword argument "max_byts"',
    "messages.FetchRequest.FetchTopc()": 'has no attribute "FetchTopc"',
    "messages.FetchReqest()": 'has no attribute "FetchReqest"',
    "messages.FetchRequest()._replace(min_byts=1)": 'Unexpected keyword argument "min_byts"',
    "messages.FetchRequest(max_bytes='1')": 'incompatible type "str"; expected "int"',
    "decode_request(ApiKey.METADATA, 9, memoryview(b'')).topics[0]": "is not indexable",
    "Settings()['log.dirs'] + 1": 'No overload variant of "__add__" of "tuple"',
    "topic_values(Settings(), {})['segment.byte']": '"segment.byte"',
    "LogConfig.from_values({})": "Missing keys",
    "cast(Answers, None).refuse(RequestId(5), 1, 0, 3)": 'incompatible type "int"; expected "RequestId"',
}
RIGHT = """
timeout_ms: int = decode_request(ApiKey.PRODUCE, 9, memoryview(b"")).timeout_ms
records: memoryview | None = decode_request(ApiKey.PRODUCE, 9, memoryview(b"")).topic_data[0].partition_data[0].records
directories: tuple[str, ...] = Settings()["log.dirs"]
rack: str | None = Settings()["broker.rack"]
ratio: float = topic_values(Settings(), {})["min.cleanable.dirty.ratio"]
data = messages.FetchResponse.PartitionData(records=b"bytes")
data._replace(records=bytearray(), error_code=3)
cast(Answers, None).refuse(1, RequestId(5), 0, 3)
"""


@pytest.fixture(scope="module")
def complaints(tmp_path_factory):
    """Line of the snippet -> what mypy says of it."""
    made = subprocess.run(
        ["make", "-o", ".venv/.headrace-setup", "links", f"BIN={Path(sys.executable).parent}"],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    snippet = tmp_path_factory.mktemp("snippet") / "snippet.py"
    snippet.write_text(HEAD + RIGHT + "\n".join(MISSPELT) + "\n")
    run = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--no-error-summary",
            "--hide-error-context",
            "--follow-imports",
            "silent",
            snippet,
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1, run.stdout + run.stderr
    lines = snippet.read_text().splitlines()
    found = {}
    for text in run.stdout.splitlines():
        _path, number, rest = text.split(":", 2)
        found.setdefault(lines[int(number) - 1], []).append(rest)
    return found


@pytest.mark.parametrize("line", MISSPELT)
def test_a_misspelt_name_is_an_error(complaints, line):
    assert any(MISSPELT[line] in text for text in complaints.get(line, ())), complaints.get(line)


def test_what_is_right_is_none(complaints):
    assert not complaints.keys() - MISSPELT.keys()
