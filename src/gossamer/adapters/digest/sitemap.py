"""Sitemaps and feeds: from a decoded body to raw entries, whatever the form (XML, plain text, gzip inside).

Here: telling the forms apart, opening a .gz, plain text, and joining locations to the sitemap's URL. XML is
`sitemap_xml`; canonical form, scope and what becomes of the entries are the caller's: a sitemap may list any host, and
each entry is judged like a link. Source: sitemaps.org protocol 0.9.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from gossamer.adapters.decode import decode_body
from gossamer.adapters.digest.sitemap_xml import read_xml, root_of
from gossamer.model.limits import SITEMAP_MAX_BYTES, SITEMAP_URLS_MAX, URL_INPUT_MAX_CHARS
from gossamer.model.url import serialize

Kind = Literal["urlset", "index", "feed", "text", "none"]

_GZIP_MAGIC: Final = b"\x1f\x8b"
_UTF16_MARKS: Final = (b"\xff\xfe", b"\xfe\xff")
_UTF8_MARK: Final = b"\xef\xbb\xbf"
_BLANK: Final = b" \t\r\n"
_SNIFF_BYTES: Final = 4096


class SitemapResult(NamedTuple):
    """What a sitemap or feed lists."""

    kind: Kind
    entries: list[tuple[str, float | None, str, float | None]]  # URL, lastmod (unix seconds), changefreq, priority
    children: list[str]  # URLs of the sitemaps of an index
    error: str  # what is wrong with it; what precedes a fault is kept all the same
    truncated: bool  # it lists more, or is longer, than we take


def parse_sitemap(body: bytes, base_url: str, content_type: str, *, whole: bool = True) -> SitemapResult:
    """Read a sitemap, sitemap index, text sitemap or feed.

    Args: the body after its content-encoding; the URL it came from, to which relative locations are joined; its
    Content-Type, which counts only for text that is no XML (servers name the types of sitemaps as they please).
    `whole`: it ends where the server says it does; else its last line may be half a URL.
    At most SITEMAP_URLS_MAX entries and SITEMAP_MAX_BYTES after unpacking are read. Never raises for content.
    """
    body, error, cut = _open(body)
    text = _trimmed(body)
    if text.startswith(b"<") or text[:2] in _UTF16_MARKS:
        found = read_xml(text)
        kept: list[tuple[str, float | None, str, float | None]] = []
        for location, lastmod, changefreq, priority in found.entries:
            url = _join(location, base_url)
            if url:
                kept.append((url, lastmod, changefreq, priority))
        result = SitemapResult(found.kind, kept, [], error or found.error, cut or found.truncated)
        if found.kind == "index":
            return result._replace(entries=[], children=[entry[0] for entry in kept])
        return result
    return _read_text(text, base_url, content_type, error, cut=cut, whole=whole and not cut and not error)


def types_of_sitemap(url: str, content_type: str, prefix: bytes) -> Kind:
    """What kind of sitemap or feed a response is, by its first bytes (decoded; a few KiB are enough); "none": neither.

    Plain text counts only under a name that says "sitemap". Never raises.
    """
    head = prefix[:_SNIFF_BYTES]
    if head[:2] == _GZIP_MAGIC:
        head = decode_body(head, ("gzip",), _SNIFF_BYTES).body
    head = _trimmed(head)
    if head.startswith(b"<") or head[:2] in _UTF16_MARKS:
        return root_of(head)[0]
    if "sitemap" not in url.lower() or "html" in content_type.lower():
        return "none"
    return _read_text(head, url, content_type, "", cut=False).kind


def _open(body: bytes) -> tuple[bytes, str, bool]:
    """Unpack a .gz once. Returns (bytes, what is wrong, whether the cap cut it)."""
    error, cut = "", len(body) > SITEMAP_MAX_BYTES
    if body[:2] == _GZIP_MAGIC:
        unpacked = decode_body(body[:SITEMAP_MAX_BYTES], ("gzip",), SITEMAP_MAX_BYTES)
        body, error, cut = unpacked.body, unpacked.error, unpacked.truncated
        if body[:2] == _GZIP_MAGIC:
            return b"", "gzip inside gzip", cut
    return body[:SITEMAP_MAX_BYTES], error, cut


def _trimmed(body: bytes) -> bytes:
    """Without what some servers send before the document: a byte order mark and blank lines."""
    return body.removeprefix(_UTF8_MARK).lstrip(_BLANK)


def _read_text(
    text: bytes, base_url: str, content_type: str, error: str, *, cut: bool, whole: bool = True
) -> SitemapResult:
    """One URL a line; lines that are none are skipped, and a file without any is no sitemap."""
    host = base_url.partition("://")[2].partition("/")[0].lower()
    entries: list[tuple[str, float | None, str, float | None]] = []
    at = 0
    while at < len(text):
        end = text.find(b"\n", at)
        if end < 0:
            if not whole:
                break
            end = len(text)
        line = text[at : min(end, at + URL_INPUT_MAX_CHARS + 1)].decode("utf-8", "replace").strip()
        at = end + 1
        if len(line) > URL_INPUT_MAX_CHARS or not _like_url(line, host):
            continue
        if len(entries) >= SITEMAP_URLS_MAX:
            cut = True
            break
        location = _join(line, base_url)
        if location:
            entries.append((location, None, "", None))
    if not entries:
        what = content_type.partition(";")[0].strip()[:60] or "no type"
        return SitemapResult(
            "none", [], [], error or f"no sitemap or feed: neither XML nor a list of URLs ({what})", cut
        )
    return SitemapResult("text", entries, [], error, cut)


def _like_url(line: str, host: str) -> bool:
    """Whether a line is an absolute URL, or one that only lacks its scheme."""
    lower = line[: len(host) + 8].lower()
    return lower.startswith(("http://", "https://")) or _lacks_scheme(lower, host)


def _lacks_scheme(lower: str, host: str) -> bool:
    """Whether a location begins with a host name instead of a scheme: ours, or one that begins with "www."."""
    return lower.startswith("www.") or bool(
        host and lower.startswith(host) and lower[len(host) :][:1] in {"", "/", "?"}
    )


def _join(location: str, base_url: str) -> str:
    """An absolute URL: as written when it is one, else resolved. "" when that fails."""
    lower = location[:300].lower()
    if lower.startswith(("http://", "https://")):
        return location
    scheme, separator, rest = base_url.partition("://")
    if separator and _lacks_scheme(lower, rest.partition("/")[0].lower()):
        return f"{scheme}://{location}"
    return serialize(location, base_url) or ""
