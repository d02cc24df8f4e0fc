"""Scrapy on a list of hosts: `python scrapy_crawl.py SEEDS`. Runs in an environment of its own (`make peers`).

A CrawlSpider that follows every link of its hosts and does nothing else, robots.txt obeyed, one request a host at a
time, no delay: the settings under which Scrapy does least.
"""

from __future__ import annotations

import sys
from pathlib import Path
from urllib.parse import urlsplit

from scrapy.crawler import CrawlerProcess
from scrapy.http import Response
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule


class Follow(CrawlSpider):
    """Follows links."""

    name = "follow"
    rules = (Rule(LinkExtractor(), callback="seen", follow=True),)

    def seen(self, response: Response) -> None:
        """A page; nothing is made of it."""


def main() -> None:
    """Crawl until nothing is left."""
    seeds = Path(sys.argv[1]).read_text().split()
    process = CrawlerProcess(
        {
            "ROBOTSTXT_OBEY": True,
            "CONCURRENT_REQUESTS": 100,
            "CONCURRENT_REQUESTS_PER_DOMAIN": 1,
            "DOWNLOAD_DELAY": 0,
            "LOG_LEVEL": "ERROR",
            "TELNETCONSOLE_ENABLED": False,
            "COOKIES_ENABLED": False,
            "RETRY_ENABLED": False,
        }
    )
    process.crawl(Follow, start_urls=seeds, allowed_domains=[urlsplit(seed).hostname for seed in seeds])
    process.start()


if __name__ == "__main__":
    main()
