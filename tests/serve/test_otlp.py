"""OTLP: a real collector on loopback gets what /metrics shows; whatever it does, the server goes on and says so."""

from __future__ import annotations

import asyncio
import gzip
import logging
import math
import socket
import ssl
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import trustme
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsPartialSuccess,
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.metrics.v1.metrics_pb2 import AGGREGATION_TEMPORALITY_CUMULATIVE, Metric
from prometheus_client.parser import text_string_to_metric_families

import gossamer.serve
from gossamer.adapters import post as posting
from gossamer.serve import otlp
from gossamer.serve.exposition import Exposition
from gossamer.serve.otlpform import encode, unit_of
from gossamer.surface import cli
from tests.reader.making import Made
from tests.support.receiver import Got, Says, receiving
from tests.support.serving import Serving

PROTOBUF = (("Content-Type", "application/x-protobuf"),)
Value = tuple[str, tuple[tuple[str, str], ...]]  # name, labels


def request_of(got: Got) -> ExportMetricsServiceRequest:
    assert got.headers["Content-Type"] == "application/x-protobuf"
    assert got.headers["Content-Encoding"] == "gzip"
    return ExportMetricsServiceRequest.FromString(gzip.decompress(got.body))


def metrics_of(request: ExportMetricsServiceRequest) -> list[Metric]:
    (resource,) = request.resource_metrics
    (scope,) = resource.scope_metrics
    return list(scope.metrics)


def labels_of(point: Any, **more: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(({one.key: one.value.string_value for one in point.attributes} | more).items()))


def number(edge: float) -> str:
    return "+Inf" if math.isinf(edge) else f"{edge:g}"


def as_prometheus(metrics: list[Metric]) -> dict[Value, float]:
    """What a scrape would have said."""
    found: dict[Value, float] = {}
    for metric in metrics:
        for point in (*metric.gauge.data_points, *metric.sum.data_points):
            found[metric.name, labels_of(point)] = point.as_double
        for spread in metric.histogram.data_points:
            count = 0
            for edge, held in zip([*spread.explicit_bounds, math.inf], spread.bucket_counts, strict=True):
                count += held
                found[f"{metric.name}_bucket", labels_of(spread, le=number(edge))] = count
            assert count == spread.count
            found[f"{metric.name}_count", labels_of(spread)] = spread.count
            found[f"{metric.name}_sum", labels_of(spread)] = spread.sum
    return found


def scraped(text: str) -> dict[Value, float]:
    families = text_string_to_metric_families(text)
    return {
        (sample.name, tuple(sorted((name, number(float(text))) if name == "le" else (name, text)
                                   for name, text in sample.labels.items()))): sample.value
        for family in families for sample in family.samples
    }  # fmt: skip


def test_a_server_tells_a_collector_what_it_tells_prometheus_and_outlives_it(crawl: Made, tmp_path: Path) -> None:
    """A real server process; the collector comes, goes, and comes again."""
    (tmp_path / "headers").write_text("Authorization: Bearer secret\n\nX-Tenant: crawls\n")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    flags = ("--otlp", f"http://127.0.0.1:{port}", "--otlp-headers", str(tmp_path / "headers"), "--otlp-every", "1s")
    with Serving(tmp_path / "home", crawl.directory, flags=flags) as server:
        deadline = time.monotonic() + 20
        while "metrics do not reach the OTLP collector" not in server.output:
            assert time.monotonic() < deadline, server.output
            time.sleep(0.1)
        assert "(unreachable)" in server.output
        assert server.get("/v1/crawls")["crawls"][0]["name"] == "crawl"
        with receiving(port) as collector:
            got = collector.wait(2)[1]
            metrics_text = prometheus(server)
        assert "takes metrics again" in server.output
        assert server.end() == 0
    assert got.path == "/v1/metrics"
    assert (got.headers["Authorization"], got.headers["X-Tenant"]) == ("Bearer secret", "crawls")
    assert "secret" not in server.output
    request = request_of(got)
    resource = {one.key: one.value.string_value for one in request.resource_metrics[0].resource.attributes}
    assert resource["service.name"] == "gossamer"
    told, shown = as_prometheus(metrics_of(request)), scraped(metrics_text)
    varying = "status_age_seconds otlp_exports_total disk_free_bytes disk_full_seconds"
    passing = {f"gossamer_{name}" for name in varying.split()}
    assert {name for name in told if name[0] not in passing} == {name for name in shown if name[0] not in passing}
    assert len(told) > 100
    steady = [name for name in told if name[0] not in passing and not name[0].startswith("gossamer_witness")]
    assert {name: told[name] for name in steady} == {name: shown[name] for name in steady}
    assert shown["gossamer_otlp_exports_total", (("outcome", "unreachable"),)] >= 1


