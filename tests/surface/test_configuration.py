"""Configuration: what is written reads back equal, and every bad value is named with what is allowed."""

from __future__ import annotations

import typing
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from gossamer.model.config import Config
from gossamer.model.errors import ConfigError, UsageError
from gossamer.surface import settings
from gossamer.surface.kinds import Choice, quote
from gossamer.surface.options import FLAGS, SECTIONS


def test_every_option_of_the_configuration_has_its_key() -> None:
    sections = {field.name: field.default for field in msgspec.structs.fields(Config)}
    assert set(SECTIONS) == set(sections) - {"seeds", "directory"}
    for name, options in SECTIONS.items():
        fields = {field.name: field for field in msgspec.structs.fields(type(sections[name]))}
        assert [option.field for option in options] == list(fields)
        for option in options:
            if isinstance(option.kind, Choice):
                assert option.kind.words == typing.get_args(fields[option.field].type)
            default = fields[option.field].default
            assert option.kind.read(typing.cast("object", _toml(option.kind.write(default)))) == default


def _toml(text: str) -> object:
    import tomllib

    return tomllib.loads(f"x = {text}")["x"]


def test_flags_name_options() -> None:
    known = {f"{name}.{option.key}" for name, options in SECTIONS.items() for option in options}
    assert set(FLAGS) <= known


def test_defaults_need_no_file() -> None:
    assert settings.load(None, seeds=["https://a.example/"], directory="there") == Config(
        seeds=("https://a.example/",), directory="there"
    )


DESIGN = """[identity]
product = "Gossamer"
contact = "https://example.org/bot"
from = "bot@example.org"
[scope]
mode = "any"
exclude = ["*/private/*"]
surts = ["org,example,"]
[limits]
pages = 5
depth = 3
duration = "1h30m"
bytes = "5GB"
site_pages = 7
[politeness]
min_delay = "500ms"
response_factor = 5
max_delay = 30
crawl_delay_max = "300s"
[fetch]
total_timeout = "30s"
connect_timeout = "10s"
first_byte_timeout = "20s"
max_body = "5MiB"
proxy = "socks5://127.0.0.1:1080"
[robots]
ttl = "24h"
unparseable = "allow"
[net]
allow = ["127.0.0.0/8"]
[dns]
nameservers = ["127.0.0.1:5353", "::1", "[::1]:53"]
hosts_file = "hosts"
[frontier]
slots = 100
discovery_share = 0.25
[refresh]
policy = "poisson"
min_interval = "1h"
max_interval = "90d"
[archive]
segment_size = "1GiB"
digest = "sha1"
[workers]
count = 2
"""


