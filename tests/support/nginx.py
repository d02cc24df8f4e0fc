"""A private nginx: many names and addresses on loopback, unprivileged ports, and a log that tells when each request
began and ended. What the log proves is in `politeness.py`.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

LOG_FORMAT = (
    "$msec\\t$request_time\\t$server_addr\\t$server_port\\t$host\\t$remote_port\\t$connection\\t$connection_requests"
    "\\t$status\\t$request_method\\t$request_uri\\t$http_user_agent"
)
START_TIMEOUT_S = 10.0
PORTS = range(10_240, 32_768)  # below those that Linux gives to connections, of which one may take it meanwhile

CONF = """\
daemon off;
{user}
worker_processes {workers};
worker_rlimit_nofile 65536;
pid {folder}/nginx.pid;
error_log {folder}/error.log warn;
events {{ worker_connections 8192; }}
http {{
    types {{
        text/html html htm;  text/plain txt;  text/xml xml;  application/xhtml+xml xhtml;  application/pdf pdf;
        text/css css;  application/javascript js;  image/png png;  image/svg+xml svg;  application/rss+xml rss;
    }}
    default_type application/octet-stream;
    charset utf-8;
    charset_types text/html text/plain;
    server_names_hash_max_size 65536;
    server_names_hash_bucket_size 128;
    variables_hash_max_size 4096;
    sendfile on;
    tcp_nopush on;
    keepalive_timeout 65;
    keepalive_requests 100000;
    client_body_temp_path {folder}/tmp;
    proxy_temp_path {folder}/tmp;
    fastcgi_temp_path {folder}/tmp;
    uwsgi_temp_path {folder}/tmp;
    scgi_temp_path {folder}/tmp;
    log_format witness "{log_format}";
    access_log {folder}/access.log witness;
{http}
{servers}
}}
"""


def nginx_path() -> str | None:
    """The nginx program, or None."""
    return shutil.which("nginx") or (found if os.access(found := "/usr/sbin/nginx", os.X_OK) else None)


def free_port() -> int:
    """A TCP port that is free on every address at this moment, and none that the system gives to connections."""
    while True:
        port = secrets.choice(PORTS)
        if can_bind("0.0.0.0", port):
            return port


def can_bind(address: str, port: int) -> bool:
    """Whether this process may listen there."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
        return True


@dataclass
class Site:
    """One server block: names on one address and port, a root to serve, and anything else in nginx's own words."""

    names: tuple[str, ...]
    address: str
    port: int
    root: Path | None = None
    extra: str = ""
    certificate: tuple[Path, Path] | None = None  # (chain, key): serves TLS

    def block(self) -> str:
        """The server block."""
        tls = ""
        if self.certificate:
            tls = f"ssl_certificate {self.certificate[0]}; ssl_certificate_key {self.certificate[1]};"
        listen = f"{self.address}:{self.port}{' ssl' if self.certificate else ''}"
        root = f'root "{self.root}";' if self.root else ""
        return f"    server {{ listen {listen}; server_name {' '.join(self.names)}; {tls} {root}\n{self.extra}\n    }}"


@dataclass
class Nginx:
    """Add sites, start, read the log, stop."""

    folder: Path
    workers: int = 1
    http: str = ""  # more directives for the http block
    names: dict[str, str] = field(default_factory=dict)  # name -> address, for sites that listen everywhere
    sites: list[Site] = field(default_factory=list)
    process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """The access log."""
        return self.folder / "access.log"

    @property
    def hosts_file(self) -> Path:
        """Names and addresses of all sites, as for /etc/hosts. Written by `start`."""
        return self.folder / "hosts"

    def add(self, *names: str, address: str, port: int, root: Path | None = None, extra: str = "",
            certificate: tuple[Path, Path] | None = None) -> Site:  # fmt: skip
        """One more site; takes effect at the next start."""
        site = Site(names, address, port, root, extra, certificate)
        self.sites.append(site)
        return site

    def start(self) -> None:
        """Write the configuration and wait until every address answers. Raises RuntimeError with nginx's words."""
        program = nginx_path()
        assert program is not None
        (self.folder / "tmp").mkdir(parents=True, exist_ok=True)
        conf = self.folder / "nginx.conf"
        conf.write_text(
            CONF.format(
                folder=self.folder,
                user="user root;" if os.geteuid() == 0 else "",  # its workers read our private folders
                workers=self.workers,
                log_format=LOG_FORMAT,
                http=self.http,
                servers="\n".join(site.block() for site in self.sites),
            )
        )
        known = {name: site.address for site in self.sites if site.address != "0.0.0.0" for name in site.names}
        lines = (f"{address} {name}\n" for name, address in (known | self.names).items())
        self.hosts_file.write_text("".join(lines))
        arguments = [program, "-p", str(self.folder), "-c", str(conf), "-e", str(self.folder / "error.log")]
        self.process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
        deadline = time.monotonic() + START_TIMEOUT_S
        for address, port in {(site.address, site.port) for site in self.sites}:
            self._wait_for(address, port, deadline)

    def _wait_for(self, address: str, port: int, deadline: float) -> None:
        process = self.process
        assert process is not None
        while True:
            if process.poll() is not None:
                words = process.stderr.read().decode("utf-8", "replace") if process.stderr else ""
                raise RuntimeError(f"nginx ended with {process.returncode}: {words or self._errors()}")
            try:
                socket.create_connection((address, port), timeout=1).close()
            except OSError:
                if time.monotonic() > deadline:
                    self.stop()
                    raise RuntimeError(f"nginx does not answer on {address}:{port}: {self._errors()}") from None
                time.sleep(0.02)
            else:
                return

    def _errors(self) -> str:
        path = self.folder / "error.log"
        return path.read_text("utf-8", "replace")[-2000:] if path.exists() else "no error log"

    def stop(self) -> None:
        """End it at once; nothing happens when it does not run."""
        process, self.process = self.process, None
        if process is None:
            return
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr:
            process.stderr.close()
