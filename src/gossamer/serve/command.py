"""`gossamer serve` and `gossamer token`: what is checked before anything listens, and who may have which token."""

from __future__ import annotations

import logging
import os
import pwd
import secrets
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.model.errors import UsageError
from gossamer.serve.audit import AuditLog, Entry, stamp
from gossamer.serve.tokens import Role, TokenBook
from gossamer.surface.explainview import moment
from gossamer.surface.terminal import escape
from gossamer.surface.units import parse_duration

if TYPE_CHECKING:
    from gossamer.serve.app import Loop
    from gossamer.serve.crawls import Crawls

HOME: Final = Path("serve")
Home = Annotated[Path, typer.Option("--home", metavar="DIR", help="Where the server keeps tokens and audit log.")]
_tokens = typer.Typer(help="Who may ask a server for what.", no_args_is_help=True, rich_markup_mode=None)


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(serve)
    app.add_typer(_tokens, name="token")


def serve(
    directories: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Crawl directories.")],
    listen: Annotated[str, typer.Option(metavar="ADDRESS:PORT", help="Where to listen.")] = "127.0.0.1:8780",
    home: Home = HOME,
    names: Annotated[
        list[str] | None, typer.Option("--name", metavar="HOST", help="A host name by which this server is reached.")
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option("--tls-cert", metavar="FILE", help="PEM file with the certificate and its chain.")
    ] = None,
    key: Annotated[Path | None, typer.Option("--tls-key", metavar="FILE", help="PEM file with its key.")] = None,
    otlp: Annotated[
        str, typer.Option("--otlp", metavar="URL", help="An OTLP/HTTP collector to which metrics are posted.")
    ] = "",
    otlp_headers: Annotated[
        Path | None, typer.Option("--otlp-headers", metavar="FILE", help="Headers for it, one a line: NAME: VALUE.")
    ] = None,
    otlp_every: Annotated[str, typer.Option("--otlp-every", metavar="TIME", help="How often (60s).")] = "",
) -> None:
    """Show crawls to people and programs over HTTP, and let those who may operate them.

    Without a token, somebody on this machine may look and change nothing. Make tokens with gossamer token create.
    """
    from gossamer.serve import listen as listening
    from gossamer.serve.api import Api
    from gossamer.serve.app import make_app
    from gossamer.serve.crawls import Crawls
    from gossamer.serve.door import Door
    from gossamer.serve.pages import page_routes
    from gossamer.surface.controlling import Crawl

    address = listening.parse_address(listen)
    hosts = listening.check_names(names or [])
    listening.check_tls(certificate, key)
    loops = _collector(otlp, otlp_headers, otlp_every)
    tokens = TokenBook(home)
    is_open = not tokens.all()
    if is_open and not address.is_loopback:
        raise UsageError(
            f"--listen {address.place} can be reached from other machines, and {escape(str(home))} holds no token: "
            "make one first (gossamer token create NAME --role read), or listen at 127.0.0.1"
        )
    crawls = Crawls(directories, Crawl)
    socket = listening.open_socket(address)
    audit = AuditLog(home)
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    api = Api(crawls, Door(tokens, hosts, is_open=is_open), audit)
    place = listening.Address(address.host, socket.getsockname()[1]).place
    typer.echo(f"listening at {'https' if certificate else 'http'}://{place}/")
    if is_open:
        typer.echo("no token: who is on this machine may look, nobody may change anything")
    try:
        app = make_app(api, page_routes(api), loops(crawls))
        listening.serve(app, socket, certificate, key)
    finally:
        audit.close()


def _collector(url: str, headers: Path | None, every: str) -> Callable[[Crawls], tuple[Loop, ...]]:
    """What posts metrics to a collector, when one is named. Raises UsageError."""
    if not url:
        for option, value in (("--otlp-headers", headers), ("--otlp-every", every)):
            if value:
                raise UsageError(f"{option} is of no use without --otlp URL")
        return lambda _crawls: ()
    try:
        from gossamer.serve import otlp
    except ImportError as error:
        extra = 'what comes with the extra "otlp": pip install "gossamer[otlp]"'
        raise UsageError(f"--otlp needs {extra} ({error})") from error
    from gossamer.serve.metrics import measured

    target = otlp.parse_target(url, headers, every)
    return lambda crawls: (otlp.Exporter(target, lambda: measured(crawls), crawls.exports).run,)


@_tokens.command()
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Whose it is; stands in the audit log.")],
    role: Annotated[Role, typer.Option(help="read: look. operate: seeds, takedowns, hosts, pause. admin: all.")],
    valid: Annotated[str, typer.Option(metavar="TIME", help="How long it holds (30d, 12h); else until revoked.")] = "",
    home: Home = HOME,
) -> None:
    """Make a token. It is shown once; only a hash of it is kept."""
    now = time.time()
    secret = TokenBook(home).create(name, role, now, _valid_s(valid))
    _note(home, f"token create {name}", f"role {role.value}" + (f", valid for {valid}" if valid else ""))
    typer.echo(secret)


@_tokens.command("list")
def list_tokens(home: Home = HOME) -> None:
    """Every token: its name, role and end."""
    now = time.time()
    for token in TokenBook(home).all():
        ends = "until revoked" if not token.expires else f"until {moment(token.expires)}"
        over = " (expired)" if 0 < token.expires <= now else ""
        typer.echo(f"{token.name:<24} {token.role.value:<8} made {moment(token.created)}, {ends}{over}")


@_tokens.command()
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As gossamer token list names it.")], home: Home = HOME
) -> None:
    """Take a token out. A running server refuses it from its next request on."""
    TokenBook(home).revoke(name)
    _note(home, f"token revoke {name}", "revoked")
    typer.echo(f"revoked {name}")


def _valid_s(text: str) -> float | None:
    if not text:
        return None
    try:
        seconds = parse_duration(text)
    except ValueError:
        seconds = 0.0
    if seconds <= 0:
        raise UsageError(f'--valid {escape(text)} is not allowed; it must be a time such as "12h", "30d"')
    return seconds


def _note(home: Path, what: str, result: str) -> None:
    """Changes by commands stand in the audit log too."""
    try:
        who = pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        who = str(os.getuid())
    log = AuditLog(home)
    try:
        log.write(
            Entry(time=stamp(time.time()), id=secrets.token_hex(8), step="done", who=who, what=what, result=result)
        )
    finally:
        log.close()
