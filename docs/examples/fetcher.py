"""A fetcher of its own for a crawl that is served: python fetcher.py http://127.0.0.1:8780 TOKEN. Standard library only.

Each lease is the right to make exactly one request until it expires. Redirects are not followed, nothing is tried again:
the crawl decides what comes next, by the same gaps, lanes and robots.txt as for its own requests.
"""

import base64
import http.client
import json
import socket
import sys
import time
import urllib.request
from urllib.parse import urlsplit

server, token = sys.argv[1:3]


def ask(method, path, body=None):
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(server + path, data, headers, method=method)) as answer:
        return answer.headers, json.loads(answer.read() or "[]")


def fetch(lease):
    url = urlsplit(lease["url"])
    kind = http.client.HTTPSConnection if url.scheme == "https" else http.client.HTTPConnection
    connection = kind(url.hostname, url.port, timeout=lease["timeout_s"])
    connection._create_connection = lambda place, *rest: socket.create_connection((lease["ip"], place[1]), *rest)
    try:
        connection.request("GET", "/" + lease["url"].split("/", 3)[3], headers=dict(lease["headers"]))
        answer = connection.getresponse()
        body = base64.b64encode(answer.read(lease["body_max_bytes"])).decode()
        return {"lease": lease["lease"], "status": answer.status, "headers": answer.getheaders(), "body": body}
    except (OSError, http.client.HTTPException) as error:
        return {"lease": lease["lease"], "failure": "connect", "failure_detail": str(error)}


while True:
    headers, leases = ask("GET", "/v1/frontier/lease?worker_id=example&n=8&wait_s=5")
    results = {"worker_id": "example", "results": [fetch(one) for one in leases]}
    print(ask("POST", "/v1/frontier/complete", results)[1]) if leases else time.sleep(int(headers["Retry-After"]))