def prometheus(server: Serving) -> str:

    request = urllib.request.Request(
        f"{server.base}/metrics", headers={"Authorization": f"Bearer {server.tokens['read']}"}
    )
    with urllib.request.urlopen(request, timeout=20) as answer:
        return str(answer.read().decode())


def some() -> Exposition:
    out = Exposition()
    out.gauge("x_seconds", "X.", 2, crawl="c")
    out.counter("y_bytes_total", "Y.", 3.5, crawl="c", name='a"b\udcff')
    out.since = 1_000.5
    out.histogram("z_seconds", "Z.", [(0.1, 2), (1.0, 0), (math.inf, 4)], 12.5, crawl="c")
    return out


def test_the_form_of_a_message() -> None:
    data = encode(some().families, 2_000.25, {"service.name": "gossamer"})
    gauge, total, spread = metrics_of(ExportMetricsServiceRequest.FromString(data))
    assert (gauge.name, gauge.unit, gauge.description) == ("x_seconds", "s", "X.")
    (point,) = gauge.gauge.data_points
    assert (point.as_double, point.time_unix_nano, point.start_time_unix_nano) == (2.0, 2_000_250_000_000, 0)
    assert (total.sum.is_monotonic, total.sum.aggregation_temporality) == (True, AGGREGATION_TEMPORALITY_CUMULATIVE)
    assert (total.unit, labels_of(total.sum.data_points[0])) == ("By", (("crawl", "c"), ("name", 'a"b?')))
    (held,) = spread.histogram.data_points
    assert (list(held.bucket_counts), list(held.explicit_bounds), held.count) == ([2, 0, 4], [0.1, 1.0], 6)
    assert held.start_time_unix_nano == 1_000_500_000_000
    assert spread.histogram.aggregation_temporality == AGGREGATION_TEMPORALITY_CUMULATIVE


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("gossamer_received_bytes_per_second", "By/s"),
        ("gossamer_pages_per_second", "1/s"),
        ("gossamer_received_bytes_total", "By"),
        ("gossamer_digest_cpu_seconds", "s"),
        ("gossamer_budget_used_ratio", "1"),
        ("gossamer_pages_total", ""),
    ],
)
def test_units(name: str, unit: str) -> None:
    assert unit_of(name) == unit


def exported(url: str, *, times: int = 1, wait_s: list[float] | None = None) -> Any:
    """What becomes of exports."""
    counts: Counter[str] = Counter()

    async def gather() -> Exposition:
        return some()

    async def run() -> None:
        exporter = otlp.Exporter(otlp.Target(url=url), gather, counts)
        for _ in range(times):
            await exporter.export()
            if wait_s is not None:
                wait_s.append(exporter._wait_s)

    asyncio.run(run())
    return dict(counts)


def partial(rejected: int, why: str) -> bytes:
    part = ExportMetricsPartialSuccess(rejected_data_points=rejected, error_message=why)
    return bytes(ExportMetricsServiceResponse(partial_success=part).SerializeToString())


