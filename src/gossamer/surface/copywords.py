"""What a host's pages are beside those of others, in words."""

from __future__ import annotations

from gossamer.model.record import HostRow
from gossamer.policy.canonicals import Said, is_distrusted
from gossamer.surface.units import plural


def host_words(host: HostRow) -> str:
    """What is wrong with a host's pages beside those of others; "" when nothing is."""
    words = []
    if host.mirror_of:
        words.append(f"it shows the pages of {host.mirror_of}")
    if is_distrusted(host.canonicals):
        false = host.canonicals.get(Said.DIFFERS, 0) + host.canonicals.get(Said.CHAIN, 0)
        words.append(f"its rel=canonical is not believed: on {plural(false, 'page')} it is false")
    return "; ".join(words)
