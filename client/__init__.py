"""A Kafka client for Headrace's own needs."""