ANSWERS: list[tuple[Says, str, str]] = [
    (Says(200, PROTOBUF), "taken", ""),
    (Says(200, PROTOBUF, partial(0, "")), "taken", ""),
    (Says(202, (("Content-Type", "application/json"),), b"{}"), "taken", ""),
    (Says(200, PROTOBUF, partial(2, "too many labels")), "rejected", "2 points: too many labels"),
    (Says(200, PROTOBUF, b"\xff\xff"), "refused", "no ExportMetricsServiceResponse"),
    (Says(400, (), b"bad \x1b[31m data"), "refused", r"it answers 400 bad \x1b[31m data"),
    (Says(302, (("Location", "/elsewhere"),)), "refused", "it answers 302"),
    (Says(401), "refused", "it answers 401"),
    (Says(503), "busy", "it answers 503"),
    (Says(429, (("Retry-After", "120"),)), "busy", "it answers 429"),
    (Says(200, (), b"x" * (posting.ANSWER_MAX_BYTES + 1)), "unreachable", "longer than 65536 bytes"),
    (Says(after_s=0.5), "late", "no answer within 0.2 s"),
]


@pytest.mark.parametrize(("says", "outcome", "words"), ANSWERS, ids=lambda value: str(value)[:24])
def test_what_a_collector_may_answer(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, says: Says, outcome: str, words: str
) -> None:
    """Three exports, each whole by itself; said once, and once more when it is well again."""
    if says.after_s:
        monkeypatch.setattr(otlp, "TIMEOUT_S", 0.2)
    with caplog.at_level(logging.WARNING, "gossamer.otlp"), receiving() as collector:
        collector.answers = [says, says]
        waits: list[float] = []
        counts = exported(f"{collector.base}/v1/metrics", times=3, wait_s=waits)
        assert [got.path for got in collector.got] == ["/v1/metrics"] * 3
        assert all(len(metrics_of(request_of(got))) == 3 for got in collector.got)
    assert counts == ({"taken": 3} if outcome == "taken" else {outcome: 2, "taken": 1})
    said = [record.getMessage() for record in caplog.records]
    if outcome == "taken":
        assert said == []
    else:
        assert len(said) == 2
        assert f"({outcome})" in said[0]
        assert words in said[0]
        assert said[1].endswith("2 exports were not taken")
    assert waits[-1] == otlp.EVERY_S
    assert waits[0] == (120.0 if "Retry-After" in dict(says.headers) else otlp.EVERY_S)


@pytest.mark.parametrize("text", [b"", b"SSH-2.0-x\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab"])
def test_what_is_no_answer(text: bytes) -> None:
    async def run() -> dict[str, int]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read(100)
            writer.write(text)
            writer.close()

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        counts = await asyncio.to_thread(exported, f"http://127.0.0.1:{port}/v1/metrics")
        server.close()
        return dict(counts)

    assert asyncio.run(run()) == {"unreachable": 1}


