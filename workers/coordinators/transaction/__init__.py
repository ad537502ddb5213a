"""Transactional ids: see README.md."""
