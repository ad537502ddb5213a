"""Requests that read logs: fetches of clients and followers, and searches."""
