"""The pass that leaves the last record of each key."""
