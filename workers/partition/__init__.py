"""The partition worker."""
