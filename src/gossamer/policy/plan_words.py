"""Capacity planning, the words: titles, labels, units and formulas of every figure and table that a plan has."""

from __future__ import annotations

from types import MappingProxyType
from typing import Final

import msgspec

from gossamer.model.plan import Unit

Column = tuple[str, Unit]


class Words(msgspec.Struct, frozen=True):
    """What a section is called and what its figures and tables say."""

    title: str
    remark: str
    figures: dict[str, tuple[str, Unit, str]]  # label, unit, formula, by key
    tables: dict[str, tuple[str, tuple[Column, ...]]] = {}  # title and columns, by key


WORDS: Final = MappingProxyType({
    "volume": Words("Pages and bandwidth", "", {
        "pages_per_day": ("Pages a day", "pages", "pages a month / 30"),
        "pages_per_s_average": ("Pages a second, average", "pages/s", "pages a day / 86,400"),
        "pages_per_s_peak": ("Pages a second, peak", "pages/s", "average × peak factor"),
        "wire_bytes_per_day": ("Received a day", "bytes", "pages a day × bytes of a page"),
        "bits_per_s_average": ("Bandwidth, average", "bits/s", "average pages/s × bytes × 8"),
        "bits_per_s_peak": ("Bandwidth, peak", "bits/s", "peak pages/s × bytes × 8"),
        "nic_share_peak": ("Share of one network card, peak", "share", "peak bandwidth / one card"),
        "nics_needed": ("Network cards", "", "peak bandwidth / card / utilisation"),
    }),
    "storage": Words("Storage", "", {
        "stored_page_bytes": ("A page at rest", "bytes", "bytes received / stored ratio"),
        "stored_bytes_per_s": ("Written, average", "bytes/s", "average pages/s × bytes at rest"),
        "stored_bytes_per_day": ("Stored a day", "bytes", "pages a day × bytes at rest"),
        "stored_bytes_per_month": ("Stored a month", "bytes", "a day × 30"),
        "stored_bytes_per_year": ("Stored a year", "bytes", "a day × 365"),
        "stored_bytes_replicated": ("A year with all copies", "bytes", "a year × replication"),
        "stored_bytes_kept": ("All that is kept, one copy", "bytes", "a year × years kept"),
        "raw_bytes_per_month": ("A month as received", "bytes", "pages × bytes received"),
        "segment_s": ("One process fills a WARC file in", "seconds", "file size / (bytes written / processes)"),
    }),
    "politeness": Words("Politeness", "Throughput is hosts in flight / period. Machines are not in it.", {
        "gap_s": ("Pause after a fetch", "seconds", "max(gap, response factor × fetch time)"),
        "period_s": ("Between two pages of one host", "seconds", "fetch time + pause"),
        "pages_per_s_per_host": ("One host gives", "pages/s", "1 / period"),
        "pages_per_day_per_host": ("One host gives a day", "pages", "86,400 / period"),
        "hosts_needed": ("Hosts in flight at the peak", "hosts", "peak pages/s × period"),
        "hosts_usable": ("Hosts that can be in flight", "hosts", "min(hosts ready, slots)"),
        "usable_pages_per_s": ("They give at most", "pages/s", "hosts / period"),
        "slots_headroom": ("Slots over hosts needed", "times", "slots / hosts"),
        "site_days": ("One big site takes", "days", "pages × period"),
        "site_years": ("The same in years", "years", "days / 365"),
        "delayed_period_s": ("Period under Crawl-delay", "seconds", "fetch time + Crawl-delay"),
        "delayed_pages_per_s": ("Such a host gives", "pages/s", "1 / period"),
        "delayed_days": ("A site under it takes", "days", "pages × period"),
        "shared_by_name": ("A shared address, keyed on names, gets", "requests/s", "names on it × pages/s of one host"),
        "shared_by_address": ("The same, keyed on the address", "requests/s", "1 / period"),
    }, {
        "hosts": ("What hosts in flight give", (
            ("hosts in flight", "hosts"), ("pages a second", "pages/s"), ("pages a day", "pages"),
        )),
    }),
    "machines": Words("Connections, cores, messages", "", {
        "sockets": ("Connections kept at the peak", "sockets", "one for each host in flight"),
        "requests_in_progress": ("Requests in progress", "sockets", "peak × fetch time"),
        "socket_processes": ("Processes for the connections", "processes", "connections / connections of one process"),
        "process_pages_per_s": ("One process fetches, peak", "pages/s", "peak / processes"),
        "cores_demand": ("Cores busy at the peak", "cores", "peak pages/s × processor time"),
        "cores_needed": ("Cores to have for that", "cores", "busy / utilisation"),
        "render_all_cores": ("Cores if every page had a browser", "cores", "peak × browser time"),
        "render_ratio": ("A browser costs, over parsing", "times", "browser time / processor time"),
        "renders_at_once": ("Pages open in browsers, peak", "renders", "peak × share rendered × time open"),
        "render_cores": ("Cores for these browsers", "cores", "peak × share rendered × browser time"),
        "render_machines": ("Machines for these browsers", "machines", "pages open / pages of a machine / utilisation"),
        "event_bytes_per_s": ("Fetch messages, peak", "bytes/s", "peak × message"),
        "event_bytes_average": ("Fetch messages, average", "bytes/s", "average × message"),
        "link_bytes_per_s": ("Link messages, average", "bytes/s", "average × links × bytes of a link"),
    }),
    "frontier": Words(
        "Frontier", "Above that novelty the queue grows without end: what comes next matters, not when it ends.", {
        "break_even_novelty": ("Novelty at which it stays as it is", "share", "1 / links of a page"),
        "frontier_added": ("URLs added by a page", "URLs", "links × novelty"),
        "frontier_net": ("Net growth by a page", "URLs", "added - the one fetched"),
        "frontier_month": ("Net growth a month", "URLs", "pages × net growth"),
        "new_urls_per_day": ("New URLs a day", "URLs", "pages a day × added"),
        "links_per_day": ("Links found a day", "URLs", "pages a day × links"),
        "links_distinct_per_day": ("Left after canonical form", "URLs", "links × (1 - share made equal)"),
        "lookups_avoided_per_day": ("Look-ups it saves a day", "URLs", "links × share made equal"),
    }),
    "seen": Words(
        "Seen-set", "A false positive of a filter that alone decides is a page never fetched, and nothing logs it.", {
        "bloom_hashes": ("Hash functions", "", "bits for each key × ln 2"),
        "bloom_clear": ("Bits still clear when full", "share", "e^-(hashes / bits)"),
        "bloom_false_positive": ("False positives", "share", "(1 - clear)^hashes"),
        "bloom_bytes": ("Memory", "bytes", "URLs × bits / 8"),
        "bloom_shard_bytes": ("Memory of one shard", "bytes", "memory / shards"),
        "bloom_lost": ("Pages silently lost in one pass", "pages", "URLs × false positives"),
        "bloom_lean_lost": ("The same with the lean filter", "pages", "URLs × its false positives"),
        "bloom_extra_bytes": ("Memory over the lean filter", "bytes", "URLs × (bits - lean bits) / 8"),
        "bloom_recovered": ("Pages that memory wins back", "pages", "lost by lean - lost"),
        "bloom_recovered_per_gb": ("Pages for each GB of it", "pages", "won back / memory"),
        "bloom_overfull": ("False positives when overfull", "share", "same hashes, bits / overfill"),
        "bloom_cliff": ("The cliff: worse by", "times", "overfull / false positives"),
        "bloom_bits_for": ("Bits for the wanted rate", "bits/key", "-ln rate / (ln 2)²"),
        "bloom_bytes_for": ("Memory for the wanted rate", "bytes", "URLs × these bits / 8"),
        "lookups_per_s": ("Look-ups at the peak", "lookups/s", "peak pages/s × links"),
        "lookups_per_s_shard": ("Look-ups of one shard, average", "lookups/s", "average pages/s × links / shards"),
        "lookup_devices": ("Devices if each look-up reads one", "", "look-ups / reads a second"),
        "exact_bytes": ("Exact set of URLs", "bytes", "URLs × bytes of a key"),
        "exact_over_bloom": ("Over the filter", "times", "exact set / filter"),
        "exact_latency": ("A read over a memory reference", "times", "100 µs / 100 ns"),
        "exact_reads": ("New URLs that pay it behind the filter", "share", "false positives"),
        "prints_bytes": ("Set of 8-byte fingerprints", "bytes", "URLs × 8"),
        "prints_shard_bytes": ("The same, one shard", "bytes", "set / shards"),
        "url_table_bytes": ("URL table", "bytes", "URLs × bytes of a row"),
        "host_table_bytes": ("Host ledgers", "bytes", "hosts × bytes of a ledger"),
    }, {
        "bloom": ("Bits for each key", (
            ("bits", "bits/key"), ("hashes", ""), ("false positives", "share"), ("memory", "bytes"),
            ("lost in a pass", "pages"),
        )),
    }),
    "duplicates": Words("Near-duplicates", "", {
        "near_only_share": ("Copies no exact hash finds", "share", "near copies - exact copies"),
        "near_only_pages": ("Fetches a month for them", "pages", "pages a month × share"),
        "near_only_days": ("Days a month spent on them", "days", "30 × share"),
        "near_only_bytes": ("Stored a month for them", "bytes", "fetches × bytes at rest"),
        "index_extra_bytes": ("Index, over that of 4 tables", "bytes", "index - index of 4 tables"),
        "comparisons_removed": ("Comparisons it removes, peak", "comparisons/s", "peak pages/s × candidates saved"),
        "index_writes": ("Index writes, average", "writes/s", "average pages/s × tables"),
        "simhash_bytes": ("All fingerprints", "bytes", "fingerprints × 8"),
        "minhash_bytes": ("As MinHash signatures", "bytes", "fingerprints × hashes × 4"),
        "minhash_ratio": ("MinHash over simhash", "times", "hashes × 4 / 8"),
    }, {
        "simhash": ("Index of 64-bit fingerprints, distance 3", (
            ("blocks", ""), ("tables", "tables"), ("key bits", "bits"), ("candidates, one table", ""),
            ("candidates, all", ""), ("comparisons at peak", "comparisons/s"), ("index", "bytes"),
        )),
    }),
    "traps": Words("Trap guards", "The budget of a site forces breadth, and breadth is speed.", {
        "branching": ("New pages that a page reveals", "pages", "links × novelty"),
        "depth_of_corpus": ("Depth that reaches the corpus", "links", "log corpus / log new pages"),
        "depth_of_million": ("Depth that reaches a million of them", "links", "log (corpus × 1e6) / log new pages"),
        "depth_slack": ("The depth cap reaches, over the corpus", "times", "new pages^depth / corpus"),
        "url_guard": ("Longest URL over the median", "times", "longest / median"),
        "host_pages_per_day": ("One host can give a day", "pages", "86,400 / period"),
        "budget_days": ("Days until a site's budget is spent", "days", "budget × period"),
        "budget_hosts": ("Sites that fill a month", "hosts", "pages a month / budget of a site"),
    }, {"depth": ("Pages within reach", (("depth", "links"), ("pages", "pages")))}),
    "robots": Words("robots.txt", "Each fetch takes a turn of the host it protects.", {
        "robots_uncached": ("Fetches without a cache", "requests/day", "one for each page"),
        "robots_shared": ("With one cache", "requests/day", "hosts a day × 86,400 / time it is good"),
        "robots_saving": ("One cache saves", "times", "without / with"),
        "robots_per_process": ("With a cache in each process", "requests/day", "one cache × processes"),
        "robots_inflation": ("Over one cache", "times", "in each / one"),
        "robots_per_s": ("One cache, a second", "requests/s", "a day / 86,400"),
        "robots_share_peak": ("Of the peak rate of pages", "share", "a second / peak pages/s"),
        "robots_turns": ("Of all turns of the hosts", "share", "robots.txt / (robots.txt + pages)"),
    }),
    "dns": Words("Names", "The load matters less than the blocking: ask many at once.", {
        "dns_per_day": ("Look-ups a day", "requests/day", "hosts a day × 86,400 / time an address is good"),
        "dns_per_s": ("Look-ups a second", "lookups/s", "a day / 86,400"),
        "dns_hit_rate": ("Answered by the cache", "share", "1 - look-ups / pages a day"),
        "dns_uncached_per_s": ("Look-ups without a cache, average", "lookups/s", "one for each page"),
        "dns_blocking": ("Load of one blocking resolver", "share", "look-ups × latency / 86,400"),
        "dns_behind": ("It falls behind, each day", "hours", "(load - 1) × 24"),
        "dns_in_flight": ("Look-ups under way, peak", "requests", "a second × peak factor × latency"),
    }),
    "refresh": Words(
        "Refreshing", "A 304 saves bytes, never a turn of the host. Visits in proportion to change are a bad split.", {
        "discovery_pages_per_s": ("Left for discovery, average", "pages/s", "average × (1 - share of refreshes)"),
        "corpus_months": ("The corpus is complete after", "months", "corpus / (pages a month × share of discovery)"),
        "refreshes_per_day": ("Refreshes a day", "pages", "pages a day × share of refreshes"),
        "revisit_days": ("A page of it is visited every", "days", "corpus / refreshes a day"),
        "not_modified_saving": ("A 304 is cheaper by", "times", "bytes of a page / bytes of a 304"),
        "not_modified_bits_per_s": ("Bandwidth it saves, peak", "bits/s", "peak × refreshes × unchanged × saved × 8"),
        "split_proportional": ("Freshness of two, in proportion", "", "F(fast) + F(slow), of 2"),
        "split_uniform": ("Freshness of two, evenly", "", "F(fast) + F(slow), of 2"),
        "split_optimal": ("Freshness of two, at best", "", "the best of 1,001 splits"),
        "split_uniform_gain": ("Evenly over in proportion", "times", "evenly / in proportion"),
        "split_optimal_gain": ("At best over evenly", "times", "at best / evenly"),
    }, {
        "freshness": ("Freshness by changes between two visits", (("changes", "changes"), ("fresh", "share"))),
        "splits": ("One fetch a day for a fast page and a slow one", (
            ("split", ""), ("to the fast page", "share"), ("fast is fresh", "share"), ("slow is fresh", "share"),
            ("total", ""),
        )),
    }),
})  # fmt: skip
