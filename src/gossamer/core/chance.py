"""Randomness as an argument."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol


class Chance(Protocol):
    """A source of random numbers; `random.Random` is one."""

    def random(self) -> float:
        """A number in [0, 1)."""
        ...


def weighted(chance: Chance, items: Sequence[int], weights: Sequence[int]) -> int:
    """One of `items`, each with the probability of its weight. Never strict priority, so that no level starves."""
    point = chance.random() * sum(weights)
    for item, weight in zip(items, weights, strict=True):
        point -= weight
        if point < 0:
            return item
    return items[-1]
