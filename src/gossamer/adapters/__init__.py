"""One file or package per engine: RocksDB, HTTP, DNS, WARC, digest workers, clock."""
