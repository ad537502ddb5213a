"""A small ZooKeeper server in Python, for tests and for trying."""
