"""Replication in the partition worker: what followers have, what this node follows."""
