"""The live log as Arrow, without Spark: `open(topic)` reads segments of this host where they lie, and the rest over the network."""

from __future__ import annotations

from headrace.arrow.reader import Reader, open

__all__ = ["Reader", "open"]
