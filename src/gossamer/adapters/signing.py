"""Web Bot Auth: requests signed with an Ed25519 key (RFC 9421), so that a server can tell ours from those in our name.

As draft-ietf-webbotauth-httpsig-protocol says it: the signature covers `@authority` and our member of the field
Signature-Agent, whose URL leads to the public keys; the key is named by its thumbprint (RFC 7638, RFC 8037 appendix
A.3). The key directory is signed too, for the authority it was asked of and with the digest of its bytes, so that
nobody else can give it out as his own.

A key file is PEM (PKCS #8). The first key in it signs; all of them are published, so that one can take over from
another.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from gossamer.model.errors import ConfigError
from gossamer.model.limits import KIB

LABEL: Final = "sig1"
TAG_REQUEST: Final = "web-bot-auth"
TAG_DIRECTORY: Final = "http-message-signatures-directory"
MEDIA_TYPE: Final = "application/http-message-signatures-directory+json"
DIRECTORY_S: Final = 24 * 3600.0  # that the signature of a directory holds
KEY_FILE_MAX_BYTES: Final = 64 * KIB
_NONCE_BYTES: Final = 64
_OPEN_TO_OTHERS: Final = 0o077
_BLOCK: Final = re.compile(rb"-----BEGIN PRIVATE KEY-----[A-Za-z0-9+/=\r\n]{1,4096}-----END PRIVATE KEY-----")

Headers = tuple[tuple[str, str], ...]


class Jwk(msgspec.Struct, frozen=True, kw_only=True):
    """A public key (RFC 7517, RFC 8037)."""

    kty: str = "OKP"
    crv: str = "Ed25519"
    kid: str
    x: str
    use: str = "sig"


class KeyDirectory(msgspec.Struct, frozen=True):
    """What is published of keys (RFC 7517, section 5)."""

    keys: tuple[Jwk, ...]


class SigningKey:
    """One private key."""

    def __init__(self, key: Ed25519PrivateKey) -> None:
        """Name it by its thumbprint."""
        raw = key.public_key().public_bytes(serialization.Encoding.Raw, serialization.PublicFormat.Raw)
        self._key = key
        x = _base64url(raw)
        # RFC 7638: the required members in the order of their names, without white space.
        thumbprint = _base64url(hashlib.sha256(f'{{"crv":"Ed25519","kty":"OKP","x":"{x}"}}'.encode()).digest())
        self.jwk = Jwk(kid=thumbprint, x=x)

    def signed(self, label: str, components: tuple[tuple[str, str], ...], parameters: str) -> Headers:
        """Signature-Input and Signature (RFC 9421, section 3.1).

        Args:
            label: names the signature.
            components: identifiers as they are written, each with its value.
            parameters: what follows the list of identifiers, with its semicolons.
        """
        inner = f"({' '.join(name for name, _ in components)}){parameters}"
        lines = [*(f"{name}: {value}" for name, value in components), f'"@signature-params": {inner}']
        made = base64.b64encode(self._key.sign("\n".join(lines).encode("ascii"))).decode()
        return ("Signature-Input", f"{label}={inner}"), ("Signature", f"{label}=:{made}:")


class Signer:
    """Signs requests and the directory for one Signature-Agent."""

    def __init__(self, keys: tuple[SigningKey, ...], agent: str) -> None:
        """`keys` as `load_keys` gives them; `agent` is the URL of the directory."""
        self.keys = keys
        self.agent = agent
        self.authority = authority_of(urlsplit(agent).scheme, urlsplit(agent).netloc)

    def request(self, authority: str, now: float, lifetime_s: float) -> Headers:
        """The fields that a request to `authority` carries; `now` in unix seconds."""
        nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        return request_headers(self.keys[0], self.agent, authority, int(now), int(now + lifetime_s), nonce)

    def directory(self, body: bytes, now: float) -> Headers:
        """The fields with which the directory's bytes are given out at our own authority."""
        digest = f"sha-256=:{base64.b64encode(hashlib.sha256(body).digest()).decode()}:"
        made = [
            directory_headers(key, f"binding{number}", self.authority, digest, int(now), int(now + DIRECTORY_S))
            for number, key in enumerate(self.keys)
        ]
        inputs, signatures = (", ".join(pair[place][1] for pair in made) for place in (0, 1))
        return ("Content-Digest", digest), ("Signature-Input", inputs), ("Signature", signatures)


def request_headers(
    key: SigningKey,
    agent: str,
    authority: str,
    created: int,
    expires: int,
    nonce: str,
    names: tuple[str, str] = ("", ""),
) -> Headers:
    """Signature-Agent, Signature-Input and Signature of one request. `names`: label and member, if not our own."""
    label, member = names[0] or LABEL, names[1] or LABEL
    components = (('"@authority"', authority), (f'"signature-agent";key="{member}"', f'"{agent}"'))
    parameters = (
        f';created={created};keyid="{key.jwk.kid}";alg="ed25519";expires={expires};nonce="{nonce}";tag="{TAG_REQUEST}"'
    )
    return ("Signature-Agent", f'{member}="{agent}"'), *key.signed(label, components, parameters)


def directory_headers(key: SigningKey, label: str, authority: str, digest: str, created: int, expires: int) -> Headers:
    """Signature-Input and Signature of a directory asked of `authority`; `digest` is its Content-Digest."""
    components = (('"@authority";req', authority), ('"content-digest"', digest))
    parameters = f';created={created};expires={expires};keyid="{key.jwk.kid}";tag="{TAG_DIRECTORY}"'
    return key.signed(label, components, parameters)


def authority_of(scheme: str, host: str) -> str:
    """`@authority` of a Host field: lower case, without the scheme's own port (RFC 9421, section 2.2.3)."""
    return host.lower().removesuffix({"http": ":80", "https": ":443"}.get(scheme, ":"))


def create_key(path: Path) -> SigningKey:
    """Make a key in a file of its own that only its owner can read. Raises ConfigError, when there is one, too."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise ConfigError(f"{path} is there already; a key is never written over") from error
    except OSError as error:
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(pem)
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        path.unlink(missing_ok=True)
        raise ConfigError(f"{path}: cannot be written: {error.strerror}") from error
    return SigningKey(key)


def load_keys(path: Path) -> tuple[SigningKey, ...]:
    """The keys in a file, at least one. Raises ConfigError: it cannot be read, others can, it holds none."""
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            data = file.read(KEY_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"identity.signing_key: {path} cannot be read: {error.strerror}") from error
    if mode & _OPEN_TO_OTHERS:
        raise ConfigError(
            f"identity.signing_key: {path} can be read by others (mode {mode & 0o777:03o}); "
            f"allowed is 600: chmod 600 {path}"
        )
    found: list[SigningKey] = []
    for block in _BLOCK.findall(data) if len(data) <= KEY_FILE_MAX_BYTES else ():
        try:
            key = serialization.load_pem_private_key(block, None)
        except (ValueError, TypeError, UnsupportedAlgorithm) as error:
            raise ConfigError(_not_a_key(path)) from error
        if not isinstance(key, Ed25519PrivateKey):
            raise ConfigError(_not_a_key(path))
        found.append(SigningKey(key))
    if not found:
        raise ConfigError(_not_a_key(path))
    return tuple(found)


def _not_a_key(path: Path) -> str:
    allowed = "Ed25519 keys in PEM (PKCS #8, not encrypted), as gossamer identity key makes them"
    return f"identity.signing_key: {path} holds no such key; allowed: {allowed}"


def _base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
