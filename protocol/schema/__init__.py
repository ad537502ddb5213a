"""Field tables of the Kafka protocol, data files of the codec."""
