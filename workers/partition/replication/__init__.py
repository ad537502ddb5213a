"""Replication in a partition worker: what follows the leaders of other nodes, and what is known of own followers."""
