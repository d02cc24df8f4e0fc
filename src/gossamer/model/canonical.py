"""The canonical form of a path and a query: what is the same page although it is spelt differently.

Works on what a WHATWG parser has serialised and keeps it serialised: reading the result again changes nothing. Hosts,
ports and schemes are `url`'s; that http and https or www and the bare name are one is decided by evidence, elsewhere.
"""

from __future__ import annotations

from typing import Final

_HEX: Final = frozenset("0123456789ABCDEFabcdef")
_UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")

# Two hex digits -> what an escape of them is written as: the character where RFC 3986 section 2.3 calls it unreserved
# (the two spellings mean the same), else the escape in upper case.
_ESCAPES: Final[dict[str, str]] = {
    high + low: chr(int(high + low, 16)) if chr(int(high + low, 16)) in _UNRESERVED else f"%{high}{low}".upper()
    for high in _HEX
    for low in _HEX
}

# Parameters that name a session: stripped from the query and, as `;name=value`, from the path.
SESSION_PARAMETERS: Final = frozenset({
    "asp.net_sessionid", "cfid", "cftoken", "jsessionid", "oscadminid", "oscsid", "phpsessid", "phpsessionid",
    "sessid", "session_id", "sessionid", "sid", "xtcsid", "zenid",
})  # fmt: skip
# A conference calls its talks sessions too: a plain number under these names in a query is content.
_AMBIGUOUS: Final = frozenset({"sessid", "session_id", "sessionid"})
_PLAIN_NUMBER_MAX_CHARS: Final = 9
_SESSION_PREFIX: Final = "aspsessionid"  # ASPSESSIONIDQABCDEFG: the server appends eight letters

# Parameters that say where a visitor came from, and change nothing on the page.
TRACKING_PARAMETERS: Final = frozenset({
    "__hsfp", "__hssc", "__hstc", "_bta_c", "_bta_tid", "_ga", "_gl", "_hsenc", "_hsmi", "_ke", "_openstat", "dclid",
    "dm_i", "ef_id", "epik", "fb_action_ids", "fb_action_types", "fb_ref", "fb_source", "fbclid", "gbraid", "gclid",
    "gclsrc", "hsctatracking", "igsh", "igshid", "li_fat_id", "mc_cid", "mc_eid", "mkt_tok", "ml_subscriber",
    "ml_subscriber_hash", "msclkid", "oly_anon_id", "oly_enc_id", "rb_clickid", "s_kwcid", "srsltid", "trk_contact",
    "trk_msg", "trk_sid", "ttclid", "twclid", "vero_conv", "vero_id", "wbraid", "wickedid", "yclid", "ysclid",
})  # fmt: skip
_TRACKING_PREFIXES: Final = ("utm_", "mtm_", "pk_")  # Urchin/Google Analytics, Matomo, Piwik

_DROPPED: Final = SESSION_PARAMETERS | TRACKING_PARAMETERS
_DROPPED_PREFIXES: Final = (*_TRACKING_PREFIXES, _SESSION_PREFIX)


def is_dropped(pair: str) -> bool:
    """Whether a query parameter, with or without a value, escapes normalised, is left out of the canonical form."""
    name, _, value = pair.partition("=")
    name = name.lower()
    if name in _AMBIGUOUS:
        return not (value.isdigit() and len(value) <= _PLAIN_NUMBER_MAX_CHARS)
    return name in _DROPPED or name.startswith(_DROPPED_PREFIXES)


def normalize_escapes(text: str) -> str:
    """Percent-encoding in one spelling: unreserved characters decoded, hex digits in upper case (RFC 3986, 6.2.2).

    A `%` that starts no escape stays as it is, and a decoded character never completes one: `%%341` keeps its `%34`,
    because `%41` would mean something else.
    """
    head, *rest = text.split("%")
    out = [head]
    unfinished = False  # the output ends with a lone "%", or one and a hex digit
    for part in rest:
        escape = _ESCAPES.get(part[:2])
        if escape is None:
            out.append("%" + part)
            unfinished = part == "" or (len(part) == 1 and part in _HEX)
            continue
        if unfinished and escape in _HEX:
            escape = "%" + part[:2].upper()
        out.append(escape + part[2:])
        unfinished = False
    return "".join(out)


def canonical_query(query: str) -> str:
    """A query (without its `?`) in canonical form.

    Escapes normalised, session and tracking parameters and empty pairs dropped, pairs sorted by their text. Equal
    pairs stay, each of them.
    """
    pairs = (normalize_escapes(query) if "%" in query else query).split("&")
    if len(pairs) == 1:
        return "" if is_dropped(pairs[0]) else pairs[0]
    kept = [pair for pair in pairs if pair and not is_dropped(pair)]
    kept.sort()
    return "&".join(kept)


def canonical_path(path: str) -> str:
    """A path (with its leading `/`) in canonical form: escapes normalised, session ids in it dropped.

    Session ids are path parameters (`/a;jsessionid=1F`) and the segment of ASP.NET's cookieless sessions
    (`/(S(24 characters))/`). Runs of `/` stay: a server may tell them apart.
    """
    if "%" in path:
        path = normalize_escapes(path)
    if ";" in path:
        path = "/".join([_without_sessions(segment) if ";" in segment else segment for segment in path.split("/")])
    if "/(" in path and "))/" in path:
        path = "/".join([segment for segment in path.split("/") if not is_cookieless_session(segment)])
    return path


def _without_sessions(segment: str) -> str:
    """A path segment without its session parameters. One that would become a dot segment stays as it is."""
    name, *parameters = segment.split(";")
    kept = [text for text in parameters if not _is_session_parameter(text)]
    stripped = ";".join([name, *kept])
    return segment if stripped in {".", ".."} else stripped


def _is_session_parameter(text: str) -> bool:
    name, equals, _ = text.partition("=")
    name = name.lower()
    return equals == "=" and (name in SESSION_PARAMETERS or name.startswith(_SESSION_PREFIX))


def is_cookieless_session(segment: str) -> bool:
    """Whether a path segment is an ASP.NET session: `(S(24 letters or digits))`, or several letters' in one pair."""
    if not (segment.startswith("(") and segment.endswith("))")):
        return False
    tickets = [piece.partition("(") for piece in segment[1:-2].split(")")]
    return all(kind.isalpha() and len(kind) == 1 and value.isalnum() for kind, _, value in tickets) and any(
        len(value) == _COOKIELESS_LENGTH for _, _, value in tickets
    )


_COOKIELESS_LENGTH: Final = 24
