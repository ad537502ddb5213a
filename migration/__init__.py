"""Logs of other systems, carried into topics."""
