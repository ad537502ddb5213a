"""A log directory, and a broker that serves it."""

from tests.support.file_log_fixtures import broker, log, remote_broker

__all__ = ["broker", "log", "remote_broker"]
