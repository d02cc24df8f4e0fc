"""Whether a visit costs the archive a record in full or one that refers to an earlier capture.

How the records are written is `adapters.warc.records`'.
"""

from __future__ import annotations

from typing import Final

from gossamer.model.page import Job, Original

EMPTY_DIGEST: Final = "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ"  # of no bytes at all: no capture of it is referred to


def revisit_of(job: Job) -> Original | None:
    """The earlier capture that the job's record will refer to, or None when it will be a response in full."""
    original = job.original
    if original is None or not original.digest or original.digest == EMPTY_DIGEST:
        return None
    if job.revisit == "not-modified":
        return original
    return original if job.revisit == "identical" and job.payload else None
