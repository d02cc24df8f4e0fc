"""The exclusion list: every takedown of a crawl, in a file beside its archive that travels with it.

The file is what makes a takedown: it is written first, by whichever process takes the order, whether the crawl runs or
not. A running crawl looks at it twice a second and when it is told to, one that starts looks before it asks anything;
who gives copies out looks each time. It is replaced as a whole, durably, under a lock. One that cannot be read stops
all of them: what it may say is not known.

Beside it stands the same as an access list of pywb, for replay (`accesslist`). It is closed before the list is, and
opened after it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, Literal

import msgspec

from gossamer.adapters.accesslist import access_list
from gossamer.model.errors import DiskFullError, StoreError
from gossamer.model.limits import EXCLUSIONS_MAX_BYTES, TAKEDOWNS_MAX
from gossamer.model.takedown import Step, Takedown
from gossamer.model.url import Url, parse
from gossamer.policy.takedown import TargetError, checked, compile_takedowns, covering

FILE_NAME: Final = "exclusions.json"
ACCESS_NAME: Final = "exclusions.aclj"
_LOCK_NAME: Final = "exclusions.lock"
Stamp = tuple[int, int, int]  # inode, size, modified
ABSENT: Final[Stamp] = (0, 0, 0)


class _File(msgspec.Struct, kw_only=True):
    format: Literal["gossamer exclusions"] = "gossamer exclusions"
    version: Literal[1] = 1
    takedowns: tuple[Takedown, ...] = ()


_decode: Final = msgspec.json.Decoder(_File).decode


class Exclusions:
    """The exclusion list of one archive."""

    def __init__(self, archive: Path) -> None:
        """`archive` is the directory of the segments; it need not be there."""
        self._archive = archive
        self._path = archive / FILE_NAME

    def stamp(self) -> Stamp:
        """What changes when the list does."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return ABSENT
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> tuple[Takedown, ...]:
        """All takedowns, the oldest first, lifted ones too. Raises StoreError when the list cannot be read."""
        try:
            with self._path.open("rb") as file:
                raw = file.read(EXCLUSIONS_MAX_BYTES + 1)
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise StoreError(self._unreadable(error.strerror or "it cannot be read")) from error
        try:
            found = _decode(raw).takedowns
            for takedown in found:
                if checked(takedown.target) != takedown.target:
                    raise StoreError(self._unreadable(f"the target of {takedown.id} is not in its normal form"))
        except (msgspec.MsgspecError, TargetError, UnicodeDecodeError) as error:
            raise StoreError(self._unreadable(str(error))) from error
        return found

    def edit(self, change: Callable[[tuple[Takedown, ...]], tuple[Takedown, ...]]) -> tuple[Takedown, ...]:
        """Replace the list by what `change` makes of it; durable when it returns. What `change` raises is passed on.

        Raises StoreError, DiskFullError.
        """
        try:
            with self._locked():
                before = self.read()
                after = change(before)
                if len(after) > TAKEDOWNS_MAX:
                    raise StoreError(f"{self._path}: more than {TAKEDOWNS_MAX:,} takedowns")
                if after != before:
                    self._say(access_list((*before, *after)))
                    self._replace(FILE_NAME, msgspec.json.format(msgspec.json.encode(_File(takedowns=after)), indent=1))
                self._say(access_list(after))
                return after
        except OSError as error:
            raise DiskFullError(f"{self._path}: the exclusion list cannot be written: {error.strerror}") from error

    def merge(self, told: Sequence[Takedown]) -> tuple[Takedown, ...]:
        """Add what the crawl has done about takedowns, and takedowns that it has and the list has not."""

        def change(before: tuple[Takedown, ...]) -> tuple[Takedown, ...]:
            mine = {takedown.id: takedown for takedown in told}
            merged = [_merged(kept, mine.pop(kept.id, kept)) for kept in before]
            return (*merged, *mine.values())

        return self.edit(change)

    def _say(self, access: str) -> None:
        """Bring the list for replay to this, if it says anything else."""
        path = self._archive / ACCESS_NAME
        data = access.encode()
        if not path.exists() or path.read_bytes() != data:
            self._replace(ACCESS_NAME, data)

    def _replace(self, name: str, data: bytes) -> None:
        part = self._archive / f"{name}.new"
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(self._archive / name)
        directory = os.open(self._archive, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        self._archive.mkdir(parents=True, exist_ok=True)
        with (self._archive / _LOCK_NAME).open("ab") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # held for milliseconds, by those who write the list
            yield

    def _unreadable(self, why: str) -> str:
        return (
            f"{self._path}: the exclusion list is damaged ({why}); "
            "until it is mended nothing is fetched and no copy is given out"
        )


class Gate:
    """Says whether a copy may be given out. Looks at the list again when it has changed."""

    def __init__(self, archive: Path) -> None:
        """`archive` is the directory of the segments."""
        self._list = Exclusions(archive)
        self._stamp: Stamp | None = None
        self._rules = compile_takedowns(())
        self._by_id: dict[str, Takedown] = {}

    def refusal(self, url: str) -> Takedown | None:
        """The takedown by which no copy of a URL is given out. Raises StoreError when the list cannot be read."""
        stamp = self._list.stamp()
        if stamp != self._stamp:
            self._by_id = {takedown.id: takedown for takedown in self._list.read()}
            self._rules = compile_takedowns(self._by_id.values())
            self._stamp = stamp
        if not self._rules:
            return None
        found = parse(url)
        return self._by_id.get(covering(self._rules, found)) if isinstance(found, Url) else None


def _merged(kept: Takedown, told: Takedown) -> Takedown:
    """The list says what was ordered, the crawl what was done."""
    steps = {(step.name, step.at): step for step in (*kept.steps, *told.steps)}
    ordered: tuple[Step, ...] = tuple(sorted(steps.values(), key=lambda step: step.at))
    return msgspec.structs.replace(kept, steps=ordered, last_request=max(kept.last_request, told.last_request))
