"""Keys of Kafka's that a node must not ignore: they promise protection that is not supported yet.

Runs in: every process that parses settings. A node that started without it would be open although its file says otherwise. Keys
without a value promise nothing, and neither do the values in `_HARMLESS`.

Source: Kafka 3.9 `KafkaConfig`, `SslConfigs`, `SaslConfigs`, `SecurityConfig`, `AclAuthorizer`, `PasswordEncoderConfigs`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from headrace.errors import ConfigError

PLAINTEXT: Final = "PLAINTEXT"
PROTOCOL_MAP: Final = "listener.security.protocol.map"
_LISTENER: Final = re.compile(r"listener\.name\.[^.]+\.")  # such keys hold for one listener
_PROMISES: Final = re.compile(
    r"(authorizer|ssl|sasl|security|delegation\.token|password\.encoder|zookeeper\.ssl)\."
    r"|super\.users$|allow\.everyone\.if\.no\.acl\.found$|principal\.builder\.class$|connections\.max\.reauth\.ms$"
    r"|zookeeper\.set\.acl$"
)
_MECHANISM: Final = re.compile(r".+\.sasl\.")  # of a listener: listener.name.x.scram-sha-256.sasl.jaas.config
_HARMLESS: Final = {
    "security.inter.broker.protocol": PLAINTEXT,
    "connections.max.reauth.ms": "0",
    "zookeeper.set.acl": "false",
    "zookeeper.ssl.client.enable": "false",
}
_QUOTAS: Final = re.compile(r"(^|\.)quota\.|^replica\.alter\.log\.dirs\.io\.max")


def refuse_promises(given: Mapping[str, str]) -> None:
    """raises ConfigError, for the first key that promises protection"""
    for key, text in given.items():
        text = text.strip()
        if key == PROTOCOL_MAP and text:
            _refuse_protocols(text)
        elif text and _is_promise(key, text):
            raise ConfigError(
                key,
                _shown(key, text),
                "not supported yet, and without it the node would be unprotected: remove the key",
            )


def _is_promise(key: str, text: str) -> bool:
    plain = _LISTENER.sub("", key, count=1)
    if not _PROMISES.match(plain) and (plain == key or not _MECHANISM.match(plain)):
        return False
    return _HARMLESS.get(plain, "").lower() != text.lower()


def is_quota(key: str) -> bool:
    """Whether a key is a quota of clients or of moves between directories; quotas are not supported."""
    return _QUOTAS.search(key) is not None


def _refuse_protocols(text: str) -> None:
    for entry in text.split(","):
        protocol = entry.rpartition(":")[2].strip()
        if protocol.upper() != PLAINTEXT:
            raise ConfigError(PROTOCOL_MAP, text, f"{protocol} is not supported yet, only {PLAINTEXT}")


def _shown(key: str, text: str) -> str:
    """The value, hidden if it is a secret: logs are kept."""
    is_secret = re.search(r"password|secret|jaas|\.key$|keystore\.key|certificate", key) is not None
    return "(hidden)" if is_secret else text
