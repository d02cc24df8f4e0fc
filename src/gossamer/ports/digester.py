"""Archive and parse of a response, in another process."""

from __future__ import annotations

from typing import Protocol

from gossamer.model.page import Digest, Job


class Digester(Protocol):
    """Takes jobs, returns digests whose records are durable."""

    async def digest(self, job: Job) -> Digest:
        """Archive and parse one response. A worker that dies or hangs yields a Digest with `error` set whose
        record was written by another worker without parsing; the call itself does not raise for content.
        The Digest has the job's id, which need not be unique. What the machine lacks for a moment is waited for. Raises
        DiskFullError when the archive has no room, StoreError when it cannot be written: no page is to blame for that,
        GossamerError when the digester is closed or cannot work at all.
        """
        ...

    def load(self) -> int:
        """Jobs accepted and not yet answered."""
        ...

    async def close(self) -> None:
        """Finish what was accepted, close the segments, end the processes. Closing again does nothing."""
        ...
