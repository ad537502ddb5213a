"""The generator of messages and codecs, from the field tables in `protocol/schema`."""
