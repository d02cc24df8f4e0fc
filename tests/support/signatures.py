"""Verifies signed requests as a server does: from what came, and the public key (RFC 9421, section 3.2)."""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey


def verified(fields: Mapping[str, str], public: Ed25519PublicKey) -> dict[str, str]:
    """The parameters of a request's signature. Raises InvalidSignature. `fields` by their lower-case names."""
    found = re.fullmatch(r"sig1=(\((.*?)\)(;.*))", fields["signature-input"])
    assert found is not None
    assert found[2] == '"@authority" "signature-agent";key="sig1"'
    agent = fields["signature-agent"].removeprefix("sig1=")
    lines = (
        f'"@authority": {fields["host"].lower()}',
        f'"signature-agent";key="sig1": {agent}',
        f'"@signature-params": {found[1]}',
    )
    public.verify(_bytes(fields["signature"], "sig1"), "\n".join(lines).encode())
    return dict(part.split("=", 1) for part in found[3].split(";")[1:]) | {"agent": agent, "host": fields["host"]}


def directory_verified(
    fields: Mapping[str, str], authority: str, public: Ed25519PublicKey, label: str
) -> dict[str, str]:
    """The parameters of the signature of a key directory that was asked of `authority`."""
    inputs = dict(part.split("=", 1) for part in fields["signature-input"].split(", "))
    found = re.fullmatch(r"(\((.*?)\)(;.*))", inputs[label])
    assert found is not None
    assert found[2] == '"@authority";req "content-digest"'
    lines = (
        f'"@authority";req: {authority}',
        f'"content-digest": {fields["content-digest"]}',
        f'"@signature-params": {found[1]}',
    )
    signatures = dict(part.split("=", 1) for part in fields["signature"].split(", "))
    public.verify(_bytes(f"{label}={signatures[label]}", label), "\n".join(lines).encode())
    return dict(part.split("=", 1) for part in found[3].split(";")[1:])


def public_of(x: str) -> Ed25519PublicKey:
    """The key that a JWK's `x` is."""
    return Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(x + "="))


def _bytes(value: str, label: str) -> bytes:
    return base64.b64decode(value.removeprefix(f"{label}=:").removesuffix(":"), validate=True)
