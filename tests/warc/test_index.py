"""The index beside a segment, and its keys, which have to be those that pywb computes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.adapters.warc import cdxj
from gossamer.adapters.warc.parse import sha1
from gossamer.adapters.warc.surt import general, surt
from gossamer.model.errors import ArchiveError
from gossamer.model.page import Original, Pointer
from tests.support.warc import DATE, archive, by_warcio, make_job, make_writer

# As the Internet Archive's surt package (0.3.1), which pywb uses, maps them.
KEYS = [
    ("http://1.2.3.4/", "4,3,2,1)/"),
    ("http://[::1]:8080/a", "::1:8080)/a"),
    ("https://www.example.com:443/", "com,example)/"),
    ("http://www2.example.com/A/B/?b=2&a=1&A=3", "com,example)/a/b?a=1&a=3&b=2"),
    ("http://example.com/a//b/../c/./d/", "com,example)/a/c/d"),
    ("http://example.com/%7Efoo%2525/x%20y", "com,example)/~foo%25/x%20y"),
    ("http://example.com:8080/x?", "com,example:8080)/x"),
    ("http://example.com/?sid=0123456789abcdef0123456789abcdef&x=1", "com,example)/?x=1"),
    ("http://example.com/a;jsessionid=AB?x", "com,example)/a;jsessionid=ab?x"),
    ("http://example.com/é?q=%C3%A9%20z", "com,example)/%c3%a9?q=%c3%a9%20z"),
    ("http://xn--bcher-kva.example/", "example,xn--bcher-kva)/"),
    ("http://user:pw@example.com/", "com,example)/"),
    ("http://www.com/", "com)/"),
    ("http://example.com/?a&b=&c", "com,example)/?a&b=&c"),
    ("http://example.com", "com,example)/"),
    ("http://example.com/?", "com,example)/"),
    ("http://example.com/a?b#c", "com,example)/a?b"),
    ("http://ex_ample.com./", "com,ex_ample)/"),
    ("http://example.com/..//..", "com,example)/.."),
    ("https://example.com:80/", "com,example:80)/"),
    ("http://EXAMPLE.com/?cfid=1&cftoken=2&z=1", "com,example)/?z=1"),
    ("http://example.com/(a(0123456789abcdefghijklmn))/x.aspx?y", "com,example)/x.aspx?y"),
    ("http://a.example/?x=a+b%2Bc", "example,a)/?x=a+b+c"),
    ("http://a.example/?x=%26&y=%3D%23", "example,a)/?&x=&y==%23"),
    ("http://a.example/%23x%3Fy", "example,a)/%23x?y"),
    ("http://a.example/?&&b&a", "example,a)/?&&a&b"),
    ("http://0x7f.1/", "1,0x7f)/"),
    ("http://127.0.0.1:8080/p", "1,0,0,127:8080)/p"),
    ("http://a.example/x%0Ay%00z", "example,a)/x%0ay%00z"),
    ("http://a.example/?q=http://b.example/a//b", "example,a)/?q=http://b.example/a//b"),
    ("http://www.a.example/?phpsessid=0123456789abcdef0123456789abcdef", "example,a)/"),
    ("http://a.example/?ASPSESSIONIDABCDEFGH=ABCDEFGHIJKLMNOPQRSTUVWX&b=1", "example,a)/?b=1"),
    ("http://a.example/?xsid=0123456789abcdef0123456789abcdef", "example,a)/?x"),
    ("http://a.example/a/b/", "example,a)/a/b"),
    ("http://a.example/a/.", "example,a)/a"),
    ("http://a.example/a/..", "example,a)/"),
    ("http://a.example/%2e%2e/b", "example,a)/../b"),
    ("http://a.example/a%2fb", "example,a)/a/b"),
    ("http://a..example/", "example,a)/"),
    ("http://www1.www.a.example/", "example,a,www)/"),
    ("http://wwwx.a.example/", "example,a,wwwx)/"),
    ("http://a.example/%ff%FE", "example,a)/%ff%fe"),
    ("http://a.example//", "example,a)/"),
    ("http://localhost/", "localhost)/"),
    ("http://f:0/c", "f)/c"),
    ("http://a.example/%25252541", "example,a)/a"),
    ("http://a.example/?sid=0123456789ABCDEF0123456789abcdef", "example,a)/"),
    (
        "http://a.example/?SID=0123456789abcdef0123456789abcdeg0&x",
        "example,a)/?sid=0123456789abcdef0123456789abcdeg0&x",
    ),
    ("http://a.example/(0123456789abcdefghijklmn)/Page.ASPX", "example,a)/page.aspx"),
    ("http://a.example/?b=1&cfid=&cftoken=2", "example,a)/?b=1&cfid=&cftoken=2"),
    ("https://a.example:443", "example,a)/"),
    ("http://a.example:80?x", "example,a)/?x"),
]


def test_no_key_is_lost() -> None:
    assert len(KEYS) == 52


@given(
    st.sampled_from(["http", "https"]),
    st.text("wa1.:8043-", max_size=12),
    st.lists(st.text("aB./_~,", max_size=4), max_size=6).map("/".join),
)
def test_the_short_way_to_a_key_leads_to_the_same(scheme: str, authority: str, path: str) -> None:
    url = f"{scheme}://{authority}/{path}"
    assert surt(url) == general(url)


@pytest.mark.parametrize(("url", "key"), KEYS)
def test_keys_are_those_of_pywb(url: str, key: str) -> None:
    assert surt(url) == key


@given(st.text(max_size=80), st.sampled_from(["", "http://", "https://a.example/", "http://a.example/?"]))
def test_no_url_raises(text: str, start: str) -> None:
    key = surt(start + text)
    assert key.isascii()
    assert " " not in key
    assert key.isprintable()


def entries(path: Path) -> list[tuple[str, str, dict[str, str]]]:
    lines = (path.parent / (path.name + ".cdxj")).read_bytes().splitlines()
    assert lines == sorted(lines)
    parts = [line.decode("ascii").split(" ", 2) for line in lines]
    return [(key, timestamp, json.loads(rest)) for key, timestamp, rest in parts]


def test_the_index_names_every_response_and_revisit_that_can_be_replayed(tmp_path: Path) -> None:
    writer = make_writer(tmp_path)
    first = make_job(url="http://www.b.example/Z?b=2&a=1")
    one = writer.write(first, metadata={})
    original = Original(first.url, first.date, first.payload_digest, one)
    two = writer.write(make_job(url="http://a.example/", original=original, revisit="identical"), metadata={})
    chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    job = make_job(
        url="http://a.example/c", head_bytes=chunked, payload=b"x", framed=b"1\r\nx\r\n0\r\n\r\n", headers=()
    )
    three = writer.write(job, metadata={})
    head = b"HTTP/1.1 304 Not Modified\r\n\r\n"
    same = make_job(status=304, head_bytes=head, payload=b"", original=original, revisit="not-modified")
    writer.write(same, metadata={})
    writer.write(make_job(url="http://a.example/hidden"), metadata={}, noarchive=True)
    writer.close()
    path = tmp_path / one.segment
    found = entries(path)
    assert cdxj.scan(path).lines == [
        (tmp_path / f"{path.name}.cdxj").read_bytes().splitlines(keepends=True)[n] for n in (2, 0, 1)
    ]
    assert [key for key, _, _ in found] == ["example,a)/", "example,a)/c", "example,b)/z?a=1&b=2"]
    assert {timestamp for _, timestamp, _ in found} == {"20261130184500"}
    revisit, plain, response = (fields for _, _, fields in found)
    assert response == {
        "url": first.url,
        "mime": "text/html",
        "status": "200",
        "digest": first.payload_digest.removeprefix("sha1:"),
        "length": str(one.length),
        "offset": str(one.offset),
        "filename": one.segment,
    }
    assert (revisit["mime"], revisit["offset"], revisit["digest"]) == (
        "warc/revisit",
        str(two.offset),
        response["digest"],
    )
    assert (plain["mime"], plain["digest"], plain["offset"]) == ("unk", sha1(b"x")[5:], str(three.offset))


def test_reading_a_segment_gives_the_index_that_writing_gave(tmp_path: Path) -> None:
    jobs = [
        make_job(url="http://a.example/é x", date=DATE + 1),
        make_job(
            url="http://a.example/p", status=404, head_bytes=b"HTTP/1.1 404\r\ncontent-TYPE:  Image/PNG ; x\r\n\r\n"
        ),
        make_job(url="http://a.example/q", head_bytes=b"HTTP/1.1 200 OK\nContent-Type: a\x00b\n\n"),
    ]
    headers = [jobs[0].headers, (("content-type", "Image/PNG ; x"),), (("content-type", "a\0b"),)]
    jobs = [
        make_job(**{name: getattr(job, name) for name in ("url", "date", "status", "head_bytes")} | {"headers": h})
        for job, h in zip(jobs, headers, strict=True)
    ]
    path = archive(tmp_path, *jobs)
    index = tmp_path / (path.name + ".cdxj")
    written = index.read_bytes()
    assert [fields["mime"] for _, _, fields in entries(path)] == ["text/html", "image/png", "unk"]
    index.unlink()
    assert cdxj.build(path) == index
    assert index.read_bytes() == written
    assert [record.rec_type for record in by_warcio(path)].count("response") == len(written.splitlines()) == 3


def test_a_damaged_segment_gets_no_index(tmp_path: Path) -> None:
    path = archive(tmp_path, make_job())
    path.write_bytes(path.read_bytes()[:-3])
    (tmp_path / (path.name + ".cdxj")).unlink()
    with pytest.raises(ArchiveError, match="cut off"):
        cdxj.build(path)
    assert [found.name for found in tmp_path.iterdir()] == [path.name]


def test_values_from_the_web_stay_inside_their_json_string() -> None:
    line = cdxj.line(
        Pointer("s.warc.gz", 1, 2),
        uri='http://a.example/"},{"x":"',
        warc_date="2026-11-30T18:45:00.123456Z",
        mime=cdxj.media_type('text/html"\n'),
        status=0,
        digest="",
    )
    key, timestamp, rest = line.decode().split(" ", 2)
    assert (key, timestamp) == ('example,a)/"},{"x":"', "20261130184500")
    fields = json.loads(rest)
    assert line.count(b"\n") == 1
    assert (fields["mime"], fields["status"], fields["digest"]) == ("unk", "-", "-")
