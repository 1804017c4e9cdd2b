"""What `progress=True` shows: a bar of tqdm's where it is installed, else one of our own on stderr."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Optional, Union

Callback = Callable[[str, float], Optional[bool]]
Progress = Union[None, bool, Callback]


class _OwnBar:
    """A line on stderr, written anew at most ten times a second and wiped at the end."""

    def __init__(self) -> None:
        self._last = 0.0
        self._shown = False

    def __call__(self, step: str, fraction: float) -> None:
        now = time.monotonic()
        if now - self._last < 0.1:
            return
        self._last = now
        self._shown = True
        filled = int(min(max(fraction, 0.0), 1.0) * 30)
        sys.stderr.write(f"\r\033[K[{'#' * filled}{'-' * (30 - filled)}] {step}")
        sys.stderr.flush()

    def close(self) -> None:
        if self._shown:
            sys.stderr.write("\r\033[K")
            sys.stderr.flush()


class _TqdmBar:
    """A bar of 100 per step."""

    def __init__(self, tqdm: Any) -> None:
        self._bar = tqdm(total=100, bar_format="{l_bar}{bar}| {elapsed}", leave=False)

    def __call__(self, step: str, fraction: float) -> None:
        self._bar.n = round(100 * min(max(fraction, 0.0), 1.0))
        self._bar.set_description(step)

    def close(self) -> None:
        self._bar.close()


@contextmanager
def callback_of(progress: Progress) -> Iterator[Any]:
    """A function for the compiled part, or None."""
    if progress is None or progress is False:
        yield None
        return
    if progress is not True:
        yield progress
        return
    bar: Union[_OwnBar, _TqdmBar]
    try:
        from tqdm.auto import tqdm  # type: ignore[import-untyped,unused-ignore]

        bar = _TqdmBar(tqdm)
    except ImportError:
        bar = _OwnBar()
    try:
        yield bar
    finally:
        bar.close()
