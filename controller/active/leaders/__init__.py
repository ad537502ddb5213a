"""Who leads each partition and which replicas are in sync: elections, and Kafka's state machines carried out."""
