"""A Kafka for tests: a pytest plugin, nodes of a test's own, and the ZooKeeper below them."""