def test_keys_of_the_design(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text(DESIGN)
    (tmp_path / "hosts").write_text("127.0.0.1 a.example\n")
    config = settings.load(path)
    assert config.identity.sender == "bot@example.org"
    assert config.limits.duration_s == 5400.0
    assert config.limits.bytes == 5_000_000_000
    assert config.politeness.min_delay_s == 0.5
    assert config.politeness.max_delay_s == 30.0
    assert config.politeness.response_factor == 5.0
    assert config.fetch.max_body_bytes == 5 * 2**20
    assert config.dns.hosts_file == str(tmp_path / "hosts")
    assert config.dns.nameservers == ("127.0.0.1:5353", "::1", "[::1]:53")
    assert config.refresh.max_interval_s == 90 * 86_400.0
    assert config.archive.segment_bytes == 2**30


BAD = [
    ("[fech]\nx = 1", ["fech", "did you mean fetch?"]),
    ("[fetch]\nmax_boddy = 1", ["fetch.max_boddy", "did you mean fetch.max_body?"]),
    ("[robots]\nmin_delay = 1", ["robots.min_delay", "politeness.min_delay"]),
    ("pages = 3", ["pages", "limits.pages"]),
    ("zzzz = 3", ["zzzz", "identity", "seeds"]),
    ("fetch = 3", ["fetch", "[fetch]"]),
    ("[fetch]\nmax_body = true", ["fetch.max_body = true", "10MiB"]),
    ("[fetch]\nmax_body = '10 parsecs'", ["10 parsecs", "10MiB"]),
    ("[fetch]\nmax_body = 1.5", ["1.5", "bytes"]),
    ("[fetch]\nretries = 1.0", ["fetch.retries = 1.0", "whole number"]),
    ("[fetch]\nretries = '1'", ['fetch.retries = "1"', "whole number"]),
    ("[fetch]\ncookies = 1", ["fetch.cookies", "true or false"]),
    ("[fetch]\ntypes = 'image/'", ["fetch.types", "list"]),
    ("[fetch]\ntypes = [1]", ["fetch.types", "not a text"]),
    ("[fetch]\ntypes = ['image']", ["image", "media type"]),
    ("[fetch]\nproxy = 'ftp://x:1'", ["ftp://x:1", "socks5"]),
    ("[fetch]\nproxy = 'http://x'", ["http://x", "port"]),
    ("[fetch]\nproxy = 'http://x:99999'", ["99999"]),
    ("[fetch]\naccept = 'a\\nb'", ["fetch.accept", "identity.accept"]),
    ('[identity]\naccept = "a\\r\\nX-Evil: 1"', ["identity.accept", "U+000D"]),
    ("[identity]\ncontact = 'call me'", ["call me", "mail address"]),
    ("[identity]\ncontact = 'ftp://a.example/'", ["ftp://a.example/", "http"]),
    ("[identity]\nproduct = ''", ["identity.product"]),
    ("[identity]\nproduct = 'My Bot/1.0'", ["My Bot/1.0", "letters"]),
    ("[identity]\nfrom = 'nobody'", ["nobody", "mail address"]),
    ("[limits]\npages = 0", ["limits.pages = 0", "from 1"]),
    ("[limits]\nduration = '-1s'", ["-1s", "duration"]),
    ("[limits]\nduration = nan", ["nan", "duration"]),
    ("[scope]\nmode = 'galaxy'", ["galaxy", '"site"']),
    ("[scope]\nmode = 'any'", ["identity.contact", "--contact"]),
    ("[scope]\nexclude = ['a b']", ["a b", "scope.exclude"]),
    ("[scope]\nsurts = ['COM,Example']", ["COM,Example", "SURT"]),
    ("[net]\nallow = ['127.0.0.1/8']", ["127.0.0.1/8", "host bits"]),
    ("[net]\nallow = ['everything']", ["everything", "net.allow"]),
    ("[dns]\nnameservers = ['example.com']", ["example.com", "IP address"]),
    ("[dns]\nnameservers = ['127.0.0.1:0']", ["127.0.0.1:0"]),
    ("[dns]\nhosts_file = 'absent'", ["absent", "no file"]),
    ("[politeness]\nmin_delay = '2m'", ["politeness.min_delay", "politeness.max_delay"]),
    ("[refresh]\nmin_interval = '91d'", ["refresh.min_interval", "refresh.max_interval"]),
    ("[frontier]\ndiscovery_share = 1.01", ["1.01", "from 0 to 1"]),
    ("seeds = 'https://a.example/'", ["seeds", "list"]),
    ("seeds = ['https://a.example/', 'ftp://b.example/']", ["seeds[1]", "ftp://b.example/"]),
    ("seeds_file = 'absent.txt'", ["absent.txt"]),
    ("x = [", ["TOML"]),
    ("[fetch]\nproxy = '\\x1b]0;x'", ["fetch.proxy"]),
]


@pytest.mark.parametrize(("text", "named"), BAD)
def test_bad_configuration_is_named(tmp_path: Path, text: str, named: list[str]) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        settings.load(path)
    message = str(caught.value)
    assert [word for word in named if word not in message] == []
    assert "bad.toml" in message
    assert message.isprintable()


def test_a_file_that_is_not_there_or_not_text(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"absent\.toml"):
        settings.load(tmp_path / "absent.toml")
    with pytest.raises(ConfigError, match="cannot be read"):
        settings.load(tmp_path)
    (tmp_path / "b.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        settings.load(tmp_path / "b.toml")
    (tmp_path / "deep.toml").write_text("x = " + "[" * 100_000)
    with pytest.raises(ConfigError, match="TOML"):
        settings.load(tmp_path / "deep.toml")


def test_overrides_win_and_name_their_flag(tmp_path: Path) -> None:
    path = tmp_path / "c.toml"
    path.write_text("[limits]\npages = 5\n")
    assert settings.load(path, {"limits.pages": 9}).limits.pages == 9
    assert settings.load(path, {"limits.pages": "none"}).limits.pages is None
    with pytest.raises(UsageError, match=r'--pages "many" is not allowed; it must be a whole number'):
        settings.load(path, {"limits.pages": "many"})
    with pytest.raises(ConfigError, match=r"limits\.page;"):
        settings.load(path, {"limits.page": 1})


def _values() -> st.SearchStrategy[Config]:
    seconds = st.integers(1, 10**8).map(lambda ms: ms / 1000)
    words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), max_size=20)
    limits = st.builds(
        lambda pages, depth, duration, size: msgspec.structs.replace(
            Config().limits, pages=pages, depth=depth, duration_s=duration, bytes=size
        ),
        st.none() | st.integers(1, 10**9),
        st.integers(0, 1000),
        st.none() | seconds.filter(lambda value: value >= 1),
        st.none() | st.integers(1, 10**12),
    )
    return st.builds(
        lambda limits, low, more, share, exclude, cookies: Config(
            limits=limits,
            politeness=msgspec.structs.replace(
                Config().politeness,
                min_delay_s=min(low, 86_400.0),
                max_delay_s=min(low + more, 86_400.0),
                response_factor=share * 10,
            ),
            frontier=msgspec.structs.replace(Config().frontier, discovery_share=share),
            scope=msgspec.structs.replace(Config().scope, exclude=tuple(exclude)),
            fetch=msgspec.structs.replace(Config().fetch, cookies=cookies),
            seeds=("https://a.example/", "https://b.example/?q=%22"),
        ),
        limits,
        seconds,
        seconds,
        st.floats(0, 1),
        st.lists(
            words.map(lambda word: "*/" + "".join(c for c in word if c.isascii() and c not in " *#") + "/*"), max_size=3
        ),
        st.booleans(),
    )


