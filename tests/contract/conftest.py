"""Contract suites: each port of `gossamer.ports` has one suite here, which every adapter and every fake passes.

| port | suite | adapters | fakes |
| --- | --- | --- | --- |
| Clock | test_clock | SystemClock | VirtualClock |
| Store | test_store | RocksStore | MemoryStore, JournalStore |
| ArchiveReader | test_archive | warc.reader.Reader | none: only commands read records back |
| Digester | test_digester | DigestPool with real workers | SimDigester |
| Web | test_web | HttpClient with real sockets | SimNet |
| Resolver | test_resolver | DnsResolver with a real nameserver | SimResolver |
| Control | test_control | the operator of a crawl, ControlClient (socket), Crawl (directory) | FakeControl |

A suite asks for what the port's docstrings promise, no less and no more; what one adapter does beyond that is tested
in its own area. A port that is used asynchronously has *worlds* (`webs`, `resolvers`, `digesters`, `controls`): a world
makes a described server, zone, disk or crawl, real or simulated, and runs a test's coroutine there. So a fake cannot be
kinder than the thing that it stands for, and a fault that a test finds in one of them is looked for in all.
`test_every_port` sees to it that no port is left out.
"""

from __future__ import annotations

from tests.digest.conftest import install

__all__ = ["install"]
