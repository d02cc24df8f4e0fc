"""Errors that end the program with one clear line, and the exit code each has."""

from __future__ import annotations

EXIT_OK = 0
EXIT_USAGE = 2
EXIT_DISK_FULL = 3
EXIT_CONFIG = 4
EXIT_STORE = 5
EXIT_NOTHING_FETCHED = 6
EXIT_VERIFY = 7
EXIT_MEMORY = 8
EXIT_WITHHELD = 9
EXIT_INTERNAL = 70
EXIT_INTERRUPTED = 130


class GossamerError(Exception):
    """An error a person can act on; its text is one line that names what, where and what is allowed."""

    exit_code = EXIT_INTERNAL


class UsageError(GossamerError):
    """A bad seed, option or argument."""

    exit_code = EXIT_USAGE


class ConfigError(GossamerError):
    """An unknown key or a bad value in the configuration."""

    exit_code = EXIT_CONFIG


class StoreError(GossamerError):
    """The state is damaged, of another version or in use; or state, archive or log cannot be written."""

    exit_code = EXIT_STORE


class DiskFullError(GossamerError):
    """No room is left for the state, the archive or the log."""

    exit_code = EXIT_DISK_FULL


class WithheldError(GossamerError):
    """A copy that is not given out: its URL is taken down."""

    exit_code = EXIT_WITHHELD


class ArchiveError(GossamerError):
    """A record is missing, cut off or does not match its digest."""

    exit_code = EXIT_VERIFY