@hypothesis_settings(deadline=None, max_examples=100)
@given(config=_values())
def test_what_is_written_reads_back_equal(tmp_path_factory: pytest.TempPathFactory, config: Config) -> None:
    path = tmp_path_factory.mktemp("c") / "gossamer.toml"
    path.write_text(settings.dump(config), encoding="utf-8")
    assert settings.load(path) == config


@hypothesis_settings(deadline=None, max_examples=200)
@given(st.text(st.characters(codec="utf-8"), max_size=60))
def test_quoted_text_is_toml(text: str) -> None:
    assert _toml(quote(text)) == text


def test_many_seeds_are_kept_in_a_file_of_their_own(tmp_path: Path) -> None:
    seeds = tuple(f"https://host{number}.example/" for number in range(1_500))
    config = Config(seeds=seeds, directory=str(tmp_path))
    settings.save(config)
    assert len((tmp_path / "seeds.txt").read_text().splitlines()) == 1_500
    assert settings.load(tmp_path / "gossamer.toml", directory=str(tmp_path)) == config
    assert sorted(path.name for path in tmp_path.iterdir()) == ["gossamer.toml", "seeds.txt"]


def test_changes_are_told() -> None:
    old = Config(seeds=("https://a.example/",))
    new = msgspec.structs.replace(
        old,
        seeds=("https://a.example/", "https://b.example/"),
        scope=msgspec.structs.replace(old.scope, mode="host"),
        limits=msgspec.structs.replace(old.limits, pages=5),
    )
    assert settings.changes(old, old) == []
    assert settings.changes(old, new) == [
        "seeds: 1 new, 0 no longer given (first new one: https://b.example/)",
        'scope.mode: "site" -> "host"',
        'limits.pages: "none" -> 5',
    ]
