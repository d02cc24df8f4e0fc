"""HTTP/1.1 exchanges: head parser, body framing, TLS, proxies, idle connections, and the client that joins them."""
