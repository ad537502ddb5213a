"""The name that brokers see where a program gives none (`client.id`)."""

from typing import Final

CLIENT_ID: Final = "headrace"
