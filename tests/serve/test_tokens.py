"""Tokens: seen once, kept as hashes, revoked at once."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import pytest

from gossamer.model.errors import ConfigError, UsageError
from gossamer.serve.tokens import TOKENS_MAX, Role, Token, TokenBook, hash_of


def test_a_token_is_found_and_only_its_hash_is_kept(tmp_path: Path) -> None:
    book = TokenBook(tmp_path / "home")
    secret = book.create("anna", Role.OPERATE, 100.0)
    found = book.find(secret, 101.0)
    assert found is not None
    assert (found.name, found.role) == ("anna", Role.OPERATE)
    assert len(secret) >= 43
    text = book.path.read_text()
    assert secret not in text
    assert secret.removeprefix("gsm_") not in text
    assert json.loads(text)[0]["hash"] == hash_of(secret)
    assert stat.S_IMODE(book.path.stat().st_mode) == 0o600
    assert book.find(secret[:-1], 101.0) is None
    assert book.find("", 101.0) is None
    assert book.find("x" * 1_000_000, 101.0) is None
    assert book.find("\ud800", 101.0) is None


def test_another_process_sees_what_was_made_and_revoked(tmp_path: Path) -> None:
    commands, server = TokenBook(tmp_path), TokenBook(tmp_path)
    assert server.all() == ()
    secret = commands.create("anna", Role.READ, 1.0)
    assert server.find(secret, 2.0) is not None
    commands.revoke("anna")
    assert server.find(secret, 2.0) is None
    assert server.named("anna", 2.0) is None


def test_a_token_ends(tmp_path: Path) -> None:
    book = TokenBook(tmp_path)
    secret = book.create("brief", Role.READ, 100.0, valid_s=10.0)
    assert book.find(secret, 109.9) is not None
    assert book.find(secret, 110.0) is None
    assert book.named("brief", 110.0) is None


@pytest.mark.parametrize("name", ["", "a" * 65, "a b", "ä", "a\n", "../x"])
def test_names_are_checked(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="1 to 64 letters"):
        TokenBook(tmp_path).create(name, Role.READ, 1.0)
    assert not (tmp_path / "tokens.json").exists()


def test_two_of_one_name_and_none_of_a_name(tmp_path: Path) -> None:
    book = TokenBook(tmp_path)
    book.create("anna", Role.READ, 1.0)
    with pytest.raises(UsageError, match="already"):
        book.create("anna", Role.ADMIN, 1.0)
    with pytest.raises(UsageError, match="no token bob; there are: anna"):
        book.revoke("bob")


def test_their_number_is_bounded(tmp_path: Path) -> None:
    book = TokenBook(tmp_path)
    many = [Token(name=f"t{number}", role=Role.READ, hash="0", created=1.0) for number in range(TOKENS_MAX)]
    book._write(tuple(many))
    with pytest.raises(UsageError, match="1,000 tokens"):
        book.create("one-more", Role.READ, 1.0)


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"name": "x", "role": "god", "hash": "", "created": 1}]', "\xff"])
def test_a_damaged_file_lets_nobody_in(tmp_path: Path, text: str) -> None:
    book = TokenBook(tmp_path)
    secret = book.create("anna", Role.ADMIN, 1.0)
    assert book.find(secret, 2.0) is not None
    book.path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ConfigError, match="nobody is let in"):
        book.find(secret, 2.0)


def test_roles_include_those_below() -> None:
    allowed = {(have, want): have.allows(want) for have in Role for want in Role}
    assert [pair for pair, may in allowed.items() if not may] == [
        (Role.READ, Role.OPERATE),
        (Role.READ, Role.ADMIN),
        (Role.OPERATE, Role.ADMIN),
    ]
