"""Who may come in: bearer tokens for programs, sessions for browsers, and from where a request may come at all.

A browser sends what other sites tell it to send. So pages take no request that another site made (Fetch Metadata, and
Origin where a browser sends none of it), the cookie is SameSite=Strict, the API takes no cookie, and a name that is not
ours in `Host` is refused: it would be another site that has pointed its name at us.
"""

from __future__ import annotations

import ipaddress
import secrets
import time
from collections import OrderedDict
from collections.abc import Iterable
from typing import Final

import msgspec
from starlette.requests import Request

from gossamer.model.errors import ConfigError
from gossamer.model.url import name_of
from gossamer.serve.endpoint import Principal
from gossamer.serve.faults import ApiError
from gossamer.serve.tokens import Role, Token, TokenBook

COOKIE: Final = "gossamer_session"
SESSION_S: Final = 12 * 3600.0
SESSIONS_MAX: Final = 1_000
_CHALLENGE: Final = (("WWW-Authenticate", 'Bearer realm="gossamer"'),)
_BEARER: Final = "a token with a role that allows it: Authorization: Bearer TOKEN"


class _Session(msgspec.Struct, frozen=True):
    token: str  # name
    hash: str  # of the token: one made anew under the same name has other sessions
    ends: float


class Door:
    """Decides who somebody is."""

    def __init__(self, tokens: TokenBook, names: Iterable[str] = (), *, is_open: bool = False) -> None:
        """`names` are host names by which the server is reached; `is_open`: who has no token may look at everything."""
        self._tokens = tokens
        self._names = {name.lower() for name in names} | {"localhost"}
        self.is_open = is_open
        self._sessions: OrderedDict[str, _Session] = OrderedDict()

    def check_host(self, request: Request) -> None:
        """Refuse a request under a name that is not ours. Raises ApiError."""
        host = request.headers.get("host", "")
        name = name_of(host).lower()
        if name in self._names or _is_address(name):
            return
        allowed = "an address, localhost, or a name given by gossamer serve --name"
        raise ApiError(421, "this server has no such name", field="header.Host", value=host, allowed=allowed)

    def check_site(self, request: Request) -> None:
        """Refuse what another site made a browser send. Following a link to us is allowed. Raises ApiError."""
        site = request.headers.get("sec-fetch-site", "")
        is_look = request.method in ("GET", "HEAD")
        follows_link = is_look and (
            request.headers.get("sec-fetch-mode") == "navigate" and request.headers.get("sec-fetch-dest") == "document"
        )
        if site not in ("", "same-origin", "none") and not follows_link:
            raise ApiError(
                403, "another site sent this", field="header.Sec-Fetch-Site", value=site, allowed="same-origin"
            )
        origin = request.headers.get("origin")
        # "null" is what a browser says that tells no site where it comes from; then Fetch Metadata must vouch for it.
        is_own = origin is None or origin.partition("://")[2] == request.headers.get("host")
        if not is_own and not follows_link and not (origin == "null" and site == "same-origin"):
            raise ApiError(403, "another site sent this", field="header.Origin", value=origin or "", allowed="our own")
        if not is_look and not site and origin is None:
            raise ApiError(403, "it does not say which site sent it", field="header.Origin", allowed="our own")

    # -- programs --------------------------------------------------------------------------------------------------

    def bearer(self, request: Request) -> Principal:
        """Who a request with a token, or without one, is from. Raises ApiError."""
        address = request.client.host if request.client is not None else ""
        given = request.headers.getlist("authorization")
        if not given:
            if self.is_open:
                return Principal(name="", role=Role.READ, address=address)
            raise ApiError(401, "who asks?", field="header.Authorization", allowed=_BEARER, headers=_CHALLENGE)
        kind, _, secret = given[0].partition(" ")
        if kind.lower() != "bearer" or len(given) > 1:
            raise ApiError(
                401, "it is no bearer token", field="header.Authorization", allowed=_BEARER, headers=_CHALLENGE
            )
        token = self._find(secret.strip())
        if token is None:
            raise ApiError(
                401, "the token is not known, revoked or expired", field="header.Authorization", allowed=_BEARER,
                headers=_CHALLENGE,
            )  # fmt: skip
        return Principal(name=token.name, role=token.role, address=address)

    def _find(self, secret: str) -> Token | None:
        try:
            return self._tokens.find(secret, time.time())
        except ConfigError as error:
            raise ApiError(503, str(error)) from error

    # -- browsers --------------------------------------------------------------------------------------------------

    def log_in(self, secret: str) -> str | None:
        """A session for whoever has this token: the value of the cookie; None for a token that is none."""
        token = self._find(secret)
        if token is None:
            return None
        cookie = secrets.token_urlsafe(32)
        self._sessions[cookie] = _Session(token.name, token.hash, time.monotonic() + SESSION_S)
        while len(self._sessions) > SESSIONS_MAX:
            self._sessions.popitem(last=False)
        return cookie

    def log_out(self, request: Request) -> None:
        """End a session."""
        self._sessions.pop(request.cookies.get(COOKIE, ""), None)

    def visitor(self, request: Request) -> Principal | None:
        """Who looks at a page; None for somebody who must log in first. Raises ApiError."""
        address = request.client.host if request.client is not None else ""
        session = self._sessions.get(request.cookies.get(COOKIE, ""))
        if session is not None and session.ends > time.monotonic():
            try:
                token = self._tokens.named(session.token, time.time())
            except ConfigError as error:
                raise ApiError(503, str(error)) from error
            if token is not None and token.hash == session.hash:
                return Principal(name=token.name, role=token.role, address=address)
        return Principal(name="", role=Role.READ, address=address) if self.is_open else None


def require(principal: Principal, role: Role) -> None:
    """Raise ApiError when somebody may not do what needs `role`."""
    if principal.role.allows(role):
        return
    who = f"the token {principal.name}" if principal.name else "who asks without a token"
    raise ApiError(
        403,
        f"{who} has the role {principal.role.value}",
        field="header.Authorization",
        allowed=f"a token of role {role.value} or above (gossamer token create NAME --role {role.value})",
    )


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.strip("[]"))
    except ValueError:
        return False
    return True
