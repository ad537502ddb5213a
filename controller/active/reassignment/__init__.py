"""Replicas that move to other brokers (KIP-455)."""
