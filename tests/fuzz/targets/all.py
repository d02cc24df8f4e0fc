"""The list of targets."""

from __future__ import annotations

from tests.fuzz.harness import Target
from tests.fuzz.targets.cdxj import CDXJ
from tests.fuzz.targets.decode import DECODE
from tests.fuzz.targets.headers import HEADERS
from tests.fuzz.targets.html import HTML
from tests.fuzz.targets.http import BODY, HEAD
from tests.fuzz.targets.robots import ROBOTS
from tests.fuzz.targets.sitemap import SITEMAP
from tests.fuzz.targets.url import URL
from tests.fuzz.targets.warc import WARC

TARGETS: dict[str, Target] = {
    target.name: target for target in (HEAD, BODY, ROBOTS, URL, HTML, CDXJ, SITEMAP, WARC, DECODE, HEADERS)
}
