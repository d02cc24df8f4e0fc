"""Bearer tokens: who may ask the server for what. Kept as hashes in one file, which commands and the server share.

A token is 256 random bits, so a fast hash is enough: there is nothing to guess. What is in the file lets nobody in.
"""

from __future__ import annotations

import fcntl
import hashlib
import hmac
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

from gossamer.model.errors import ConfigError, UsageError

FILE_NAME: Final = "tokens.json"
FILE_MAX_BYTES: Final = 1024 * 1024
TOKENS_MAX: Final = 1_000
NAME_MAX_CHARS: Final = 64
NAME_ALLOWED: Final = "1 to 64 letters, digits, dots, dashes and underscores"
PREFIX: Final = "gsm_"  # makes a leaked token easy to search for
SECRET_BYTES: Final = 32
SECRET_MAX_CHARS: Final = 200  # a longer one is none of ours and is not hashed
_NAME_CHARS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")
_PERSON: Final = b"gossamer-token"


class Role(StrEnum):
    """What a token allows; each allows what those before it allow."""

    READ = "read"  # look at everything
    OPERATE = "operate"  # change what the crawl does: seeds, takedowns, hosts, pause
    ADMIN = "admin"  # stop it, change its limits and scope

    def allows(self, wanted: Role) -> bool:
        """Whether this role is enough for what needs `wanted`."""
        order = list(Role)
        return order.index(self) >= order.index(wanted)


class Token(msgspec.Struct, frozen=True, kw_only=True):
    """One token as it is kept."""

    name: str  # whose it is, or what for; stands in the audit log
    role: Role
    hash: str  # BLAKE2b of the token, hexadecimal
    created: float  # unix seconds
    expires: float = 0.0  # unix seconds; 0: never


_decode: Final = msgspec.json.Decoder(list[Token]).decode


def hash_of(secret: str) -> str:
    """The form in which a token is kept."""
    data = secret.encode("utf-8", "surrogatepass")
    return hashlib.blake2b(data, digest_size=32, person=_PERSON).hexdigest()


class TokenBook:
    """The tokens of one server directory. Reads its file again whenever that has changed."""

    def __init__(self, home: Path) -> None:
        """`home` is the server's directory; it need not exist yet."""
        self.path = home / FILE_NAME
        self._stamp: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    def all(self) -> tuple[Token, ...]:
        """Every token, in the order of their making. Raises ConfigError when the file is damaged or unreadable."""
        try:
            with self.path.open("rb") as file:
                status = os.fstat(file.fileno())
                stamp = (status.st_mtime_ns, status.st_ino, status.st_size)
                if stamp != self._stamp:
                    self._tokens = tuple(_decode(file.read(FILE_MAX_BYTES)))
                    self._stamp = stamp
        except FileNotFoundError:
            self._tokens, self._stamp = (), None
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be read: {error.strerror}") from error
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            raise ConfigError(f"{self.path}: is damaged ({error}); nobody is let in until it is put right") from error
        return self._tokens

    def find(self, secret: str, now: float) -> Token | None:
        """The token that this is, unless it has expired by `now` (unix seconds). Raises ConfigError."""
        if len(secret) > SECRET_MAX_CHARS:
            return None
        hashed = hash_of(secret)
        found = None
        for token in self.all():  # all of them, always: how long it takes tells nothing
            if hmac.compare_digest(token.hash, hashed):
                found = token
        return found if found is not None and not 0 < found.expires <= now else None

    def named(self, name: str, now: float) -> Token | None:
        """The token of this name, unless it has expired. Raises ConfigError."""
        for token in self.all():
            if token.name == name and not 0 < token.expires <= now:
                return token
        return None

    def create(self, name: str, role: Role, now: float, valid_s: float | None = None) -> str:
        """Make a token; the only time that it is seen. Raises UsageError, ConfigError."""
        if not 0 < len(name) <= NAME_MAX_CHARS or not _NAME_CHARS.issuperset(name):
            raise UsageError(f"the name of a token is {NAME_ALLOWED}")
        secret = PREFIX + secrets.token_urlsafe(SECRET_BYTES)
        with self._locked():
            tokens = self.all()
            if any(token.name == name for token in tokens):
                raise UsageError(f"there is a token {name} already; revoke it first, or choose another name")
            if len(tokens) >= TOKENS_MAX:
                raise UsageError(f"there are {TOKENS_MAX:,} tokens, which is the most; revoke some")
            expires = 0.0 if valid_s is None else now + valid_s
            made = Token(name=name, role=role, hash=hash_of(secret), created=now, expires=expires)
            self._write((*tokens, made))
        return secret

    def revoke(self, name: str) -> None:
        """Take a token out; a running server refuses it from its next request on. Raises UsageError, ConfigError."""
        with self._locked():
            tokens = self.all()
            left = tuple(token for token in tokens if token.name != name)
            if len(left) == len(tokens):
                known = ", ".join(token.name for token in tokens[:10]) or "none"
                raise UsageError(f"there is no token {name[:NAME_MAX_CHARS]}; there are: {known}")
            self._write(left)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            descriptor = os.open(self.path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"{self.path.parent}: cannot be written to: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _write(self, tokens: tuple[Token, ...]) -> None:
        unfinished = self.path.with_suffix(".new")
        try:
            with open(unfinished, "wb", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(msgspec.json.format(msgspec.json.encode(tokens), indent=2))
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(self.path)
        except OSError as error:
            raise ConfigError(f"{self.path}: cannot be written: {error.strerror}") from error
