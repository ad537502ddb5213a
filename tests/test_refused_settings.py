"""Keys that promise protection are refused while it is not built; what promises nothing is not."""

import logging

import pytest

from headrace.errors import ConfigError
from headrace.node.settings_file import checked
from headrace.settings import Settings


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("authorizer.class.name", "kafka.security.authorizer.AclAuthorizer"),
        ("super.users", "User:admin"),
        ("allow.everyone.if.no.acl.found", "false"),
        ("security.inter.broker.protocol", "SSL"),
        ("security.providers", "a.Provider"),
        ("ssl.keystore.location", "/etc/keys.jks"),
        ("ssl.client.auth", "required"),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256"),
        ("listener.security.protocol.map", "PLAINTEXT:SSL"),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,SASL:SASL_PLAINTEXT"),
        ("listener.name.internal.ssl.keystore.location", "/k"),
        ("listener.name.sasl_ssl.scram-sha-256.sasl.jaas.config", "x"),
        ("listener.name.a.connections.max.reauth.ms", "1"),
        ("delegation.token.master.key", "x"),
        ("password.encoder.secret", "x"),
        ("principal.builder.class", "x"),
        ("connections.max.reauth.ms", "1000"),
        ("zookeeper.ssl.client.enable", "true"),
        ("zookeeper.set.acl", "true"),
    ],
)
def test_a_key_that_promises_protection_is_refused_with_key_value_and_reason(key, value):
    with pytest.raises(ConfigError, match="not supported yet") as caught:
        Settings({key: value})
    assert caught.value.key == key


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("security.inter.broker.protocol", "PLAINTEXT"),
        ("security.providers", ""),
        ("authorizer.class.name", " "),
        ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT, INTERNAL:plaintext"),
        ("connections.max.reauth.ms", "0"),
        ("zookeeper.set.acl", "false"),
        ("zookeeper.ssl.client.enable", "False"),
        ("broker.id", "3"),
    ],
)
def test_what_promises_nothing_is_taken(key, value):
    Settings({key: value})


@pytest.mark.parametrize(
    "key", ["ssl.keystore.password", "listener.name.x.plain.sasl.jaas.config", "delegation.token.secret.key"]
)
def test_a_secret_is_not_printed(key):
    with pytest.raises(ConfigError) as caught:
        Settings({key: "hunter2"})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "key",
    [
        "quota.window.num",
        "quota.producer.default",
        "controller.quota.window.num",
        "replica.alter.log.dirs.io.max.bytes.per.second",
    ],
)
def test_a_quota_warns_that_nobody_is_throttled(key, caplog):
    with caplog.at_level(logging.WARNING):
        checked({key: "11"})
    assert caplog.messages == [f"quota ignored, quotas are not supported yet key={key}"]
