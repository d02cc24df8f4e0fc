"""Installed distributions with hooks, and a pool of real workers."""

from __future__ import annotations

import asyncio
import importlib
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.adapters.digest.pool import DigestPool
from gossamer.model.config import Archive, Config, Scope, Workers
from gossamer.policy.scope import compile_scope
from tests.support.hooks import put

Install = Callable[[str, dict[str, str]], None]
Run = Callable[..., Any]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Install]:
    """Put a distribution with entry points on the import path: `install(code, {group: "name = module:object"})`."""
    site = tmp_path / "site-packages"
    site.mkdir()
    monkeypatch.syspath_prepend(str(site))
    modules: list[str] = []

    def install_one(code: str, points: dict[str, str]) -> None:
        name = f"gossamer_dummy_{len(modules)}"
        modules.append(name)
        put(site, name, code, points)
        importlib.invalidate_caches()

    yield install_one
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Run a coroutine function with a started pool, and close the pool after it."""

    def with_pool(
        body: Callable[[DigestPool], Awaitable[Any]],
        *,
        workers: Workers | None = None,
        segment_bytes: int = 1 << 30,
        close: bool = True,
    ) -> Any:
        config = Config(workers=workers or Workers(count=2), archive=Archive(segment_bytes=segment_bytes))

        async def main() -> Any:
            pool = DigestPool(config, compile_scope(Scope(mode="any"), ()), tmp_path / "archive", time.time)
            await pool.start()
            try:
                return await asyncio.wait_for(body(pool), 60)
            finally:
                if close:
                    await pool.close()

        return asyncio.run(main())

    return with_pool
