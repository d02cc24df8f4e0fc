"""What happens to segments whose writer is gone: cut back to what was committed, indexed, given their final name.

Runs before any writer of the directory starts, or for the one segment of a worker that died.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from gossamer.adapters import linklog
from gossamer.adapters.warc import cdxj, files, members
from gossamer.model.errors import ArchiveError


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """What recovery did to the segments of a directory. Names are without `.open`."""

    cut: dict[str, int] = {}  # name -> bytes beyond the committed length that were cut off
    finished: tuple[str, ...] = ()  # were open, now have their final name
    removed: tuple[str, ...] = ()  # held no committed record
    damaged: dict[str, str] = {}  # name -> what is wrong inside the committed length; kept as they are


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What recovery did to one segment."""

    cut_bytes: int = 0
    finished: bool = False
    removed: bool = False
    damage: str = ""


def cut(path: Path, keep_bytes: int) -> int:
    """Cut a segment back to its first `keep_bytes` bytes, durably; how many bytes went.

    Raises ArchiveError when it is shorter than that, missing, or being written by another process.
    """
    with files.owned(path) as fd:
        size_bytes = os.fstat(fd).st_size
        if size_bytes < keep_bytes:
            raise ArchiveError(f"{path.name} has {size_bytes} bytes, {keep_bytes} were committed")
        if size_bytes > keep_bytes:
            try:
                os.ftruncate(fd, keep_bytes)
                os.fsync(fd)
            except OSError as error:
                raise files.failure(error, path.name) from error
        return size_bytes - keep_bytes


def last_whole_member(path: Path) -> int:
    """Length in bytes up to the end of the last gzip member before the first that is damaged or cut off."""
    end = 0
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        for member in members.walk(fd):
            end = member.offset + member.length
    except ArchiveError:
        return end  # the question was where this happens
    finally:
        os.close(fd)
    return end


def finalize(path: Path) -> Path | None:
    """Index an open segment and give it its final name, durably; None when it held no visit and was deleted.

    Raises ArchiveError when it is in use, when its final name is taken, or when a record is damaged.
    """
    with files.owned(path):
        found = cdxj.scan(path)
        if found.error:
            raise ArchiveError(f"{path.name}: {found.error}")
        return _finish(path, found)


def missing(left_bytes: int, committed_bytes: int) -> str:
    """What a segment lacks, in words."""
    if not left_bytes:
        return f"missing: {committed_bytes} bytes were committed"
    return f"{left_bytes} bytes are left of {committed_bytes} committed"


def recover_segment(path: Path, committed_bytes: int | None) -> Outcome:
    """Recover one segment, open or finished, of which `committed_bytes` were committed (None: nothing is known).

    An open one is cut back and finished, or removed when nothing of it was committed. A finished one is cut back and
    indexed anew when it is longer than what was committed: its last page was written and never committed.
    What is missing is reported. Damage inside the committed length is reported and nothing is destroyed, save a last
    record without its end in a segment shorter than what was committed. Raises ArchiveError when the segment is in use.
    """
    if not path.exists():
        path = path.with_name(files.segment_name(path))  # its writer may have finished it just before it died
        if not path.exists():
            return Outcome(damage=missing(0, committed_bytes) if committed_bytes else "")
    is_open = path.name.endswith(files.OPEN)
    if committed_bytes is None and not is_open:
        return Outcome()
    keep_bytes = committed_bytes or 0
    if not keep_bytes:
        with files.owned(path):
            _remove(path)
        return Outcome(removed=True)
    size_bytes = path.stat().st_size
    if is_open:
        linklog.cut(path)
    damage = ""
    if size_bytes < keep_bytes:
        damage = missing(size_bytes, keep_bytes)
        whole_bytes = last_whole_member(path)
        cut_bytes = cut(path, whole_bytes)
        if not whole_bytes:
            return Outcome(cut_bytes=cut_bytes, damage=damage)
    else:
        cut_bytes = cut(path, keep_bytes)
    if not is_open and not cut_bytes and path.with_name(path.name + cdxj.SUFFIX).exists():
        return Outcome(damage=damage)
    with files.owned(path):
        found = cdxj.scan(path)
        final = _finish(path, found)
    return Outcome(
        cut_bytes=cut_bytes,
        finished=is_open and final is not None,
        removed=final is None,
        damage=damage or found.error,
    )


def recover_directory(directory: Path, committed: Mapping[str, int]) -> Report:
    """Recover every segment of a directory. `committed`: segment name -> bytes of it that commits refer to.

    Raises ArchiveError when a segment is being written by another process.
    """
    cut_bytes: dict[str, int] = {}
    damaged: dict[str, str] = {}
    finished: list[str] = []
    removed: list[str] = []
    paths = {files.segment_name(path): path for path in files.segments(directory)}
    for name in [*paths, *(name for name in committed if name not in paths)]:
        outcome = recover_segment(paths.get(name, directory / name), committed.get(name))
        if outcome.cut_bytes:
            cut_bytes[name] = outcome.cut_bytes
        if outcome.damage:
            damaged[name] = outcome.damage
        if outcome.finished:
            finished.append(name)
        if outcome.removed:
            removed.append(name)
    for draft in (*directory.glob(f"*{files.SUFFIX}{cdxj.DRAFT}"), *directory.glob(f"*{files.SUFFIX}*{files.PURGING}")):
        draft.unlink()
    return Report(cut=cut_bytes, finished=tuple(finished), removed=tuple(removed), damaged=damaged)


def _finish(path: Path, found: cdxj.Scan) -> Path | None:
    """Index and rename; the caller owns the file."""
    if not found.visits and not found.error:
        _remove(path)
        return None
    final = path.with_name(files.segment_name(path))
    if path != final and final.exists():
        raise ArchiveError(f"{path.name} cannot be finished: {final.name} exists")
    try:
        cdxj.save(final, found.lines)
        if path != final:
            path.rename(final)
        files.sync_directory(path.parent)
    except OSError as error:
        raise files.failure(error, path.name) from error
    return final


def _remove(path: Path) -> None:
    path.with_name(files.segment_name(path) + cdxj.SUFFIX).unlink(missing_ok=True)
    linklog.remove(path)
    path.unlink()
    files.sync_directory(path.parent)
