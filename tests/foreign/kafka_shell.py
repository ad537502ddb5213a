"""A directory like an installation of Apache Kafka, for suites that call its scripts: `bin/kafka-topics.sh` and the others."""

from __future__ import annotations

from pathlib import Path

SCRIPTS = {
    "kafka-acls.sh": "kafka.admin.AclCommand",
    "kafka-configs.sh": "kafka.admin.ConfigCommand",
    "kafka-console-consumer.sh": "org.apache.kafka.tools.consumer.ConsoleConsumer",
    "kafka-console-producer.sh": "kafka.tools.ConsoleProducer",
    "kafka-consumer-groups.sh": "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
    "kafka-reassign-partitions.sh": "org.apache.kafka.tools.reassign.ReassignPartitionsCommand",
    "kafka-topics.sh": "org.apache.kafka.tools.TopicCommand",
}


def make_installation(folder: Path, jars: list[Path]) -> Path:
    """Write the scripts; returns what suites call the path of Kafka."""
    classpath = ":".join(map(str, jars))
    (folder / "bin").mkdir(parents=True, exist_ok=True)
    for script, program in SCRIPTS.items():
        path = folder / "bin" / script
        path.write_text(f'#!/bin/sh\nexec java -Xmx256m -cp "{classpath}" {program} "$@"\n')
        path.chmod(0o755)
    return folder
