"""The shared vocabulary of Headrace: ids, errors, limits, settings, clock. It imports nothing of ours."""

__version__ = "0.1.0"
