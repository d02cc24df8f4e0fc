"""A second opinion on robots.txt: what the rules a host has served say of a path. Slow, plain, and shares no code with
`policy.robots`, so that a mistake there is not repeated here. Sources: RFC 9309; google/robotstxt for what it leaves
open (the first 500 KiB, `Allow: /index.html` for the directory).
"""

from __future__ import annotations

import re
import string
from typing import Final
from urllib.parse import urljoin, urlsplit

import msgspec

READ_MAX_BYTES: Final = 500 * 1024
HOPS_MAX: Final = 5
_PLAIN: Final = frozenset((string.ascii_letters + string.digits + "-._~").encode())
_KEPT: Final = frozenset(b"!#$&'()*+,/:;=?@[]%")
_AGENT: Final = re.compile(r"[A-Za-z_-]+")


class Standing(msgspec.Struct):
    """What the last answer for a robots.txt means."""

    kind: str  # "rules" | "allow" | "closed"
    at: float  # unix seconds
    rules: list[tuple[bool, str]] = []  # (allow, pattern) of the group that is ours
    crawl_delay_s: float | None = None


class RobotsOracle:
    """What each host has said of itself, by scheme, as far as the crawler has taken note of it."""

    def __init__(self, product: str, ttl_s: float, unparseable: str) -> None:
        """`product`: our token; `ttl_s`: how long an answer counts; `unparseable`: what HTML means."""
        self._product = product
        self._ttl_s = ttl_s
        self._unparseable = unparseable
        self.known: dict[tuple[str, str], Standing] = {}
        self._chains: dict[tuple[str, str], list[str]] = {}

    def asked(self, host: str, scheme: str, url: str) -> str:
        """A robots.txt is about to be fetched for a host: what is wrong with that, or ""."""
        own = f"{scheme}://{host}/robots.txt"
        chain = self._chains.get((host, scheme))
        if url != own and (chain is None or chain[-1] != url):
            return f"rules of {own} are asked for at {url}, to which nothing of them has led"
        if url == own:
            self._chains[host, scheme] = [url]
        return ""

    def answered(
        self,
        host: str,
        scheme: str,
        url: str,
        *,
        status: int,
        location: str,
        html: bool,
        body: bytes,
        truncated: str,
        now: float,
    ) -> None:
        """An answer for the rules of a host; `status` 0: none came. `body` is decoded, `truncated` as in a WARC."""
        slot = (host, scheme)
        if 300 <= status <= 399 and location:
            chain = self._chains.setdefault(slot, [url])
            target = _joined(url, location)
            if target and target not in chain and len(chain) <= HOPS_MAX:
                chain.append(target)
                return
        if 200 <= status <= 299:
            if truncated not in ("", "unspecified") and len(body) < READ_MAX_BYTES:
                self.known[slot] = Standing("closed", now)  # nobody knows what the rest forbids
            elif html and not re.search(rb"(?im)^\s*user-?agent\s*:", body):
                kind = "closed" if self._unparseable == "disallow" else "allow"
                self.known[slot] = Standing(kind, now)
            else:
                rules, delay_s = read(body, self._product)
                self.known[slot] = Standing("rules", now, rules, delay_s)
        elif status in {0, 429} or status >= 500:
            self.known[slot] = Standing("closed", now)
        else:
            self.known[slot] = Standing("allow", now)

    def judge(self, host: str, scheme: str, target: str, now: float) -> str:
        """What forbids this fetch at this moment, or ""."""
        if target == "/robots.txt":
            return ""
        standing = self.known.get((host, scheme))
        if standing is None:
            return "no robots.txt of it has been read"
        if now - standing.at > self._ttl_s:
            return f"its robots.txt is {now - standing.at:.0f} s old"
        if standing.kind == "closed":
            return "its robots.txt could not be read"
        if standing.rules and standing.kind == "rules" and not allowed(standing.rules, target):
            return "its robots.txt forbids it"
        return ""

    def crawl_delay_s(self, host: str) -> float:
        """The longest Crawl-delay of the schemes of a host, 0 when it asks for none."""
        longest_s = 0.0
        for slot in ((host, "http"), (host, "https")):
            standing = self.known.get(slot)
            if standing is not None and standing.crawl_delay_s is not None and standing.crawl_delay_s > longest_s:
                longest_s = standing.crawl_delay_s
        return longest_s


