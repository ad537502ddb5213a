"""What turns an engine: sockets on a thread that waits, or on an event loop of asyncio."""
