"""`python -m tests.interop.apache_zookeeper DIRECTORY PORT`: Apache's server as a command for `kazoo_harness.py`.

Prints `ready zookeeper=HOST:PORT`; port 0 is any free one. Ends with SIGTERM.
"""

import signal
import sys
from pathlib import Path

from headrace.node.embedded_zookeeper import EmbeddedZooKeeper


class Asked(EmbeddedZooKeeper):
    """It answers `envi`, by which kazoo learns its version."""

    def _write_config(self):
        config = super()._write_config()
        config.write_text(config.read_text().replace("4lw.commands.whitelist=\n", "4lw.commands.whitelist=envi\n"))
        return config


def main():
    signals = {signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    server = Asked(Path(sys.argv[1]), int(sys.argv[2]))
    server.start()
    try:
        print(f"ready zookeeper={server.connect}", flush=True)
        signal.sigwait(signals)
    finally:
        server.stop()


if __name__ == "__main__":
    main()
