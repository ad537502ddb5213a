"""Offsets and timestamps to places in segment files."""
