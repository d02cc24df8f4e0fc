"""Every bound that is not configuration, with its name and default, in one place."""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB
GIB: Final = 1024 * MIB

# URLs and links
URL_MAX_BYTES: Final = 1_000  # 15 x the median length of 66
SEED_URL_MAX_BYTES: Final = 2_083
URL_INPUT_MAX_CHARS: Final = 16 * KIB  # longer inputs are refused unparsed
HOST_CACHE_MAX: Final = 8_192  # origins whose host, site and key prefix are remembered; ~600 bytes each
LINKS_PER_PAGE_MAX: Final = 10_000
SITEMAP_URLS_MAX: Final = 50_000
SITEMAP_MAX_BYTES: Final = 50 * MIB
SITEMAP_INDEX_DEPTH_MAX: Final = 3
SITEMAPS_PER_HOST_MAX: Final = 1_000
SITEMAPS_UNDER_WAY_MAX: Final = 128  # from turn to commit: together no longer than the pages in flight may be
FEEDS_PER_HOST_MAX: Final = 4  # that pages link to; of some sites each page has one of its own
FEEDS_PER_PAGE_MAX: Final = 8
HINTS_PER_SITEMAP_MAX: Final = 1_000  # pages that one reading of a sitemap can bring forward, newest dates first
PING_URLS_MAX: Final = 1_000  # of one ping, and of one host waiting for its key
PINGS_PER_HOST_DAY_MAX: Final = 1_000  # URLs of one host that pings may bring forward
PING_HOSTS_MAX: Final = 1_000  # whose key is waited for
SPOOL_FILES_MAX: Final = 1_000  # handed to a crawl and not yet read
HINTS_UNPROVEN_MAX: Final = 10  # pages brought forward at once on the word of a host without a record
REDIRECTS_MAX: Final = 10
SHAPE_MAX_CHARS: Final = 200  # longer shapes are told apart by their beginning only
SCOPE_PATTERN_MAX_CHARS: Final = 1_000  # an include or exclude pattern, a SURT prefix
SCOPE_PATTERN_STARS_MAX: Final = 32

# Takedowns and commands
TAKEDOWNS_MAX: Final = 100_000  # kept in the exclusion list, lifted ones too
TAKEDOWN_TEXT_MAX_CHARS: Final = 1_000  # of a reason, a ticket, a name
EXCLUSIONS_MAX_BYTES: Final = 256 * MIB
CONTROL_MESSAGE_MAX_BYTES: Final = 32 * MIB  # of a command or an answer: bodies that external fetchers bring, in base64
CONTROL_CONNECTIONS_MAX: Final = 64  # to the control socket at once
ADDED_URLS_MAX: Final = 10_000  # offered to the frontier by one command
SEEDS_AT_ONCE_MAX: Final = 10_000  # added by one command
LEASES_MAX: Final = 1_000  # held by external fetchers at once
LEASED_AT_ONCE_MAX: Final = 256  # that one request of a fetcher may ask for
LEASED_BODY_MAX_BYTES: Final = 20 * MIB  # that an external fetcher may bring: in base64 it fits into a message
LEASE_GRACE_S: Final = 10.0  # after the time that an exchange may take
LEASE_WAIT_MAX_S: Final = 30.0
NOTIFICATIONS_MAX: Final = 1_000  # on their way to the operator; more are counted and dropped
SWEPT_AT_ONCE_MAX: Final = 100  # rows changed in one commit of a takedown: their hosts and copies fit into memory
SWEPT_SCANNED_MAX: Final = 2_000  # rows looked at for them; some 10 ms

# robots.txt (RFC 9309 section 2.5: at least 500 KiB)
ROBOTS_MAX_BYTES: Final = 500 * KIB
ROBOTS_CODED_MAX_BYTES: Final = ROBOTS_MAX_BYTES + 64 * KIB  # what does not compress grows a little in its coding
ROBOTS_REDIRECTS_MAX: Final = 5
ROBOTS_LINE_MAX_BYTES: Final = 8 * 2_083 - 1  # as Google's parser: the rest of a longer line is ignored
ROBOTS_WILDCARD_BYTES_MAX: Final = 32 * KIB  # pattern parts after the first `*`, per group: bounds one decision
CRAWL_DELAY_READ_MAX_S: Final = 1e6  # larger values are read as this

# Politeness
RETRY_AFTER_MAX_S: Final = 86_400.0  # honoured in full up to here
BACKOFF_BASE_S: Final = 10.0  # after the first failure; doubled by each further one in a row
BACKOFF_MAX_S: Final = 6 * 3_600.0
BACKOFF_JITTER: Final = 0.25  # share by which a back-off is lengthened at random
SLOW_HOST_S: Final = 10.0  # p99 of the response time above which a host is slow
SLOW_SLOTS_SHARE: Final = 0.1  # of the fetch slots that slow hosts may use
GCRA_BURST: Final = 5  # requests that a /24 or AS bucket lets through at once

# Page directives and network tables
DIRECTIVES_MAX_CHARS: Final = 8 * KIB  # of one X-Robots-Tag value or meta content
NETWORK_LINES_MAX: Final = 5_000_000  # of a CDN or AS table; all announced routes are about 1.3 million
NETWORK_LINE_MAX_CHARS: Final = 4 * KIB

