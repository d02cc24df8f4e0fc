"""Threads for work that would keep the event loop waiting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor


def one_thread(name: str) -> ThreadPoolExecutor:
    """A pool of one thread, which runs already.

    A thread that is started when memory has run out may end before it says that it began, and whoever started it waits
    for that for good (`threading.Thread.start`, Python 3.11).
    """
    pool = ThreadPoolExecutor(1, thread_name_prefix=name)
    pool.submit(int).result()
    return pool
