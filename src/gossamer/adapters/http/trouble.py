"""Whose fault a failure is: errors of the socket layer sorted into the model's failures.

A fault of our own machine (no descriptors, no buffers, no route at all) must never be held against a host, and a host
must not be able to pass its own faults off as ours.
"""

from __future__ import annotations

import errno
import ipaddress
import socket
from typing import TYPE_CHECKING, Final

import msgspec

from gossamer.model.page import Failure, Outcome

if TYPE_CHECKING:
    from gossamer.adapters.http.response import Response

_OURS: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.ENETDOWN, errno.EADDRNOTAVAIL})
_MISSED: Final = frozenset(
    (Failure.TIMEOUT, Failure.CONNECT_TIMEOUT, Failure.FIRST_BYTE_TIMEOUT, Failure.CONNECT, Failure.DISCONNECTED)
)
_UNREACHABLE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH})


def is_ours(error: BaseException | None) -> bool:
    """Whether our machine has run out of something: memory, descriptors, buffers, network."""
    return isinstance(error, MemoryError) or (isinstance(error, OSError) and error.errno in _OURS)


class Trouble(Exception):  # noqa: N818 - not an error of the program: the way a fetch ended
    """A fetch ended without a response."""

    def __init__(self, failure: Failure, detail: str) -> None:
        super().__init__(detail)
        self.failure = failure
        self.detail = detail


def of_connect(error: OSError, address: str) -> Trouble:
    """What a failed connect means."""
    detail = f"{errno.errorcode.get(error.errno or 0, 'OSError')}: {error.strerror or error}"
    if error.errno in _OURS and not (error.errno == errno.EADDRNOTAVAIL and ":" in address):
        return Trouble(Failure.OURS, detail)
    if error.errno in _UNREACHABLE and no_route(address):
        return Trouble(Failure.OURS, f"{detail} (no route from here)")
    if error.errno == errno.ETIMEDOUT:
        return Trouble(Failure.CONNECT_TIMEOUT, detail)
    return Trouble(Failure.CONNECT, detail)


def of_error(response: Response, error: Exception | None) -> tuple[Failure, str]:
    """What a response that never got a head means, given why its connection was lost."""
    if is_ours(error) and response.failure is Failure.DISCONNECTED:
        return Failure.OURS, _words(error)
    return response.failure or Failure.PROTOCOL, response.detail


def broken_off(response: Response, error: Exception | None) -> str:
    """What of ours cut a body off in the middle, or "": such a part says nothing of the page."""
    body = response.body
    cut = body is not None and "disconnect" in (response.truncated, body.truncated)
    return _words(error) if cut and is_ours(error) else ""


def _words(error: BaseException | None) -> str:
    """A lack of our own machine in one line."""
    if isinstance(error, OSError):
        return f"{errno.errorcode.get(error.errno or 0, 'OSError')}: {error.strerror or error}"
    return "out of memory"


def with_route(outcome: Outcome, address: str) -> Outcome:
    """An outcome as it counts when this machine has lost its way to the server: what was missed is not the server's.

    `address` "": not asked for. A connection that stood when the network went only sees silence.
    """
    missed = outcome.failure in _MISSED or outcome.truncated in {"time", "disconnect"}
    if not (missed and address and no_route(address)):
        return outcome
    what = outcome.failure_detail or f"cut off: {outcome.truncated}"
    return msgspec.structs.replace(outcome, failure=Failure.OURS, failure_detail=f"{what} (no route from here)")


def no_route(address: str) -> bool:
    """Whether this machine itself has no way to an IPv4 address.

    Connecting a datagram socket sends nothing: it only asks the routing table, which tells a missing network here from
    an ICMP answer there. A missing IPv6 network is normal, lasts, and is told of the host: as a fault of ours it would
    pause for ever a crawl that gets on without. Networks that are gone while routes stand: `core.connectivity`.
    """
    if ":" in address:
        return False
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            probe.connect((address, 9))
    except OSError:
        return True
    return False


def same_address(one: str, other: str) -> bool:
    """Whether two texts are one IP address. An address that is none is equal to nothing."""
    if one == other:
        return bool(one)
    try:
        return ipaddress.ip_address(one.partition("%")[0]) == ipaddress.ip_address(other.partition("%")[0])
    except ValueError:
        return False
