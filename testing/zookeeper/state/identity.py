"""Who a client is, and what an ACL lets it do.

Every connection is `ip:ADDRESS`; `addauth digest user:password` makes it `digest:user:HASH` as well, until it closes.

    world:anyone       all                  digest:user:HASH   clients that gave that password
    auth:              those who set it     ip:ADDRESS[/BITS]  clients from there

Source: ZooKeeper `ZooKeeperServer.checkACL`, `PrepRequestProcessor.fixupACL`, `DigestAuthenticationProvider`, `IPAuthenticationProvider`.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
from typing import Final

from headrace.testing.zookeeper.state.codes import Code, Perms, ZooKeeperRefusal
from headrace.testing.zookeeper.state.jute import Acl

Identity = tuple[tuple[str, str], ...]  # (scheme, id)

_MASKED: Final = "x"  # where a client may read an ACL and not administer it


def digest_id(credentials: bytes) -> str:
    """`user:HASH` of `user:password`."""
    user = credentials.partition(b":")[0].decode(errors="replace")
    return f"{user}:{base64.b64encode(hashlib.sha1(credentials, usedforsecurity=False).digest()).decode()}"


def check_allowed(acl: tuple[Acl, ...], perms: Perms, who: Identity) -> None:
    """raises   ZooKeeperRefusal, where no entry of the ACL allows it"""
    if not is_allowed(acl, perms, who):
        raise ZooKeeperRefusal(Code.NO_AUTH)


def is_allowed(acl: tuple[Acl, ...], perms: Perms, who: Identity) -> bool:
    return not acl or any(one.perms & perms and _matches(one, who) for one in acl)


def resolved(acls: list[Acl], who: Identity) -> tuple[Acl, ...]:
    """An ACL as it is stored: `auth` becomes the identities that the client has proved.

    raises   ZooKeeperRefusal, for an empty ACL or a bad entry
    """
    stored: dict[Acl, None] = {}
    for acl in acls:
        if acl.scheme == "auth":
            proved = [Acl(acl.perms, scheme, one) for scheme, one in who if scheme == "digest"]
            if not proved:
                raise ZooKeeperRefusal(Code.INVALID_ACL)
            stored.update(dict.fromkeys(proved))
        elif not _is_valid(acl):
            raise ZooKeeperRefusal(Code.INVALID_ACL)
        else:
            stored[acl] = None
    if not stored:
        raise ZooKeeperRefusal(Code.INVALID_ACL)
    return tuple(stored)


def shown(acl: tuple[Acl, ...], who: Identity) -> tuple[Acl, ...]:
    """An ACL as a client reads it: hashes of passwords are for those who may set it."""
    if is_allowed(acl, Perms.ADMIN, who):
        return acl
    return tuple(
        one._replace(id=f"{one.id.partition(':')[0]}:{_MASKED}") if one.scheme == "digest" else one for one in acl
    )


def _is_valid(acl: Acl) -> bool:
    if acl.scheme == "world":
        return acl.id == "anyone"
    if acl.scheme == "digest":
        return len(acl.id.split(":")) == 2
    return acl.scheme == "ip" and _network(acl.id) is not None


def _matches(acl: Acl, who: Identity) -> bool:
    if acl.scheme == "world":
        return acl.id == "anyone"
    if acl.scheme == "ip":
        network = _network(acl.id)
        return network is not None and any(
            scheme == "ip" and ipaddress.ip_address(address) in network for scheme, address in who
        )
    return (acl.scheme, acl.id) in who


def _network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network | None:
    try:
        return ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