def test_a_collector_that_drips_is_late(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then resets no deadline."""
    monkeypatch.setattr(otlp, "TIMEOUT_S", 0.4)

    async def run() -> dict[str, int]:
        async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100:
                writer.write(bytes([byte]))
                await asyncio.sleep(0.05)

        server = await asyncio.start_server(handle, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        begun = time.monotonic()
        counts = await asyncio.to_thread(exported, f"http://127.0.0.1:{port}/v1/metrics")
        assert time.monotonic() - begun < 3
        server.close()
        return dict(counts)

    assert asyncio.run(run()) == {"late": 1}


def test_what_goes_wrong_on_our_side_is_counted_too(caplog: pytest.LogCaptureFixture) -> None:
    counts: Counter[str] = Counter()

    async def gather() -> Exposition:
        raise ZeroDivisionError("x")

    exporter = otlp.Exporter(otlp.Target(url="http://127.0.0.1:1/"), gather, counts)
    asyncio.run(exporter.export())
    assert counts == {"failed": 1}
    assert "the next one is made in time" in caplog.text


def test_one_at_a_time_again_and_again() -> None:
    under_way, most = 0, 0

    async def run() -> None:
        async def gather() -> Exposition:
            nonlocal under_way, most
            under_way += 1
            most = max(most, under_way)
            await asyncio.sleep(0.05)
            under_way -= 1
            return some()

        with receiving() as collector:
            target = otlp.Target(url=collector.base, every_s=0.01)
            task = asyncio.create_task(otlp.Exporter(target, gather, Counter()).run())
            await asyncio.to_thread(collector.wait, 4)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    asyncio.run(run())
    assert most == 1


BAD: list[tuple[list[str], str]] = [
    (["--otlp", "127.0.0.1:4318"], "--otlp 127.0.0.1:4318 is not allowed; it must be the http or https URL"),
    (["--otlp", "ftp://a.example"], "is not allowed"),
    (["--otlp", "http://"], "is not allowed"),
    (["--otlp", "http://a b/"], "is not allowed"),
    (["--otlp", "http://a.example:99999/"], "is not allowed"),
    (["--otlp", "http://a.example/#x"], "is not allowed"),
    (["--otlp", "http://a.example/\r\nX: y"], r"http://a.example/\r\nX: y is not allowed"),
    (["--otlp", "http://anna:secret@a.example/"], "a URL with a password is not allowed"),
    (
        ["--otlp", "http://a.example", "--otlp-every", "0.5s"],
        '0.5s is not allowed; it must be a time from "1s" to "1h"',
    ),
    (["--otlp", "http://a.example", "--otlp-every", "often"], "is not allowed"),
    (["--otlp", "http://a.example", "--otlp-headers", "nowhere"], "--otlp-headers nowhere: cannot be read"),
    (["--otlp-every", "5s"], "--otlp-every is of no use without --otlp URL"),
    (["--otlp-headers", "x"], "--otlp-headers is of no use without --otlp URL"),
]


@pytest.mark.parametrize(("flags", "words"), BAD, ids=lambda value: str(value)[:40])
def test_what_is_refused_before_anything_listens(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], words: str
) -> None:
    assert cli.run(["serve", str(crawl.directory), "--home", str(tmp_path / "home"), *flags]) == 2
    said = capsys.readouterr().err
    assert words in said
    assert len(said.splitlines()) == 1
    assert "secret" not in said
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "holds 0 headers; 1 to 16 are allowed"),
        (b"Authorization Bearer x", "line 1 is not allowed; it must be a header"),
        (b"X-A: 1\nbad name: 2", "line 2 is not allowed"),
        (b"X-A:", "line 1 is not allowed"),
        (b"X-A: \xe4", "line 1 is not allowed"),
        (b"Content-Type: text/plain", "line 1: Content-Type is not allowed; the exporter sets it"),
        (b"".join(b"X-%d: 1\n" % n for n in range(17)), "holds 17 headers"),
        (b"X-A: " + b"x" * 20_000, "longer than 16,384 bytes"),
    ],
)
def test_headers_that_are_none(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, words: str
) -> None:
    (tmp_path / "headers").write_bytes(content)
    flags = ["--otlp", "http://127.0.0.1:4318", "--otlp-headers", str(tmp_path / "headers")]
    assert cli.run(["serve", str(crawl.directory), "--home", str(tmp_path / "home"), *flags]) == 2
    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("http://127.0.0.1:4318", "http://127.0.0.1:4318/v1/metrics"),
        ("http://127.0.0.1:4318/", "http://127.0.0.1:4318/v1/metrics"),
        ("https://a.example/api/otlp?x=1", "https://a.example/api/otlp?x=1"),
        ("http://[::1]:4318", "http://[::1]:4318/v1/metrics"),
    ],
)
def test_where_it_goes(given: str, url: str) -> None:
    assert otlp.parse_target(given, None, "").url == url


def test_without_the_extra_it_says_what_is_missing(
    crawl: Made, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [name for name in sys.modules if name.startswith(("opentelemetry", "gossamer.serve.otlp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    for name in ("otlp", "otlpform"):
        monkeypatch.delattr(gossamer.serve, name, raising=False)
    home = ["--home", str(tmp_path / "home")]
    assert cli.run(["serve", str(tmp_path), *home, "--otlp", "http://127.0.0.1:4318"]) == 2
    assert 'pip install "gossamer[otlp]"' in capsys.readouterr().err


def test_by_tls_and_only_to_one_that_is_trusted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    with receiving(tls=context) as collector:
        url = f"https://127.0.0.1:{collector.port}/v1/metrics"
        assert exported(url) == {"unreachable": 1}
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert exported(url) == {"taken": 1}
        assert len(collector.got) == 1
