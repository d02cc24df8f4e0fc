"""Registered domains: the public suffix list with its private section, as the package `publicsuffixlist` carries it.

Only the list is used, not that package's matcher. What a site is for the crawl (`site_of`) is decided here; what a
host is, in `url`.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

import upa_url  # type: ignore[import-untyped]  # a compiled module without stubs

_LABELS_MAX: Final = 127  # a name of 253 octets cannot have more


@cache
def _suffixes() -> upa_url.PSL:
    """The compiled list, read on first use: about 6 ms."""
    psl = upa_url.PSL()
    psl.push((files("publicsuffixlist") / "public_suffix_list.dat").read_bytes())
    if not psl.finalize():
        msg = "the bundled public suffix list does not parse"
        raise RuntimeError(msg)
    return psl


def registered_domain(name: str) -> str | None:
    """The registered domain (public suffix and one label) of a host name, or None.

    Args:
        name: a host name in Unicode or ASCII form, in any case. A trailing dot is ignored.

    Returns:
        The registered domain in ASCII lower case. None for IP addresses, bare suffixes, single labels and names with
        an empty label. A label that IDNA refuses makes only its own level unusable, not the domain it hangs under.

    Source: https://github.com/publicsuffix/list/wiki/Format, sections "Formal algorithm" and "Divisions".
    """
    name = name.removesuffix(".")
    if name.endswith("."):  # the engine would take this dot for the root's
        return None
    psl = _suffixes()
    try:
        domain: str = psl.registrable_domain(name)
        if domain or ".." in name or name.startswith("."):
            return domain or None
        # A label on the left that is no valid IDNA hides the rest from the engine: judge the rest without it.
        labels = name.split(".")[-_LABELS_MAX:]
        bad = max((at for at, label in enumerate(labels) if not _is_label(label)), default=-1)
        return psl.registrable_domain(".".join(labels[bad + 1 :])) or None if bad >= 0 else None
    except TypeError:  # a lone surrogate: the engine takes valid Unicode only
        return None


def site_of(name: str) -> str:
    """The site a host name belongs to: its registered domain, or the name itself where there is none.

    Args:
        name: a host name without port; IPv6 addresses in brackets.
    """
    return registered_domain(name) or name


def _is_label(label: str) -> bool:
    return upa_url.URL.parse("http://" + label + ".example/") is not None
