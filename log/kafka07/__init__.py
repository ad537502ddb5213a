"""The segments of Kafka 0.7, to be read."""
