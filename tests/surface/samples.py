"""Sample values for what the engine would show: a middling crawl, a hostile one, an empty one."""

from __future__ import annotations

import math

from gossamer.model.event import FetchEvent
from gossamer.model.page import Kind, Pointer
from gossamer.model.view import (
    Bound,
    BoundName,
    Budget,
    DuplicateView,
    Explanation,
    HostView,
    Notice,
    Recent,
    ReportData,
    Slice,
    Snapshot,
    Step,
    Visit,
)

START = 1_767_225_600.0  # 2026-01-01T00:00:00Z
HOSTILE = '\x1b]0;owned\x07<script>alert(1)</script>"\u202egnp.\x9b31m\r\n[bold]'


NOTICES = (
    Notice(START + 300, "warning", "host slow.example asks for Crawl-delay 900 s and is parked"),
    Notice(START + 700, "error", "digest worker 1 took longer than 30 s on https://big.example/all.html"),
)
RECENT = tuple(
    Recent(
        START + 720 + step,
        f"https://host{step}.example/articles/2026/01/{'a-rather-long-slug-' * (step % 4)}{step}.html",
        ("200", "301", "timeout", "404", "200", "503", "robots-disallowed")[step % 7],
        0.043 * (step + 1),
        9_000 * step,
        ("", "redirect", "", "", "exact copy", "", "")[step % 7],
    )
    for step in range(12)
)


def snapshot() -> Snapshot:
    return Snapshot(
        time=START + 725,
        state="crawling",
        directory="crawl",
        elapsed_s=3725.0,
        run_s=725.0,
        runs=2,
        pages=12_345,
        visits=13_002,
        rate_now=41.2,
        rate_average=17.03,
        rate_history=tuple(30 + 12 * math.sin(step / 6) + (step % 7) for step in range(120)),
        bytes=1_288_490_188,
        bytes_rate_now=3_565_158.0,
        in_flight=37,
        concurrency=1000,
        hosts_known=2_310,
        hosts_active=412,
        hosts_ready=34,
        hosts_waiting=1_204,
        hosts_resting=341,
        hosts_parked=3,
        slots=10_000,
        urls_known=58_211,
        queued=45_210,
        queue_by_level=[120, 5_000, 30_000, 8_000, 2_000, 90, 0, 0, 0, 0],
        refresh_queued=12,
        statuses={"200": 11_020, "301": 800, "404": 311, "302": 150, "503": 41, "500": 12, "410": 11},
        failures={"timeout": 31, "dns": 12, "tls": 4, "connect": 9},
        duplicates_exact=231,
        duplicates_near=44,
        not_modified=12,
        refusals={"scope-outside": 120_411, "type-not-wanted": 30_120, "robots-disallowed": 812, "trap-calendar": 77},
        digest_pending=3,
        digest_max=64,
        workers=1,
        worker_restarts=1,
        bound=Bound(
            BoundName.HOSTS,
            "34 of 412 active hosts are ready; the other 378 are within their gap (1.2 s on average). "
            "More hosts would raise the rate, more machines would not.",
        ),
        budgets=(Budget("pages", 12_345, 50_000), Budget("duration", 3725, 36_000)),
        eta_s=914.0,
        segments=2,
        archive_bytes=1_190_000_000,
        disk_free_bytes=42_000_000_000,
        memory_bytes=181_000_000,
        errors=1,
        warnings=2,
        notices=NOTICES,
        recent=RECENT,
    )


def hostile_snapshot() -> Snapshot:
    return Snapshot(
        state=HOSTILE,
        state_detail=HOSTILE,
        directory=HOSTILE,
        rate_history=(0.0, 1.0),
        statuses={HOSTILE: 3},
        failures={HOSTILE: 3},
        refusals={HOSTILE: 3},
        bound=Bound(BoundName.FETCH, HOSTILE),
        budgets=(Budget("bytes", 5.0, 0.0),),
        notices=(Notice(0.0, "error", HOSTILE * 40),),
        recent=(Recent(0.0, "https://x.example/" + HOSTILE * 40, HOSTILE, 0.1, 10, HOSTILE),),
        seed_failures={HOSTILE: HOSTILE},
    )


