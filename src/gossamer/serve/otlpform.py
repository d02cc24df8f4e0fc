"""Families of samples as OTLP messages (opentelemetry-proto 1.x, package `metrics/v1`), and what a collector answers.

Names stay those that /metrics shows, so alarms and charts work on either. Counters and histograms are cumulative: an
export that is lost loses nothing that the next one does not say.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.metrics.v1.metrics_pb2 import (
    AGGREGATION_TEMPORALITY_CUMULATIVE,
    Gauge,
    Histogram,
    HistogramDataPoint,
    Metric,
    NumberDataPoint,
    ResourceMetrics,
    ScopeMetrics,
    Sum,
)
from opentelemetry.proto.resource.v1.resource_pb2 import Resource

from gossamer.serve.exposition import Family, Labels
from gossamer.version import VERSION

SCOPE: Final = "gossamer.serve.metrics"
# The unit as UCUM writes it, by the end of a name; the first that fits.
UNITS: Final = (
    ("_bytes_per_second", "By/s"),
    ("_per_second", "1/s"),
    ("_seconds", "s"),
    ("_bytes", "By"),
    ("_ratio", "1"),
)


def encode(families: Iterable[Family], now: float, resource: Mapping[str, str]) -> bytes:
    """One request with everything. `now`: unix seconds, when it was measured; `resource`: attributes of who tells."""
    at = _nano(now)
    scope = ScopeMetrics(
        scope=InstrumentationScope(name=SCOPE, version=VERSION), metrics=[_metric(family, at) for family in families]
    )
    told = ResourceMetrics(resource=Resource(attributes=_attributes(resource)), scope_metrics=[scope])
    return bytes(ExportMetricsServiceRequest(resource_metrics=[told]).SerializeToString())


def rejected(body: bytes) -> tuple[int, str]:
    """How many points a collector did not take, of a request that it took, and why. Raises ValueError for no answer."""
    try:
        partial = ExportMetricsServiceResponse.FromString(body).partial_success
    except DecodeError as error:
        raise ValueError("the answer is no ExportMetricsServiceResponse") from error
    return int(partial.rejected_data_points), str(partial.error_message)


def unit_of(name: str) -> str:
    """The unit that a name ends with; "" for a count."""
    base = name.removesuffix("_total")
    return next((unit for end, unit in UNITS if base.endswith(end)), "")


def _metric(family: Family, at: int) -> Metric:
    since = _nano(family.since)
    metric = Metric(name=family.name, description=family.help, unit=unit_of(family.name))
    points = [
        NumberDataPoint(
            attributes=_attributes(point.labels),
            start_time_unix_nano=since if family.kind == "counter" else 0,
            time_unix_nano=at,
            as_double=float(point.value),
        )
        for point in family.points
    ]
    if family.kind == "gauge":
        metric.gauge.CopyFrom(Gauge(data_points=points))
    elif family.kind == "counter":
        total = Sum(data_points=points, aggregation_temporality=AGGREGATION_TEMPORALITY_CUMULATIVE, is_monotonic=True)
        metric.sum.CopyFrom(total)
    else:
        spreads = [
            HistogramDataPoint(
                attributes=_attributes(spread.labels),
                start_time_unix_nano=since,
                time_unix_nano=at,
                count=spread.count,
                sum=float(spread.total),
                bucket_counts=[number for _, number in spread.edges],
                explicit_bounds=[edge for edge, _ in spread.edges if not math.isinf(edge)],
            )
            for spread in family.spreads
        ]
        histogram = Histogram(data_points=spreads, aggregation_temporality=AGGREGATION_TEMPORALITY_CUMULATIVE)
        metric.histogram.CopyFrom(histogram)
    return metric


def _attributes(labels: Labels) -> list[KeyValue]:
    return [KeyValue(key=name, value=AnyValue(string_value=_utf8(text))) for name, text in labels.items()]


def _utf8(text: str) -> str:
    """A name of a directory may hold bytes that are no text; protobuf takes none of them."""
    return text.encode("utf-8", "replace").decode()


def _nano(seconds: float) -> int:
    return int(seconds * 1_000_000_000)
