"""Starts the program so that it is killed at a chosen point: inside a write, around a sync, a rename or a commit.

    python launch.py crawl ...          with KILL_AT="ROLE POINT HOW NUMBER VICTIM" in the environment

ROLE is `main` or `worker`; POINT a function below; HOW is `before`, `half` or `after`; NUMBER counts the calls of the
point in that process; VICTIM is `self`, `parent` (a worker that takes the crawl with it) or `group`. Workers get here
through `sitecustomize`. Nothing of the product knows of this.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

SPEC = "KILL_AT"
NOTE = "KILL_NOTE"  # file for the lengths of the write-ahead logs at the last sync
HERE = Path(__file__).parent


class Bomb:
    """Goes off at the chosen call of the chosen point."""

    def __init__(self, spec: str) -> None:
        self.role, self.point, self.how, number, self.victim = spec.split()
        self.left = int(number)

    def calls(self, point: str) -> bool:
        """Whether this call is the one."""
        if point != self.point:
            return False
        self.left -= 1
        return self.left == 0

    def go_off(self) -> None:
        """End: nothing after this runs."""
        if self.victim == "parent":
            os.kill(os.getppid(), signal.SIGKILL)
        if self.victim == "group":
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def wrap(self, point: str, real: Callable[..., Any], half: Callable[..., Any] | None = None) -> Callable[..., Any]:
        """A function that goes off before, in the middle of, or after the call."""

        def call(*arguments: Any, **named: Any) -> Any:
            if not self.calls(point):
                return real(*arguments, **named)
            if self.how == "half" and half is not None:
                half(*arguments, **named)
            elif self.how == "after":
                real(*arguments, **named)
            return self.go_off()

        return call


def arm_system(bomb: Bomb) -> None:
    """Calls of the operating system, by which segments, indexes, the log and small files are written."""
    pwrite, write, fsync = os.pwrite, os.write, os.fsync

    def half_pwrite(fd: int, data: Any, position: int) -> None:
        pwrite(fd, memoryview(data)[: len(data) // 2], position)

    def half_write(fd: int, data: Any) -> None:
        write(fd, memoryview(data)[: len(data) // 2])

    def half_draft(fd: int) -> None:
        os.truncate(fd, os.fstat(fd).st_size // 2)

    draft = bomb.wrap("draft", fsync, half_draft)

    def any_fsync(fd: int) -> None:
        """What is in a draft is there by half; other files hold what was durable long ago."""
        is_draft = Path(f"/proc/self/fd/{fd}").readlink().suffix in {".new", ".part", ".tmp"}
        (draft if is_draft else fsync)(fd)

    os.pwrite = bomb.wrap("pwrite", pwrite, half_pwrite)
    os.write = bomb.wrap("write", write, half_write)
    os.fsync = any_fsync
    os.fdatasync = bomb.wrap("fdatasync", os.fdatasync)
    os.ftruncate = bomb.wrap("ftruncate", os.ftruncate)
    os.rename = bomb.wrap("rename", os.rename)
    os.replace = bomb.wrap("replace", os.replace)
    os.unlink = bomb.wrap("unlink", os.unlink)


def arm_store(bomb: Bomb) -> None:
    """Commits and their syncs."""
    from gossamer.adapters.rocksdb import RocksStore

    real_sync, noted = RocksStore.sync, os.environ.get(NOTE)

    def sync(store: RocksStore) -> None:
        """Notes how long the write-ahead log was before, since so much of it is durable after."""
        logs = {path.name: path.stat().st_size for path in store._path.glob("*.log")}
        real_sync(store)
        if noted:
            Path(noted).write_text(json.dumps(logs))

    RocksStore.write = bomb.wrap("commit", RocksStore.write)  # type: ignore[method-assign]
    RocksStore.sync = bomb.wrap("sync", sync)  # type: ignore[method-assign]
    RocksStore.close = bomb.wrap("close", RocksStore.close)  # type: ignore[method-assign]


def main() -> int:
    """The program, armed."""
    bomb = Bomb(os.environ[SPEC]) if os.environ.get(SPEC) else None
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE / "site"), os.environ.get("PYTHONPATH", "")])
    sys.path.insert(0, str(HERE / "site"))  # workers get their path from here
    if bomb is not None and bomb.role == "main":
        arm_store(bomb)
        arm_system(bomb)
    from gossamer.__main__ import main as program

    return program()


if __name__ == "__main__":
    sys.exit(main())
