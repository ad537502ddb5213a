"""The producers and consumers of Kafka 0.7 to 0.10 under their names, for programs that were written against them."""
