"""The server as plain data: no socket, no clock, no file."""
