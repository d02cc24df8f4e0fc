"""robots.txt: reading the file (RFC 9309, with what Google's parser tolerates) and judging how it was served.

Here: lines, groups, Crawl-delay, Sitemap, whether a file is all there, and what each HTTP outcome means. Not here:
matching patterns (`robots_match`), fetching, caching, and page directives (`directives`).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, Literal

from gossamer.model.limits import (
    CRAWL_DELAY_READ_MAX_S,
    ROBOTS_LINE_MAX_BYTES,
    ROBOTS_MAX_BYTES,
    SITEMAPS_PER_HOST_MAX,
)
from gossamer.model.page import Outcome
from gossamer.policy.robots_match import Matcher, RobotsVerdict, Rule, normal_pattern, normal_target

__all__ = ["RobotsVerdict", "Rules", "incomplete", "judge_response", "parse"]

_ROBOTS_TARGET: Final = "/robots.txt"
_TOKEN: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_")
_DIGITS: Final = frozenset(b"0123456789")
# Google's parser takes a key by how it begins, and these misspellings with it.
_AGENT_KEYS: Final = (b"user-agent", b"useragent", b"user agent")
_ALLOW_KEYS: Final = (b"allow",)
_DISALLOW_KEYS: Final = (b"disallow", b"dissallow", b"dissalow", b"disalow", b"diasllow", b"disallaw")
_DELAY_KEYS: Final = (b"crawl-delay", b"crawldelay", b"crawl delay")
_SITEMAP_KEYS: Final = (b"sitemap", b"site-map")
_KEYS: Final = (*_AGENT_KEYS, *_ALLOW_KEYS, *_DISALLOW_KEYS, *_DELAY_KEYS, *_SITEMAP_KEYS)
_CUTS: Final = {
    "disconnect": "cut off by its server",
    "time": "not all there within the time for it",
    "length": "too long, and too little of it can be read",
}
_OTHERS, _OURS = "*", "ours"
_Group = Literal["*", "ours", ""]


class Rules:
    """A parsed robots.txt as it concerns one product token."""

    __slots__ = ("_agent", "_matcher", "_none", "crawl_delay_s", "sitemaps", "sitemaps_beyond")

    def __init__(
        self,
        agent: str,
        rules: list[Rule],
        crawl_delay_s: float | None = None,
        sitemaps: tuple[str, ...] = (),
        sitemaps_beyond: int = 0,
    ) -> None:
        """Rules of the group `agent` ("" when no group applies)."""
        self._matcher = Matcher(rules)
        self._none = RobotsVerdict(allowed=True, agent=agent)
        self.crawl_delay_s = crawl_delay_s  # seconds; None when the group has none
        self.sitemaps = sitemaps  # as written: may be relative, may name another host
        self.sitemaps_beyond = sitemaps_beyond  # how many more it names than are read

    def decide(self, target: str) -> RobotsVerdict:
        """Whether `target` (path and query as sent on the wire) may be fetched. Linear in its length."""
        if target == _ROBOTS_TARGET:  # RFC 9309 section 2.2.2
            return self._none
        return self._matcher.find(normal_target(target)) or self._none


class _Reader:
    """State while reading lines: which groups the current lines belong to, and what was collected.

    Only Allow and Disallow close a list of User-agent lines (RFC 9309 section 2.2.4). For Crawl-delay a second list
    is kept which Crawl-delay closes as well, so that each agent keeps its own delay.
    """

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.product = _product(agent)
        self.rules: dict[str, list[Rule]] = {_OTHERS: [], _OURS: []}
        self.delays: dict[str, float] = {}
        self.named = False
        self.others = False
        self.sitemaps: dict[str, None] = {}
        self.sitemaps_beyond = 0
        self._members: set[str] = set()
        self._delay_members: set[str] = set()
        self._closed = False
        self._delay_closed = False

    def line(self, number: int, line: bytes) -> None:
        """Take one line, without its end."""
        field = _field(line)
        if field is None:
            return
        key, value = field
        if key.startswith(_DISALLOW_KEYS):
            self._rule(number, value, allowed=False)
        elif key.startswith(_ALLOW_KEYS):
            self._rule(number, value, allowed=True)
        elif key.startswith(_AGENT_KEYS):
            self._user_agent(value)
        elif key.startswith(_SITEMAP_KEYS):
            self._sitemap(value)
        elif key.startswith(_DELAY_KEYS):
            self._crawl_delay(value)
        elif key in {b"http", b"https"} and value.startswith(b"//") and b"sitemap" in value.lower():
            self._sitemap(key + b":" + value)  # a Sitemap line that lost its key

    def _user_agent(self, value: bytes) -> None:
        if self._closed:
            self._members.clear()
            self._closed = False
        if self._delay_closed:
            self._delay_members.clear()
            self._delay_closed = False
        group = _group(value, self.product)
        if group:
            self._members.add(group)
            self._delay_members.add(group)
            self.named = self.named or group == _OURS
            self.others = self.others or group == _OTHERS

    def _rule(self, number: int, value: bytes, *, allowed: bool) -> None:
        self._closed = self._delay_closed = True
        if not self._members or not value:  # an empty pattern matches nothing and changes nothing
            return
        written = f"{'Allow' if allowed else 'Disallow'}: {value.decode('utf-8', 'replace')}"
        pattern, anchored = normal_pattern(_text(value))
        directory = _index_directory(pattern) if allowed else None
        for group in self._members:
            agent = _OTHERS if group == _OTHERS else self.agent
            verdict = RobotsVerdict(allowed=allowed, line=number, rule=written, agent=agent)
            self.rules[group].append(Rule(pattern, anchored, verdict))
            if directory is not None:
                self.rules[group].append(Rule(directory, True, verdict))

    def _crawl_delay(self, value: bytes) -> None:
        self._delay_closed = True
        delay_s = _seconds(value)
        if delay_s is not None:
            for group in self._delay_members:
                self.delays[group] = max(delay_s, self.delays.get(group, 0.0))

    def _sitemap(self, value: bytes) -> None:
        location = value.decode("utf-8", "replace")
        if not location or location in self.sitemaps:
            return
        if len(self.sitemaps) < SITEMAPS_PER_HOST_MAX:
            self.sitemaps[location] = None
        else:
            self.sitemaps_beyond += 1


def parse(body: bytes, product: str) -> Rules:
    """Read a robots.txt (decoded from its content-encoding) for a product token.

    Takes the first 500 KiB; a line broken by that limit is ignored. Never raises. `product` may carry a version
    ("Gossamer/1.0"), which does not count. Sources: RFC 9309; google/robotstxt for what it leaves open.
    """
    reader = _Reader(product)
    for number, line in enumerate(_lines(body), 1):
        reader.line(number, line)
    group, agent = (_OURS, product) if reader.named else (_OTHERS, _OTHERS if reader.others else "")
    return Rules(agent, reader.rules[group], reader.delays.get(group), tuple(reader.sitemaps), reader.sitemaps_beyond)


def incomplete(outcome: Outcome, body: bytes, error: str) -> str:
    """Why a robots.txt that was served is not all there, in a few words; "" when it is, or its first 500 KiB are.

    Args: `outcome` the exchange; `body` its payload, decoded as far as that goes; `error` why decoding ended early.

    A body has come to its end when its framing says so: by its declared length, by its last chunk or, with neither, by
    the end of the connection (RFC 9112 section 8). Of one that has not, any rule may be missing: it is a file that
    could not be had for a server's or a network's error, and then nothing may be fetched (RFC 9309 section 2.3.1.4).
    """
    if not 200 <= outcome.status <= 299 or len(body) >= ROBOTS_MAX_BYTES:
        return ""
    if outcome.truncated in _CUTS:
        return _CUTS[outcome.truncated]
    if outcome.damaged:
        return "its chunks are damaged"
    if error:
        return f"its coding is damaged ({error})"
    if outcome.payload and _is_misnamed(outcome) and not any(key.startswith(_KEYS) for key in _keys(body)):
        return "it is not in the coding that it names"
    return ""


def _is_misnamed(outcome: Outcome) -> bool:
    """Whether codings are named that the body does not have: one cut in its first bytes does not show its own."""
    values = [value for name, value in outcome.headers if name == "content-encoding"]
    named = [token for value in values for part in value.split(",") if (token := part.strip().lower())]
    return sum(name not in ("identity", "none") for name in named) > len(outcome.content_encoding)


def judge_response(
    status: int, content_type: str, body: bytes, unparseable: Literal["disallow", "allow"], missing: str = ""
) -> tuple[Literal["rules", "allow", "disallow"], str]:
    """What an answer for /robots.txt means, and why in a few words. `missing`: why it is `incomplete`.

    A reason that begins with "unreachable" is one to try again in minutes.

    `status` 0 stands for no answer (timeout, refused, DNS). A 3xx is one that could not be followed: a loop or more
    than five hops, which RFC 9309 section 2.3.1.2 lets us take as unavailable. `unparseable` decides for a 2xx body
    that is no robots file at all. Source: RFC 9309 section 2.3.1.
    """
    if 200 <= status <= 299:
        if missing:
            return "disallow", f"unreachable: {missing}"
        what = _not_robots(content_type, body)
        return (unparseable, what) if what else ("rules", str(status))
    if 300 <= status <= 399:
        return "allow", "redirects"
    if 400 <= status <= 499 and status != 429:
        return "allow", str(status)
    return "disallow", f"unreachable: {status}" if status else "unreachable"


def _lines(body: bytes) -> list[bytes]:
    """Lines of the first 500 KiB, split at CR, LF and CRLF, each cut at the line limit.

    NULs are dropped: they pad lines, and stand beside each letter of a UTF-16 file that lost its mark.
    """
    if body[:2] in {b"\xff\xfe", b"\xfe\xff"}:
        body = body[:ROBOTS_MAX_BYTES].decode("utf-16", "replace").encode("utf-8", "replace")
    elif body[:3] == b"\xef\xbb\xbf":
        body = body[3:]
    if len(body) >= ROBOTS_MAX_BYTES - 3:  # the caller may have cut it already
        body = body[:ROBOTS_MAX_BYTES]
        body = body[: max(body.rfind(b"\n"), body.rfind(b"\r")) + 1]
    return [line[:ROBOTS_LINE_MAX_BYTES] for line in body.replace(b"\0", b"").splitlines()]


def _field(line: bytes) -> tuple[bytes, bytes] | None:
    """Key in lower case and value of a line; None when it has no field. A blank may stand for the colon."""
    line = line.partition(b"#")[0].strip()
    if not line:
        return None
    key, colon, value = line.partition(b":")
    if not colon:
        words = line.split(None, 2)
        if len(words) != 2:
            return None
        key, value = words
    value = value.strip()
    if value.endswith(b">"):  # "Disallow: /<BR>": a robots file saved as a web page
        value = value[: value.rfind(b"<")].strip() if b"<" in value else value
    return key.strip().lower(), value


def _keys(body: bytes) -> Iterator[bytes]:
    """Keys of the lines that have one, in lower case."""
    for line in _lines(body):
        field = _field(line)
        if field is not None:
            yield field[0]


def _product(text: str) -> bytes:
    """A product token without its version, in lower case."""
    return text.partition("/")[0].strip().lower().encode("utf-8", "replace")


def _group(value: bytes, product: bytes) -> _Group:
    """Which group a User-agent value opens: the others', ours, or one that does not concern us."""
    if value[:1] == b"*" and (len(value) == 1 or value[1:2].isspace()):
        return "*"
    if not product or value[: len(product)].lower() != product:
        return ""
    after = value[len(product) : len(product) + 1]
    if after and (after[0] in _TOKEN or (after[0] in _DIGITS and product[-1] in _DIGITS)):
        return ""
    return "ours"


