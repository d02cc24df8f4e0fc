"""The ordinary part of the soak's web: pages without end from nginx alone, which makes them as fast as it sends them.

A page is a function of its address and, for some, of the time: its paragraphs, its links, whether it exists. nginx
picks all of that by hashing the address (`split_clients`), so nothing is stored. Every page links to two that nobody
has seen, `/p/1` to `/p/10` and `/p/11` and so on, and to one on another host.
"""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.reference_web import Maker, host_name
from tests.support.nginx import Nginx

PARTS: Final = 12  # paragraphs of a page
CHOICES: Final = 100  # texts that each of them is chosen from
CHOICE_MAX_CHARS: Final = 900
ABROAD_MAX: Final = 2_000  # hosts that others link to: nginx knows hundredths of a per cent
MENU: Final = ("/p/1", "/p/1?utm_source=menu", "/p/10", "/private/", "#top", "/p/11")

_HTTP: Final = r"""
    gzip on; gzip_comp_level 1; gzip_min_length 256;
    map $time_iso8601 $era { default x; "~^(?<minutes>.{15})" $minutes; }
    split_clients "$host$uri kind" $kind { 25% changing; 25% plain; * tagged; }
    map $kind $stamp { default still; changing $era; }
    map $kind $tag { default 'W/"$stamp"'; plain ""; }
    map "$tag|$http_if_none_match" $same { default ""; "~^(?<t>.+)\|(?P=t)$" yes; }
    split_clients "$host$uri fate" $fate { 1% gone; 1% moved; 0.5% broken; * fine; }
"""
_SERVER: Final = r"""
    location = /robots.txt { default_type text/plain; return 200 "User-agent: *\nDisallow: /private/\n"; }
    location / {
        default_type text/html;
        add_header ETag $tag;
        if ($uri = /) { return 200 '<title>$host</title><p>$p0<p>$p1 %MENU%'; }
        if ($same) { return 304; }
        if ($fate = gone) { return 404; }
        if ($fate = moved) { return 301 ${uri}0; }
        if ($fate = broken) { return 500; }
        return 200 '%PAGE%';
    }
"""


def ordinary(folder: Path, numbers: Sequence[int], port: int, tls_port: int, *, tls_every: int = 10) -> Nginx:
    """An nginx, not started, that serves these hosts; every so many of them over TLS."""
    server = Nginx(folder, http=_HTTP + _paragraphs() + _abroad(numbers, port, tls_port, tls_every))
    menu = " ".join(f'<a href="{target}">{target}</a>' for target in MENU)
    text = "".join(f"<h2>Part {n}</h2><p>$p{n}</p>" for n in range(PARTS))
    page = (
        f'<!DOCTYPE html><html lang="en"><title>$host $uri</title><body><nav>{menu}</nav><main>{text}</main>'
        '<a href="${uri}0">on</a> <a href="${uri}1">further</a> <a href="$abroad">elsewhere</a></body></html>'
    )
    extra = _SERVER.replace("%MENU%", menu).replace("%PAGE%", page)
    server.add("_", address="0.0.0.0", port=port, extra=extra)
    server.add("_", address="0.0.0.0", port=tls_port, extra=extra, certificate=_certificate(folder))
    return server


def origin(number: int, port: int, tls_port: int, tls_every: int = 10) -> str:
    """Beginning of the URLs of an ordinary host, without a slash at the end."""
    secure = number % tls_every == 0
    return f"{'https' if secure else 'http'}://{host_name(number)}:{tls_port if secure else port}"


def _paragraphs() -> str:
    texts = [text[:CHOICE_MAX_CHARS] for text in Maker(1).paragraphs]
    blocks = []
    for part in range(PARTS):
        chosen = texts[part * CHOICES : (part + 1) * CHOICES]
        rows = "".join(f'        1% "{text}";\n' for text in chosen[:-1])
        blocks.append(
            f'    split_clients "$host$uri$stamp {part}" $p{part} {{\n{rows}        * "{chosen[-1]}";\n    }}\n'
        )
    return "".join(blocks)


def _abroad(numbers: Sequence[int], port: int, tls_port: int, tls_every: int) -> str:
    chosen = numbers[:ABROAD_MAX]
    share = max(1, 10_000 // len(chosen)) / 100
    links = [f"{origin(number, port, tls_port, tls_every)}/" for number in chosen]
    rows = "".join(f"        {share:.2f}% {link};\n" for link in links[:-1])
    return f'    split_clients "$host$uri abroad" $abroad {{\n{rows}        * {links[-1]};\n    }}\n'


def _certificate(folder: Path) -> tuple[Path, Path]:
    """A certificate that nobody has signed, and its key."""
    folder.mkdir(parents=True, exist_ok=True)
    chain, key = folder / "cert.pem", folder / "key.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=soak.example"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(chain)], check=True, capture_output=True)
    return chain, key