# HTTP heads
HEAD_MAX_BYTES: Final = 256 * KIB
HEADER_COUNT_MAX: Final = 500
HEADER_LINE_MAX_BYTES: Final = 64 * KIB
INTERIM_RESPONSES_MAX: Final = 16  # 1xx responses before the real one
CHUNK_LINE_MAX_BYTES: Final = 4 * KIB  # chunk size with its extensions
CHUNK_OVERHEAD_MAX_BYTES: Final = 1 * MIB  # framing beyond as many bytes as the body itself may have
TRAILER_MAX_BYTES: Final = 16 * KIB
CONTENT_CODINGS_MAX: Final = 4
GZIP_MEMBERS_MAX: Final = 1_000
ZSTD_WINDOW_MAX_BYTES: Final = 8 * MIB  # RFC 9659
DECODE_RATIO_MAX: Final = 100
DECODE_RATIO_GRACE_BYTES: Final = 1 * MIB  # the ratio is judged only past this many decoded bytes

# Connections
IDLE_CONNECTIONS_MAX: Final = 2_000
IDLE_CONNECTION_S: Final = 90.0  # longer than the longest computed gap (60 s)
HANDSHAKE_MAX_BYTES: Final = 1 * MIB  # received unread while a proxy or TLS is being set up
TLS_SESSIONS_MAX: Final = 2_000
TLS_HOSTS_MAX: Final = 20_000  # hosts remembered as needing a lenient or unverified handshake
TLS_HOST_MEMORY_S: Final = 24 * 3600.0

# DNS
DNS_CACHE_MAX: Final = 100_000
DNS_ADDRESSES_MAX: Final = 16  # of one name
DNS_TRIES: Final = 2
DNS_IN_FLIGHT_MAX: Final = 256
DNS_PROBE_S: Final = 2.0  # for the question whether a silent nameserver is there at all
DNS_DOUBTFUL_S: Final = 5.0  # how long a failure to find out is kept (RFC 9520 section 3.2): less than any back-off
HOSTS_FILE_MAX_BYTES: Final = 16 * MIB

# Frontier
LEVELS: Final = 10
LEVEL_WEIGHTS: Final = (40, 20, 12, 8, 6, 5, 4, 2, 2, 1)  # per cent; level 0 is the highest
PENDING_PER_HOST_MAX: Final = 100_000
SITE_HOSTS_MAX: Final = 10_000  # host names of one site that links may bring in: a wildcard name has no end of them
LANE_RESIDENTS_MAX: Final = 64  # active hosts of one address that hold a slot
MISSING_MAX: Final = 3  # 404s in a row after which a page is looked for once more
HOST_QUANTUM: Final = 50  # turns a host keeps its slot while others wait
REFRESHES_QUEUED_MAX: Final = 64  # of one host; what is due beyond waits in the order of its worth
LATENESS_KEPT: Final = 100_000  # refreshes whose lateness is remembered; beyond, the past counts half
UNCOMMITTED_PER_HOST_MAX: Final = 8  # pages of one host between fetch and commit

# Digest
DIGEST_PENDING_MAX: Final = 64  # pages handed to workers or waiting for one
TITLE_MAX_CHARS: Final = 500
TEXT_MAX_CHARS: Final = 2 * MIB  # main text that is compared
NESTING_MAX: Final = 5_000  # open elements; the parser's time grows with the square of it
DIGEST_JOBS_PER_WORKER_MAX: Final = 48  # sent and not yet answered
DIGEST_EXTRA_MAX: Final = 32  # values that digest hooks return for one page
DIGEST_EXTRA_MAX_CHARS: Final = 4 * KIB  # each
DIGEST_SYNC_JOBS: Final = 48  # pages written before a worker syncs its segment
DIGEST_SYNC_S: Final = 0.05  # ... or as soon as this much time has passed

# Links between hosts
LINK_HOSTS_PER_PAGE_MAX: Final = 200  # other hosts that one page is taken to lead to; those after them are counted
LINK_LOG_PAIRS_MAX: Final = 20_000  # pairs of hosts a worker gathers before it writes them
LINK_LOG_FRAME_MAX_BYTES: Final = 64 * MIB  # of a link log, decompressed: twice the pairs with the longest names
LINK_TOLD_MAX: Final = 100_000  # votes remembered as told to the core, in each of two generations
RANK_HOSTS_MAX: Final = 20_000_000  # in the graph of `gossamer rank`; ~150 bytes each
RANK_EDGES_MAX: Final = 50_000_000  # in the same graph; ~70 bytes each while it is read

# Commit
COMMIT_GROUP_S: Final = 0.05
LINES_UNSYNCED_MAX: Final = 5_000  # committed and not yet durable; nothing more is fetched then: 10 s at full speed

# Archive
WARC_RECORD_MAX_BYTES: Final = 512 * MIB  # one record, decompressed
WARC_HEADER_MAX_BYTES: Final = 64 * KIB
WARC_URI_MAX_BYTES: Final = 16 * KIB  # half of what common readers take for a whole record header
WARC_FIELDS_MAX: Final = 64  # metadata fields of one page
WARC_FIELD_MAX_CHARS: Final = 8 * KIB
SEGMENT_CAPTURES_MAX: Final = 200_000  # index lines of an open segment held in memory
