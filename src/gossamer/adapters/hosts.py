"""Hosts files: names and addresses as in /etc/hosts. Nothing else of name resolution."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from gossamer.model.errors import ConfigError
from gossamer.model.limits import HOSTS_FILE_MAX_BYTES


def read_hosts(path: str) -> dict[str, tuple[str, ...]]:
    """Addresses by lower-case name, in file order. Raises ConfigError for a file or a line that cannot be read."""
    try:
        with Path(path).open("rb") as file:
            raw = file.read(HOSTS_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigError(f"dns.hosts_file: {path}: {error.strerror}") from None
    if len(raw) > HOSTS_FILE_MAX_BYTES:
        raise ConfigError(f"dns.hosts_file: {path}: larger than {HOSTS_FILE_MAX_BYTES} bytes")
    hosts: dict[str, dict[str, None]] = {}
    for number, line in enumerate(raw.decode("utf-8", "replace").splitlines(), 1):
        fields = line.partition("#")[0].split()
        if not fields:
            continue
        try:
            address = str(ipaddress.ip_address(fields[0].partition("%")[0]))
        except ValueError:
            raise ConfigError(f"dns.hosts_file: {path}:{number}: {fields[0][:60]!r} is no IP address") from None
        for name in fields[1:]:
            hosts.setdefault(name.lower().removesuffix("."), {})[address] = None
    return {name: tuple(addresses) for name, addresses in hosts.items()}