def _text(value: bytes) -> str:
    """A pattern as text. Bytes above 127 become percent-escapes one by one, whether or not they are UTF-8."""
    if value.isascii():
        return value.decode("ascii")
    return "".join(chr(byte) if byte < 128 else f"%{byte:02X}" for byte in value)


def _index_directory(pattern: str) -> str | None:
    """`Allow: /a/index.html` also allows `/a/` itself (google/robotstxt)."""
    slash = pattern.rfind("/")
    return pattern[: slash + 1] if slash >= 0 and pattern.startswith("/index.htm", slash) else None


def _seconds(value: bytes) -> float | None:
    """A Crawl-delay: plain decimal digits with at most one point. None: not a number."""
    whole, _, fraction = value.partition(b".")
    if not (whole + fraction).isdigit():
        return None
    return min(float(value[:32]), CRAWL_DELAY_READ_MAX_S)


def _not_robots(content_type: str, body: bytes) -> str:
    """Name what a body is that is no robots file at all ("html", "binary"); "" when it is one.

    A body with a User-agent line always is one, whatever surrounds it.
    """
    head = body[:1024].lstrip(b"\xef\xbb\xbf \t\r\n")
    utf16 = body[:2] in {b"\xff\xfe", b"\xfe\xff"}
    html = head.startswith(b"<") or content_type.partition(";")[0].strip().lower() in {
        "text/html",
        "application/xhtml+xml",
    }
    binary = b"\0" in head and not utf16
    if not head or not (html or binary):
        return ""
    if any(key.startswith(_AGENT_KEYS) for key in _keys(body)):
        return ""
    return "html" if html else "binary"
