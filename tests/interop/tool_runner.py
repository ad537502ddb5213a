"""Kafka's command line tools in one JVM that stays: a call takes what the tool takes, not the second and a half of a start."""

import subprocess
import threading
from pathlib import Path

from bench.peers import jars
from tests.support import children

RUNNER = Path(__file__).parent / "ToolRunner.java"
CALL_DEADLINE_S = 120

TOPICS = "org.apache.kafka.tools.TopicCommand"
REASSIGN = "org.apache.kafka.tools.reassign.ReassignPartitionsCommand"
ELECT = "org.apache.kafka.tools.LeaderElectionCommand"
CONFIGS = "kafka.admin.ConfigCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
VERIFICATION = "org.apache.kafka.tools.ReplicaVerificationTool"


class ToolRunner:
    """`run(TOPICS, "--bootstrap-server", ..., "--list")` -> what was printed."""

    def __init__(self):
        command = [
            "java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-cp", ":".join(map(str, jars("kafka"))), str(RUNNER),
        ]  # fmt: skip
        self._process = children.start(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def run(self, program, *arguments, code=0):
        """raises AssertionError, where the tool ends with another exit code, or not in time; None: any will do"""
        assert not any("\t" in one or "\n" in one for one in arguments)
        self._process.stdin.write("\t".join([program, *arguments]) + "\n")
        self._process.stdin.flush()
        watchdog = threading.Timer(CALL_DEADLINE_S, self._process.kill)
        watchdog.start()
        try:
            lines = []
            for line in self._process.stdout:
                if line.startswith("EXIT\t"):
                    break
                lines.append(line)
            else:
                raise AssertionError(f"{program} {arguments} ended the JVM: {''.join(lines)[-3000:]}")
        finally:
            watchdog.cancel()
        said = "".join(lines)
        found = int(line.split("\t")[1])
        assert code in (None, found), f"{program} {' '.join(arguments)} ended with {found}: {said[-3000:]}"
        return said

    def close(self):
        self._process.stdin.close()
        self._process.stdout.close()
        children.end(self._process)
