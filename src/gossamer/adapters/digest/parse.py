"""A response in, a digest out: the one function that a worker runs for each page. No I/O, no state but the hooks'.

Order matters in one place: text extraction takes boilerplate out of the tree, so links are read before it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.adapters.decode import Decoded, decode_body
from gossamer.adapters.digest import charset, media
from gossamer.adapters.digest.fingerprint import fingerprint
from gossamer.adapters.digest.hooks import Hooks, Page
from gossamer.adapters.digest.html import parse_html, scan, stray_frames
from gossamer.adapters.digest.linkreader import LinkReader
from gossamer.adapters.digest.links import Judged, LinkRules, resolve_base, trim
from gossamer.adapters.digest.nesting import bounded
from gossamer.adapters.digest.sitemap import types_of_sitemap
from gossamer.adapters.digest.sitemaps import read_sitemap
from gossamer.adapters.digest.text import language_of, main_text, title_of
from gossamer.model.limits import NESTING_MAX
from gossamer.model.page import Digest, Job, Kind
from gossamer.model.reason import Reason
from gossamer.model.url import Base, Url
from gossamer.policy.bodies import body_max_bytes
from gossamer.policy.directives import Directives, from_headers, from_meta
from gossamer.policy.scope import judge

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

ERROR_MAX_CHARS: Final = 300
SITEMAP_SNIFF_BYTES: Final = 1_024
SITEMAP_KINDS: Final = frozenset(("urlset", "index", "text"))  # a feed is a page like any other
PAGE_STATUSES: Final = frozenset((200, 203))  # others bear no content of their own: no links, no fingerprint


def parse(job: Job, rules: LinkRules, hooks: Hooks, reader: LinkReader | None = None) -> Digest:
    """What a response says, without a pointer to its record, which the caller writes.

    Args: the response; the rules for its links; the hooks to run on it; a reader that remembers the links of other
    pages. Hooks' errors go into `hook_errors`, a body that does not decode or grows too large into `error`: neither
    stops the rest.
    """
    content_type = _header(job, "content-type")
    kind = media.media_type(content_type)
    said = from_headers(_headers(job, "x-robots-tag"), rules.product)
    if not job.parse or not job.payload or job.status not in PAGE_STATUSES:
        return _digest(job, kind, said, {})
    decoded = decode_body(job.payload, job.content_encoding, body_max_bytes(job.kind, rules.body_max_bytes))
    error = decoded.error or (f"decoded: cut at {len(decoded.body)} bytes" if decoded.truncated else "")
    fields: dict[str, object] = {"error": error[:ERROR_MAX_CHARS]} if error else {}
    if job.kind is Kind.SITEMAP or _is_sitemap(job, kind, content_type, decoded.body):
        # What is wrong with its coding explains what is wrong with it.
        fields = read_sitemap(job, decoded, content_type, rules, hooks) | fields
        if job.kind is Kind.PAGE:
            _run_digest_hooks(job, kind, decoded.body, hooks, fields)
        return _digest(job, kind, said, fields, hooks)
    if media.is_html(kind, decoded.body):
        return _html(job, kind, content_type, decoded, rules, hooks, fields, reader)
    _run_digest_hooks(job, kind, decoded.body, hooks, fields)
    return _digest(job, kind, said, fields, hooks)


def _is_sitemap(job: Job, kind: str, content_type: str, body: bytes) -> bool:
    """Whether a page is a sitemap, which robots.txt or an index may name only later; or a feed that a person named.

    Feeds that pages link to are read where one names them as its own (`Digest.feeds`). Seeds and what they redirect to
    have depth 0.
    """
    start = body[:SITEMAP_SNIFF_BYTES]
    if kind in media.HTML and not start.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"<?xml"):
        return False
    found = types_of_sitemap(job.url, content_type, start)
    return found in SITEMAP_KINDS or (found == "feed" and job.kind is Kind.PAGE and job.depth == 0)


def _html(
    job: Job,
    kind: str,
    content_type: str,
    decoded: Decoded,
    rules: LinkRules,
    hooks: Hooks,
    fields: dict[str, object],
    reader: LinkReader | None,
) -> Digest:
    """Links, directives, title, language, text and fingerprint of an HTML page."""
    encoding = charset.sniff(decoded.body, content_type)
    tree, markup = document(decoded.body, encoding, fields)
    found = scan(tree, markup)
    if not found.links:
        found.links += stray_frames(markup)
    said = from_headers(_headers(job, "x-robots-tag"), rules.product)
    for name, content in found.metas:
        said |= from_meta(name, content, rules.product)
    base = resolve_base(found.base, job.url, encoding.name)
    judged = Judged()
    if job.kind is Kind.PAGE:
        judged = (reader or LinkReader(rules, hooks)).read(
            found.links,
            base,
            job=job.id,
            own_key=job.key,
            depth=job.depth,
            via=job.url,
            now=job.date,
            nofollow=said.nofollow,
            tell_all=job.tell_all,
        )
    canonical = base.parse(trim(found.canonical)) if found.canonical else None
    title = title_of(found)
    declared = found.language
    text = main_text(tree, found)
    language = language_of(declared, text)
    print_ = fingerprint(text)
    if hooks.wants_page():
        page = Page(
            job.url, job.depth, job.status, job.headers, kind, encoding.name, decoded.body, title, language, text
        )
        _run_page_hooks(page, judged, hooks, fields)
    fields |= {
        "charset": encoding.name,
        "language": language,
        "title": title,
        "text_chars": print_.text_chars,
        "content_hash": print_.content_hash,
        "simhash": print_.simhash,
        "sketch": print_.sketch,
        "canonical": (canonical.wire, canonical.key) if isinstance(canonical, Url) else None,
        "links": judged.groups(),
        "refused": judged.refused,
        "links_found": judged.found,
        "feeds": () if said.nofollow else _feeds(found.feeds, base, rules),
    }
    return _digest(job, kind or "text/html", said, fields, hooks)


def _feeds(hrefs: list[str], base: Base, rules: LinkRules) -> tuple[tuple[str, str], ...]:
    """Feeds in scope, without repeats."""
    urls = (base.parse(trim(href)) for href in hrefs)
    kept = {url.key: url.wire for url in urls if isinstance(url, Url) and judge(rules.scope, url) is None}
    return tuple((wire, key) for key, wire in kept.items())


def document(body: bytes, encoding: charset.Charset, fields: dict[str, object]) -> tuple[LexborHTMLParser, str]:
    """The document that a body is, and the text it was parsed from."""
    markup, was_cut = bounded(charset.decode(body, encoding.name), body)
    if was_cut:
        fields.setdefault("error", f"markup: cut where it nests deeper than {NESTING_MAX} elements")
    # Nothing was left out or replaced: the body is what encoding its text again would give.
    as_sent = encoding.name == "utf-8" and encoding.source != "bom" and not was_cut and "\ufffd" not in markup
    return parse_html(markup, body if as_sent else None), markup


def _run_page_hooks(page: Page, judged: Judged, hooks: Hooks, fields: dict[str, object]) -> None:
    if hooks.links and judged.kept:
        passed = set(hooks.filter_links(page, [url.wire for url in judged.kept]))
        before = len(judged.kept)
        judged.kept = [url for url in judged.kept if url.wire in passed]
        judged.refuse(Reason.SCOPE_HOOK, before - len(judged.kept))
    if hooks.digest:
        fields["extra"] = hooks.extra(page)


def _run_digest_hooks(job: Job, kind: str, body: bytes, hooks: Hooks, fields: dict[str, object]) -> None:
    if hooks.digest:
        page = Page(job.url, job.depth, job.status, job.headers, kind, "", body, "", "", "")
        fields["extra"] = hooks.extra(page)


def _digest(job: Job, kind: str, said: Directives, fields: dict[str, object], hooks: Hooks | None = None) -> Digest:
    errors = hooks.take_errors() if hooks is not None else ()
    return Digest(
        id=job.id,
        pointer=None,
        media_type=kind,
        noindex=said.noindex,
        nofollow=said.nofollow,
        noarchive=said.noarchive,
        hook_errors=errors,
        **fields,  # type: ignore[arg-type]  # named above, each with its field's type
    )


def _header(job: Job, name: str) -> str:
    for key, value in job.headers:
        if key == name:
            return value
    return ""


def _headers(job: Job, name: str) -> tuple[str, ...]:
    return tuple(value for key, value in job.headers if key == name)
