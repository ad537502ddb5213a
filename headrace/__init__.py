"""The shared vocabulary of Headrace: ids, errors, limits, settings, clock. It imports nothing of ours."""

from headrace import compiled_core

__version__ = "0.1.0"

compiled_core.install()
