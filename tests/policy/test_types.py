"""What is not requested by its extension, and what is cut at the head by its type."""

from __future__ import annotations

import pytest

from gossamer.model.url import Url, parse
from gossamer.policy.types import unwanted_types, wanted_url


def wanted(text: str, *types: str) -> bool:
    url = parse(text)
    assert isinstance(url, Url)
    return wanted_url(url, types)


@pytest.mark.parametrize(
    "tail",
    [
        "", "a", "a.html", "a.HTM", "a.php", "a.pdf", "a.txt", "a.xml", "a.rss", "a.json", "a.doc", "a.odt",
        "a.epub", "a.ps", "v1.2", "python-3.11", "node.js/", "a.tar.gz/", "a?file=b.jpg", "a?b=.png",
        "index.php/File:Photo.jpg", "wiki/File:Photo.jpg", "wiki/Datei%3AFoto.png", "show.php/photo.jpg",
        "cgi-bin/img.cgi/a.gif", "view.aspx/a.zip", ".zip", "whois/example.com", "whois/example.com.au",
        "search.exe?q=1", "isapi.dll?x", "a.verylongextension", "jpg", "a;v=b.jpg",
    ],
)  # fmt: skip
def test_pages_and_documents_are_wanted(tail: str) -> None:
    assert wanted("http://example.zip/" + tail)


@pytest.mark.parametrize(
    "tail",
    [
        "a.jpg", "a.JPEG", "b/a.png?v=2", "a.gif#x", "a.svg", "a.webp", "a.ico", "a.mp3", "a.ogg", "a.mp4",
        "a.webm", "a.mov", "a.zip", "a.tar.gz", "a.tgz", "a.7z", "a.rar", "a.Z", "a.iso", "a.deb", "a.exe",
        "a.jar", "a.woff2", "a.ttf", "a.css", "a.min.js", "a.mjs", "a.b.c.jpg", "a.jpg;v=1", "%61.j%70g",
        "a.warc.gz", "php/a.jpg", "a.html/b.jpg",
    ],
)  # fmt: skip
def test_media_and_archives_are_not(tail: str) -> None:
    assert not wanted("http://example.com/" + tail)
    assert wanted("http://example.com/" + tail, "*")


def test_configured_types_are_wanted_again() -> None:
    assert wanted("http://example.com/a.png", "image/png")
    assert wanted("http://example.com/a.png", "IMAGE/PNG")
    assert not wanted("http://example.com/a.jpg", "image/png")
    assert wanted("http://example.com/a.jpg", "image/")
    assert not wanted("http://example.com/a.mp3", "image/")
    assert wanted("http://example.com/a.css", "text/css")
    assert not wanted("http://example.com/a.css", "image")


def cut(media_type: str, *types: str) -> bool:
    return media_type.startswith(unwanted_types(types))


@pytest.mark.parametrize(
    "media_type",
    [
        "image/png",
        "image/x-never-heard-of",
        "audio/mpeg",
        "video/mp4",
        "font/woff2",
        "application/zip",
        "application/gzip",
        "text/css",
        "text/javascript",
    ],
)
def test_types_cut_at_the_head(media_type: str) -> None:
    assert cut(media_type)
    assert not cut(media_type, "*")
    assert not cut(media_type, media_type)
    assert not cut(media_type, media_type.partition("/")[0] + "/")


@pytest.mark.parametrize(
    "media_type",
    [
        "text/html",
        "application/xhtml+xml",
        "text/plain",
        "application/pdf",
        "application/rss+xml",
        "application/xml",
        "application/json",
        "application/octet-stream",
        "",
    ],
)
def test_types_read(media_type: str) -> None:
    assert not cut(media_type)


def test_one_type_of_a_family() -> None:
    assert cut("image/jpeg", "image/png")
    assert cut("image/gif", "image/png")
    assert cut("audio/mpeg", "image/png")
    assert not cut("image/png", "image/png")
    assert all(text == text.lower() and text for text in unwanted_types(("image/png",)))