def host(index: int, *, hostile: bool = False) -> HostView:
    name = HOSTILE if hostile else f"host{index}.example"
    return HostView(
        host=name,
        site=name,
        state=("ready", "resting", "waiting", "parked", "idle")[index % 5],
        why=HOSTILE if hostile else "it rests for another 0.8 s",
        fetched=4000 // (index + 1),
        failed=index * 3 % 17,
        pending=1000 * index % 777,
        bytes=90_000 * (4000 // (index + 1)),
        duplicates=index,
        response_s=0.05 * (index + 1),
        delay_s=1.0 + index / 3,
        robots=HOSTILE if hostile else ("rules", "allow: 404", "disallow: timeout")[index % 3],
        parked="8 timeouts in a row" if index % 5 == 3 else "",
        statuses={"200": 10, "404": 1},
        last_fetch=START,
    )


def report(*, hostile: bool = False) -> ReportData:
    hosts = tuple(host(index, hostile=hostile) for index in range(25))
    return ReportData(
        generated=START + 3725,
        version="0.1.0",
        seeds=("https://host0.example/", HOSTILE if hostile else "https://host1.example/start"),
        scope="site",
        snapshot=hostile_snapshot() if hostile else snapshot(),
        hosts=hosts,
        hosts_total=2310,
        slowest=tuple(reversed(hosts[-10:])),
        failing=tuple(view for view in hosts if view.parked),
        media_types={
            "text/html": (11_000, 900_000_000),
            "application/pdf": (210, 300_000_000),
            "text/plain": (44, 1_000_000),
            **({HOSTILE: (1, 1)} if hostile else {}),
        },
        languages={"en": 9_000, "de": 1_200, "fr": 300, **({HOSTILE: 1} if hostile else {})},
        depths={0: 2, 1: 120, 2: 2_400, 3: 6_000, 4: 3_000, 5: 823},
        response_ms=((25, 800), (50, 3_000), (100, 5_000), (250, 2_500), (1000, 900), (5000, 90), (math.inf, 12)),
        timeline=tuple(
            Slice(START + 60 * step, int(900 + 300 * math.sin(step / 5)), step % 9, 90_000_000) for step in range(62)
        ),
        slice_s=60.0,
        duplicates=(
            DuplicateView(
                original="https://host0.example/", copies=41, kind="exact", example="https://host0.example/index.html"
            ),
            DuplicateView(original=HOSTILE if hostile else "https://host3.example/a", copies=12, kind="near"),
        ),
        errors={"digest-timeout": 2, "digest-crash": 1},
    )


def empty_report() -> ReportData:
    return ReportData(generated=START, version="0.1.0")


def event(**changes: object) -> FetchEvent:
    base = FetchEvent(
        time=START + 1.5,
        url="https://example.com/a b",
        key="com,example)/a%20b",
        host="example.com",
        site="example.com",
        kind=Kind.PAGE,
        started=START + 1.25,
        status=200,
        media_type="text/html",
        wire_bytes=1_300,
        payload_bytes=1_000,
        elapsed_ms=212.4,
        depth=2,
        via="com,example)/",
        address="192.0.2.1",
        payload_digest="sha1:MNPAZKXH7ZCYQ3VXWIMMCOPYW4WYQHCS",
        pointer=Pointer("GOSSAMER-20260101000000-00000-1.warc.gz", 512, 1_700),
        links_found=12,
        links_admitted=7,
        refused={"scope-outside": 5},
    )
    fields = {name: getattr(base, name) for name in base.__struct_fields__}
    return FetchEvent(**{**fields, **changes})  # type: ignore[arg-type]


def robots_event() -> FetchEvent:
    return event(kind=Kind.ROBOTS, url="https://example.com/robots.txt", depth=0, via="")


def explanation(*, hostile: bool = False) -> Explanation:
    text = HOSTILE if hostile else "allowed by line 4 of https://example.com/robots.txt"
    return Explanation(
        url=f"https://example.com/a?utm_source=x{HOSTILE if hostile else ''}",
        key="com,example)/a",
        verdict="It was fetched 2 times and is due again on 2026-01-31.",
        mark="ok",
        known=True,
        steps=(
            Step(
                "canonical form", "ok", "https://example.com/a", (("removed", "utm_source"), ("key", "com,example)/a"))
            ),
            Step("scope", "ok", "in the site of the seed https://example.com/"),
            Step("traps", "ok", "depth 2 of 16, no guard fires"),
            Step("robots.txt", "ok", text, (("rule", "Allow: /a"),)),
            Step("queue", "wait", "place 3 of level 2 of its host"),
            Step("last visit", "note", "200, 4.0 KiB, unchanged"),
            Step("type", "no", text),
        ),
        visits=(
            Visit(
                time=START + 86_400,
                status=304,
                revisit=True,
                digest="sha1:AAA",
                segment="b.warc.gz",
                offset=9,
                length=7,
            ),
            Visit(time=START, status=200, media_type="text/html", bytes=4_000, digest="sha1:AAA", segment="a.warc.gz"),
        ),
    )
