"""Requests that other processes of the node answer."""
