"""Which of its addresses a host is asked at.

One that cannot be connected to goes to the end and is passed over, so that the next try, after the same gap and
back-off as any, goes to another one; when all have failed, to the one whose failure is the longest ago. A look-up that
brings an address again does not clear it: where a name is looked up before each visit, the same dead address would be
tried each time.
"""

from __future__ import annotations

from gossamer.model.record import HostRow


def to_try(row: HostRow) -> tuple[str, ...]:
    """Those of a host's addresses that the next request may go to; at least one, if there are any."""
    return row.addresses[: len(row.addresses) - row.addresses_failed]


def pass_over(row: HostRow, address: str) -> None:
    """An address could not be connected to."""
    others = tuple(other for other in row.addresses if other != address)
    if others and len(others) < len(row.addresses):
        row.addresses = (*others, address)
        row.addresses_failed = min(row.addresses_failed + 1, len(others))


def looked_up(row: HostRow, found: tuple[str, ...], expires: float) -> None:
    """The name of a host was looked up: the addresses that it has now, if any, and until when (unix seconds)."""
    failed = row.addresses[len(row.addresses) - row.addresses_failed :]
    known = tuple(address for address in failed if address in found)
    row.addresses = (*(address for address in found if address not in known), *known)
    row.addresses_failed = min(len(known), max(0, len(found) - 1))
    row.addresses_expire = expires
