"""`gossamer identity`: what is published of a crawler, whether DNS and the published files bear it out, and its key."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Final, TypeVar
from urllib.parse import urlsplit

import msgspec
import typer

from gossamer.adapters.reversedns import ReverseDns
from gossamer.model.config import Config
from gossamer.model.errors import EXIT_OK, EXIT_VERIFY, UsageError
from gossamer.surface import settings
from gossamer.surface.identity import (
    Finding,
    Published,
    addresses_of,
    is_inside,
    judge_address,
    judge_published,
    published,
)
from gossamer.surface.jsontext import json_text
from gossamer.surface.signing import signer_of
from gossamer.surface.terminal import escape

WELL_KNOWN: Final = "/.well-known/crawler-ip-ranges"
FETCH_TIMEOUT_S: Final = 15.0
FETCH_MAX_BYTES: Final = 1024 * 1024
AT_ONCE: Final = 16
Shape = TypeVar("Shape")
_identity = typer.Typer(help="Who the crawler says it is.", no_args_is_help=True, rich_markup_mode=None)
Dir = Annotated[Path, typer.Option("--dir", help="The crawl's directory.")]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.add_typer(_identity, name="identity")


@_identity.command()
def show(directory: Dir = Path("crawl")) -> None:
    """Print what /.well-known/crawler-ip-ranges says."""
    typer.echo(json_text(published([_config(directory)])))


@_identity.command()
def key(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="Where to; it must not be there yet.")],
) -> None:
    """Make a key that requests are signed with (Web Bot Auth). Whoever has the file can sign in your name."""
    from gossamer.adapters.signing import create_key

    made = create_key(path)
    typer.echo(f"key {made.jwk.kid} is in {escape(str(path))}, which only you can read")
    typer.echo(f'[identity] signing_key = "{escape(str(path))}" signs requests with it; gossamer serve publishes it')


@_identity.command()
def check(
    directory: Dir = Path("crawl"),
    addresses: Annotated[
        list[str] | None, typer.Option("--address", metavar="IP", help="Check this one; else those of identity.ranges.")
    ] = None,
    where: Annotated[
        str,
        typer.Option("--published", metavar="URL", help="Where the ranges are published; else at the contact's site."),
    ] = "",
    keys: Annotated[
        str, typer.Option(metavar="URL", help="Where our public keys are published; else as requests say.")
    ] = "",
    *,
    json: Json = False,
) -> None:
    """Check that our addresses have names that lead back to them, and that what is published is what is configured."""
    config = _config(directory)
    for address in addresses or []:
        try:
            ipaddress.ip_address(address)
        except ValueError as error:
            raise UsageError(f"--address {escape(address)} is not allowed; it must be an IP address") from error
    found = [*_configured(config), *_own_address(config)]
    found += asyncio.run(_named(config, addresses or list(addresses_of(config.identity.ranges))))
    found += _compared(config, where)
    found += _signed(config, keys)
    if json:
        typer.echo(json_text({"findings": found}))
    else:
        for one in found:
            typer.echo(f"{one.mark:<5} {escape(one.what)}: {escape(one.text)}")
    raise typer.Exit(EXIT_VERIFY if any(one.mark == "no" for one in found) else EXIT_OK)


def _config(directory: Path) -> Config:
    path = directory / settings.FILE_NAME
    if not path.is_file():
        raise UsageError(f"there is no crawl in {escape(str(directory))}")
    return settings.load(path, directory=str(directory))


def _configured(config: Config) -> list[Finding]:
    found = []
    for name, value, need in (
        ("identity.contact", config.identity.contact, "site owners must be able to reach somebody"),
        ("identity.ranges", ", ".join(config.identity.ranges), "without it nothing tells our requests from others'"),
        ("identity.rdns", config.identity.rdns, "without it names of our addresses prove nothing"),
    ):
        found.append(Finding("ok", name, value) if value else Finding("no", name, f"is not set: {need}"))
    return found


def _own_address(config: Config) -> list[Finding]:
    """The address this machine sends from, as far as it can tell itself: behind NAT it is another one."""
    found = []
    for family, far in ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1")):
        try:
            with socket.socket(family, socket.SOCK_DGRAM) as probe:  # nothing is sent
                probe.connect((far, 9))
                own = str(ipaddress.ip_address(probe.getsockname()[0].partition("%")[0]))
        except OSError:
            continue
        if is_inside(own, config.identity.ranges):
            found.append(Finding("ok", own, "this machine sends from it, and it is in identity.ranges"))
        else:
            text = "this machine sends from it, and it is in none of identity.ranges (behind NAT that means nothing)"
            found.append(Finding("note", own, text))
    return found


async def _named(config: Config, addresses: list[str]) -> list[Finding]:
    if not config.identity.rdns:
        return []
    dns = ReverseDns(config.dns)
    room = asyncio.Semaphore(AT_ONCE)

    async def one(address: str) -> Finding:
        async with room:
            names = await dns.names(address)
            version = ipaddress.ip_address(address).version
            confirmed = [
                name for name in names if str(ipaddress.ip_address(address)) in await dns.addresses(name, version)
            ]
        return judge_address(address, names, tuple(confirmed), config.identity.rdns)

    try:
        return list(await asyncio.gather(*map(one, addresses)))
    finally:
        await dns.close()


def _compared(config: Config, where: str) -> list[Finding]:
    contact = urlsplit(config.identity.contact)
    place = where or (f"{contact.scheme}://{contact.netloc}{WELL_KNOWN}" if contact.scheme.startswith("http") else "")
    if not place.startswith(("http://", "https://")):
        return [Finding("note", "published", "not compared: name the file with --published")]
    theirs = _fetched(place, Published)
    if isinstance(theirs, str):
        return [Finding("no", "published", theirs)]
    return judge_published(published([config]), theirs, place)


def _signed(config: Config, where: str) -> list[Finding]:
    """Whether the keys that requests are signed with are found where requests say."""
    signer = signer_of(config)
    if signer is None:
        return [Finding("note", "identity.signing_key", "is not set: requests are not signed")]
    from gossamer.adapters.signing import KeyDirectory

    place = where or signer.agent
    if not place.startswith(("http://", "https://")):
        raise UsageError(f"--keys {escape(place)} is not allowed; it must be an http(s) URL")
    first = signer.keys[0].jwk.kid
    found = [
        Finding("ok", "identity.signing_key", f"requests are signed with {first}, whose directory is {signer.agent}")
    ]
    theirs = _fetched(place, KeyDirectory)
    if isinstance(theirs, str):
        return [*found, Finding("no", "keys", theirs)]
    lacking = {key.jwk for key in signer.keys} - set(theirs.keys)
    said = f"{place} lacks {', '.join(sorted(key.kid for key in lacking))}" if lacking else f"{place} has them all"
    return [*found, Finding("no" if lacking else "ok", "keys", said)]


def _fetched(place: str, shape: type[Shape]) -> Shape | str:
    """What is published there, or why it cannot be read."""
    request = urllib.request.Request(place, headers={"Accept": "*/*"})  # noqa: S310 - http(s) as checked
    try:
        with urllib.request.urlopen(request, timeout=FETCH_TIMEOUT_S) as answer:  # noqa: S310
            return msgspec.json.decode(answer.read(FETCH_MAX_BYTES), type=shape)
    except (OSError, ValueError, msgspec.MsgspecError) as error:
        reason = error.reason if isinstance(error, urllib.error.URLError) else error
        return f"{place} cannot be read: {reason}"
