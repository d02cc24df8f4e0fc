"""Soft 404s: when to ask a site for a page that cannot exist, and whether a page looks like what it answered."""

from __future__ import annotations

from typing import Final

from gossamer.core.context import Context
from gossamer.core.turn import Errand
from gossamer.model.page import Digest, Kind
from gossamer.model.record import HostRow, UrlRow
from gossamer.model.url import Url, parse, wire_parts
from gossamer.policy.duplicates import is_near

DUPLICATES_SUSPICIOUS: Final = 3  # copies within one host before it is asked for its not-found page
LENGTH_SLACK: Final = 0.1  # share by which the text of a not-found page may vary
TITLE_WORDS: Final = ("not found", "404", "page introuvable", "nicht gefunden", "no encontrada", "does not exist")
KNOWN, HONEST = "known", "honest"


def suspicious(host: HostRow, row: UrlRow) -> bool:
    """Whether a 200 page gives reason to learn the site's own not-found page."""
    if host.not_found_state:
        return False
    title = row.title.lower()
    return any(word in title for word in TITLE_WORDS) or (
        bool(row.duplicate_of) and host.duplicates >= DUPLICATES_SUSPICIOUS
    )


def probe(context: Context, host: str, about: str, url: str) -> Errand | None:
    """A request for a path that cannot exist beside `url`; None when there is none. Rules are asked when it is made.

    `about`: key of the page that gave the suspicion; it is judged again once the answer is known.
    """
    scheme, name, port, target = wire_parts(url)
    folder = target.partition("?")[0].rpartition("/")[0]
    made = parse(f"{scheme}://{name}:{port}{folder}/gossamer-{int(context.chance.random() * 10**15):015d}")
    if not isinstance(made, Url):
        return None
    return Errand(kind=Kind.PROBE, url=made.wire, key=made.key, for_host=host, scheme=scheme, about=about)


def learn(host: HostRow, status: int, digest: Digest) -> None:
    """Take the answer to a probe; the caller puts the ledger row."""
    if status == 200 and digest.content_hash:
        host.not_found = (digest.content_hash, digest.simhash or 0, digest.text_chars)
        host.not_found_state = KNOWN
    else:
        host.not_found_state = HONEST


def is_soft_404(host: HostRow, row: UrlRow) -> bool:
    """Whether a 200 page is the site's not-found page."""
    if host.not_found is None:
        return False
    content_hash, simhash, text_chars = host.not_found
    if row.content_hash and row.content_hash == content_hash:
        return True
    if row.simhash is None or not simhash:
        return False
    return is_near(row.simhash, simhash) and abs(row.text_chars - text_chars) <= LENGTH_SLACK * max(1, text_chars)
