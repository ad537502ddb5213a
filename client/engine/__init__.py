"""The client without sockets: see README.md."""
