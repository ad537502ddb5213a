"""The ZooKeeper session: calls that never block, and the tasks that await them."""