def _joined(url: str, location: str) -> str:
    """Where a redirect leads, "" when nowhere."""
    try:
        target = urljoin(url, location)
        return target if urlsplit(target).scheme in ("http", "https") else ""
    except ValueError:
        return ""


def read(body: bytes, product: str) -> tuple[list[tuple[bool, str]], float | None]:
    """The rules and the Crawl-delay of the group for a product: its own, else the one for everybody."""
    text = body[:READ_MAX_BYTES].decode("latin-1").removeprefix("ï»¿")
    groups: dict[str, tuple[list[tuple[bool, str]], list[float]]] = {}
    current: list[str] = []
    heading = False
    for line in re.split(r"\r\n|\r|\n", text):
        name, colon, value = line.split("#", 1)[0].partition(":")
        name, value = name.strip().lower(), value.strip()
        if not colon:
            continue
        if name in ("user-agent", "useragent"):
            if not heading:
                current = []
            heading = True
            found = _AGENT.match(value)
            current.append("*" if value.startswith("*") else found[0].lower() if found else "?")
            continue
        if name in ("allow", "disallow", "crawl-delay"):
            heading = False
        for agent in current:
            rules, delays = groups.setdefault(agent, ([], []))
            if name in ("allow", "disallow") and value:
                rules.append((name == "allow", value))
            elif name == "crawl-delay" and re.fullmatch(r"\d+\.?\d*|\.\d+", value):
                delays.append(float(value))
        for agent in current:
            groups.setdefault(agent, ([], []))
    rules, delays = groups.get(product.lower()) or groups.get("*") or ([], [])
    return rules, delays[-1] if delays else None


def allowed(rules: list[tuple[bool, str]], target: str) -> bool:
    """RFC 9309 section 2.2.2: the longest pattern that matches decides, Allow wins a tie, no match allows."""
    best = (-1, True)
    path = _spelled(target)
    for allow, pattern in rules:
        spellings = [pattern]
        if allow and pattern.endswith(("/index.html", "/index.htm")):
            spellings.append(pattern[: pattern.rindex("/") + 1] + "$")
        for spelling in spellings:
            if _matches(spelling, path):
                best = max(best, (len(_spelled(spelling)), allow))
    return best[1]


def _matches(pattern: str, path: str) -> bool:
    anchored = pattern.endswith("$")
    parts = [_spelled(part) for part in pattern.removesuffix("$").split("*")]
    reach = {0}  # where the parts so far may end; from the second on, anywhere later
    for number, part in enumerate(parts):
        starts = reach if number == 0 else set(range(min(reach), len(path) + 1))
        reach = {at + len(part) for at in starts if path.startswith(part, at)}
        if not reach:
            return False
    return not anchored or len(path) in reach or parts[-1] == ""


def _spelled(text: str) -> str:
    """One spelling of a path: escapes of unreserved characters decoded, everything a URI may not hold escaped."""
    data = text.encode("latin-1") if text.isascii() or max(text) <= "\xff" else text.encode()
    out, at = [], 0
    while at < len(data):
        byte = data[at]
        hexes = data[at + 1 : at + 3]
        if byte == 0x25 and len(hexes) == 2 and all(chr(h) in string.hexdigits for h in hexes):
            byte = int(hexes, 16)
            out.append(chr(byte) if byte in _PLAIN else f"%{byte:02X}")
            at += 3
            continue
        out.append(chr(byte) if byte in _PLAIN or byte in _KEPT else f"%{byte:02X}")
        at += 1
    return "".join(out)
