"""A web that lives: what its hosts show at first, and how they change under a crawl that goes on.

`begin` and `turn` are the two moments; test_living_site.py says what must come of each rule.
"""

from __future__ import annotations

import ssl

import trustme

from tests.support.living import FAILING, GONE, MISSING, Page, Site, article, links, moved
from tests.support.nginx import can_bind
from tests.support.web import Web

MIRRORED = 24
ABUSERS = 14
TWINS = 6
FORMS = (("plain", "secure"), ("apex", "www"))
LATER = ("/later1", "/later2")  # of the twins: found when the forms are known to be the same
SITEMAP = '<?xml version="1.0"?><urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{}</urlset>'
KEY = "fedcba9876543210"
SOFT = Page(article("Page not found", "<p>We looked everywhere.</p>"))
HOSTS = ("news", "copies", "soft", "ailing", "origin", "mirror", "canon", "abuse", "liar")


def dated(*entries: tuple[str, str]) -> Page:
    """A sitemap: (URL, lastmod)."""
    body = "".join(f"<url><loc>{url}</loc><lastmod>{date}</lastmod></url>" for url, date in entries)
    return Page(SITEMAP.format(body), media_type="application/xml")


class LivingWeb:
    """The hosts by name, `front` what their URLs begin with."""

    def __init__(self, web: Web) -> None:
        """Serve what there is at first."""
        self.sites = {name: Site() for name in HOSTS}
        self.front = {name: web.add(f"{name}.example", site.serve) for name, site in self.sites.items()}
        self.has_twins = can_bind("127.90.0.10", 80) and can_bind("127.90.0.10", 443) and can_bind("127.90.0.12", 80)
        if self.has_twins:
            self._add_twins(web)
        self._begin()

    def _add_twins(self, web: Web) -> None:
        """One site under http and https, one under www and without. No port may stand in their URLs."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate = trustme.CA().issue_cert("twin.example")
        certificate.configure_cert(context)
        names = {"plain": "twin.example", "secure": "twin.example", "apex": "pair.example", "www": "www.pair.example"}
        plain, secure, apex = Site(), Site(), Site()
        self.sites |= {"plain": plain, "secure": secure, "apex": apex, "www": apex}
        web.add("twin.example", plain.serve, port=80)
        address = web.addresses["twin.example"]
        web.serve_at(secure.serve, address, 443, context)
        web.add("pair.example", apex.serve, names=("www.pair.example",), port=80)
        self.front |= {name: f"http{'s' * (name == 'secure')}://{host}" for name, host in names.items()}

    def url(self, name: str, target: str) -> str:
        """A URL of a host."""
        return self.front[name] + target

    def seeds(self) -> list[str]:
        """The front page of every host."""
        return [f"{front}/" for front in self.front.values()]

    def _begin(self) -> None:
        pages = {name: site.pages for name, site in self.sites.items()}
        fixed = {target: Page(article(target)) for target in ("/changing", "/same", "/lost", "/lost410", "/moving")}
        pages["news"] |= fixed | {
            "/restyled": Page(article("/restyled", "<!-- 09:00 -->")),
            "/tagged": Page(article("/tagged"), tagged=True),
            "/home": Page(article("/home"), tagged=True),
            "/back": Page(article("/back")),
            "/turn-a": moved("/turn-b"),
            "/turn-b": moved("/turn-a"),
            "/long-gone": moved("/home"),
        }
        pages["news"]["/"] = Page(article("news", links(*pages["news"])), tagged=True)
        same = Page(article("told three times", links("/told")))
        pages["copies"] |= {
            "/": Page(article("copies", links("/original", "/first", "/second")), tagged=True),
            "/original": same,
            "/first": same,
            "/second": same,
            "/told": Page(article("/told"), tagged=True),
        }
        pages["soft"] |= {
            "/": Page(article("soft", links("/here"))),
            "/here": Page(article("/here")),
            "/robots.txt": Page("User-agent: *\nDisallow:\n", media_type="text/plain"),
        }
        self.sites["soft"].other = SOFT
        pages["ailing"] |= {"/": Page(article("ailing"))}
        numbered = [f"/page{n:02}" for n in range(MIRRORED)]
        shown = {target: Page(article(f"mirrored {target}"), tagged=True) for target in numbered}
        for name in ("origin", "mirror"):
            pages[name] |= shown | {"/": Page(article(name, links(*numbered)), tagged=True)}
        self._begin_canonicals()
        self._begin_liar()
        if self.has_twins:
            self._begin_twins()

    def _begin_canonicals(self) -> None:
        canon, abuse = self.sites["canon"].pages, self.sites["abuse"].pages
        head = f'<link rel="canonical" href="{self.url("canon", "/article")}">'
        canon |= {
            "/": Page(article("canon", links("/print", "/article")), tagged=True),
            "/print": Page(article("/article", head=head)),
            "/article": Page(article("/article", head=head, extra="<!-- on the screen -->")),
        }
        abusers = {f"/bait{n:02}": Page(article(f"/bait{n:02}", head=head), tagged=True) for n in range(ABUSERS)}
        abuse |= abusers | {"/": Page(article("abuse", links(*abusers)), tagged=True)}

    def _begin_liar(self) -> None:
        """Its sitemap has dates that can be no page's."""
        targets = [f"/item{n}" for n in range(4)]
        dates = ("2199-01-01", "1970-01-01", "2150-05-05", "1980-01-01")
        liar = self.sites["liar"].pages
        liar |= {target: Page(article(f"liar {target}"), tagged=True) for target in targets}
        liar["/"] = Page(article("liar", links(*targets)), tagged=True)
        liar["/sitemap.xml"] = dated(
            *((self.url("liar", target), date) for target, date in zip(targets, dates, strict=True))
        )
        robots = f"User-agent: *\nAllow: /\nSitemap: {self.url('liar', '/sitemap.xml')}\n"
        liar["/robots.txt"] = Page(robots, media_type="text/plain")

    def _begin_twins(self) -> None:
        targets = [f"/p{n}" for n in range(TWINS)]
        for first, second in FORMS:
            both = [self.url(name, target) for target in targets for name in (first, second)]
            shown = {target: Page(article(f"{first} {target}"), tagged=True) for target in (*targets, *LATER)}
            shown["/"] = Page(article(first, links(*both)), tagged=True)
            self.sites[first].pages |= shown
            self.sites[second].pages |= shown

    def find_later(self) -> None:
        """The twins lead to further pages, each in both forms."""
        for first, second in FORMS if self.has_twins else ():
            late = [self.url(name, target) for target in LATER for name in (first, second)]
            for name in (first, second):
                pages = self.sites[name].pages
                pages["/"] = Page(pages["/"].body.replace("</main>", links(*late) + "</main>"))

    def turn(self) -> None:
        """What every host has become."""
        news = self.sites["news"].pages
        news |= {
            "/changing": Page(article("/changing, and no longer as it was")),
            "/restyled": Page(article("/restyled", "<!-- 10:00 -->")),
            "/lost": MISSING,
            "/lost410": GONE,
            "/moving": moved("/home"),
            "/back": moved("/home", "302 Found"),
        }
        self.sites["copies"].pages["/original"] = MISSING
        self.sites["soft"].pages["/here"] = SOFT
        self.sites["ailing"].pages["/"] = FAILING
        if self.has_twins:
            self.sites["secure"].pages["/p0"] = Page(article("secure, of its own"))

    def find_newest(self) -> None:
        """The forms of one site have parted, and lead to a page that is another in each."""
        newest = [self.url(form, "/newest") for form in ("plain", "secure")]
        for name in ("plain", "secure") if self.has_twins else ():
            self.sites[name].pages["/p1"] = Page(article("p1, later", links(*newest)))
            self.sites[name].pages["/newest"] = Page(article(f"newest of {name}"))
