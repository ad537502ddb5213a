"""Connections of clients: sockets, their buffers, requests and the places of their responses."""
