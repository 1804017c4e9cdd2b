"""Plain types that the compiled part hands out."""

from __future__ import annotations

from typing import Any, Literal, Union

Kind = Literal["usage", "input", "output", "unusable", "interrupted"]


class Error(Exception):
    """What went wrong, in a sentence that names the object, what was found and what was expected.

    kind is 'usage' (an option outside its range, or options that exclude each other), 'input' (a file or an array that
    cannot be accepted), 'output' (a result that cannot be written), 'unusable' (a solve that ended without a usable
    model, or needs more memory than allowed) or 'interrupted' (the caller asked to stop).
    """

    kind: Kind

    def __init__(self, sentence: str, kind: Kind = "usage") -> None:
        super().__init__(sentence)
        self.kind = kind

    def __reduce__(self) -> tuple[type[Error], tuple[str, Kind]]:
        return Error, (str(self), self.kind)


Error.__module__ = "sinew"  # where users find it, and what tracebacks say


class Report(dict[str, Any]):
    """Facts about a rig, by name: a dict whose text is short."""

    def __repr__(self) -> str:
        parts = []
        for name, value in self.items():
            if isinstance(value, float):
                parts.append(f"{name}: {value:.4g}")
            elif isinstance(value, (str, int)) and value != "":
                parts.append(f"{name}: {value}")
            elif isinstance(value, dict) and "e_rms" in value:
                parts.append(f"{'E_RMS' if name == 'errors' else name + ' E_RMS'}: {value['e_rms']:.4g}")
            elif name == "bytes":
                parts.append(f"bytes: {value['after']}")
            elif isinstance(value, dict) and "solve" in value:
                parts.append(f"seconds: {value['solve']:.3g}")
            elif name == "iterations":
                parts.append(f"iterations: {len(value)}")
        return f"Report({', '.join(parts)})"


def check_word(name: str, word: object, words: tuple[str, ...]) -> None:
    """Refuses what is none of these words."""
    if not isinstance(word, str):
        raise TypeError(f"{name}: {word!r} was given, text is expected")
    if word not in words:
        expected = ", ".join(repr(known) for known in words[:-1]) + f" or {words[-1]!r}"
        raise Error(f"{name}: {word!r} was given, {expected} is expected", "usage")


def bytes_of(name: str, size: Union[int, str, None]) -> float:
    """A size with K, M, G or T (powers of 1024) behind it, or none, in bytes; 0 for None."""
    if size is None:
        return 0.0
    text = str(size).strip()
    power = "KMGT".find(text[-1:].upper()) + 1 if text else 0
    try:
        value = float(text[:-1] if power else text) * 1024.0**power
    except ValueError:
        value = -1.0
    if not 0 < value < 2**63:
        raise Error(f"{name}: {size!r} was given, bytes or a size such as '4G' is expected", "usage")
    return value
