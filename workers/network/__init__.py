"""The network worker."""
