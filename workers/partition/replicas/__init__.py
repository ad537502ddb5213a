"""Replicas of a partition worker: which are held, how they are opened and closed, and what becomes of them."""
