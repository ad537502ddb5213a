"""Log directories as Kafka 0.7 leaves them."""


def write_segments(directory, topic, partition, segments, first=0):
    """Write lists of messages as .kafka segments, named for the byte where they begin; returns the partition's directory."""
    folder = directory / f"{topic}-{partition}"
    folder.mkdir(parents=True, exist_ok=True)
    for messages in segments:
        content = b"".join(messages)
        (folder / f"{first:020d}.kafka").write_bytes(content)
        first += len(content)
    return folder
