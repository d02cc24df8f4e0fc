"""Reads the files of ranges: content delivery networks, and the table of autonomous systems.

Their meaning is `policy.networks`. Every error is a ConfigError that names the file, and the line where there is one.
"""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from gossamer.model.errors import ConfigError
from gossamer.model.limits import NETWORK_LINE_MAX_CHARS, NETWORK_LINES_MAX
from gossamer.policy.networks import AsLookup, RangeSet, parse_as_lines

_BUNDLED: Final = "data/cdn_ranges.txt"
_GZIP_MAGIC: Final = b"\x1f\x8b"


class MmdbTable:
    """Autonomous systems from a MaxMind database (GeoLite2-ASN and alike)."""

    def __init__(self, path: Path) -> None:
        """Open the database in memory. Raises ConfigError when it cannot be read or the reader is not installed."""
        try:
            import maxminddb  # noqa: PLC0415 - only those who have such a file need the package
        except ImportError as error:
            raise ConfigError(
                f"{path}: reading .mmdb files needs the package maxminddb; or use an iptoasn .tsv"
            ) from error
        try:
            self._reader: Any = maxminddb.open_database(path, maxminddb.MODE_MEMORY)
        except (OSError, ValueError, maxminddb.InvalidDatabaseError) as error:
            raise ConfigError(f"{path}: not a readable MaxMind database ({error})") from error
        if "asn" not in str(self._reader.metadata().database_type).lower():
            raise ConfigError(
                f"{path}: a MaxMind database of {self._reader.metadata().database_type}, not of AS numbers"
            )

    def lookup(self, address: str) -> int | None:
        """AS number of an address, or None when the database does not have it."""
        try:
            found = self._reader.get(address)
        except ValueError:
            return None
        system = found.get("autonomous_system_number") if isinstance(found, dict) else None
        return system if isinstance(system, int) else None


def load_cdn(path: str = "") -> RangeSet:
    """Ranges of content delivery networks from a file, or the bundled list when `path` is empty.

    Raises ConfigError.
    """
    if not path:
        bundled = files("gossamer").joinpath(_BUNDLED)
        return RangeSet.from_lines(bundled.read_text(encoding="ascii").splitlines(), "the bundled CDN list")
    return RangeSet.from_lines(_lines(Path(path)), path)


def load_as_table(path: str) -> AsLookup:
    """Table of autonomous systems: iptoasn TSV, plain or gzip, or a MaxMind .mmdb. Raises ConfigError."""
    if path.endswith(".mmdb"):
        return MmdbTable(Path(path))
    table = parse_as_lines(_lines(Path(path)), path)
    if not len(table):
        raise ConfigError(f"{path}: holds no address range")
    return table


def _lines(path: Path) -> Iterator[str]:
    """Lines of a text file that may be compressed. Raises ConfigError for what cannot be read."""
    try:
        with path.open("rb") as probe:
            compressed = probe.read(2) == _GZIP_MAGIC
        with gzip.open(path, "rt", encoding="utf-8") if compressed else path.open(encoding="utf-8") as text:
            count = 0
            while line := text.readline(NETWORK_LINE_MAX_CHARS):
                count += 1
                if count > NETWORK_LINES_MAX or (len(line) == NETWORK_LINE_MAX_CHARS and not line.endswith("\n")):
                    raise ConfigError(f"{path}, line {count}: too long for a table of address ranges")
                yield line
    except (OSError, EOFError, UnicodeDecodeError, zlib.error) as error:
        raise ConfigError(f"{path}: cannot be read as a table of address ranges ({error})") from error
