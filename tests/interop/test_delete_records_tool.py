"""kafka-delete-records against a node."""

import json

import pytest

pytestmark = pytest.mark.interop


def test_kafka_delete_records_moves_the_log_start(node, tools, librdkafka, topic, tmp_path):
    librdkafka.write(node.bootstrap, topic, [(b"key", b"value %d" % number, []) for number in range(10)])
    wanted = tmp_path / "offsets.json"

    def delete(offset):
        partitions = [{"topic": topic, "partition": 0, "offset": offset}]
        wanted.write_text(json.dumps({"version": 1, "partitions": partitions}))
        arguments = ["--bootstrap-server", node.bootstrap, "--offset-json-file", str(wanted)]
        return tools.run("org.apache.kafka.tools.DeleteRecordsCommand", *arguments, check=False).decode()

    assert f"partition: {topic}-0\tlow_watermark: 4" in delete(4)
    assert f"partition: {topic}-0\tlow_watermark: 10" in delete(-1)
    assert "OffsetOutOfRange" in delete(11)
