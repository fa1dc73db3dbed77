"""Durations as Go writes them: `5s`, `1m30s`, `300ms`."""

from __future__ import annotations

import re
from typing import Any, ClassVar, Final, Self

from entresol.errors import MalformedValue
from entresol.primitives.values import excerpt

_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "μs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3_600.0}  # fmt: skip
_PART: Final = re.compile(r"([0-9]{1,12}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(ns|us|µs|μs|ms|s|m|h)")
_WHOLE: Final = re.compile(rf"(?:{_PART.pattern}){{1,8}}")


class GoDuration(float):
    """A duration in seconds."""

    __slots__ = ()

    json_schema: ClassVar[dict[str, Any]] = {"type": "string"}

    @classmethod
    def parse(cls, value: object) -> Self:
        """Read numbers with units, one after another."""
        if not isinstance(value, str) or _WHOLE.fullmatch(value) is None:
            raise MalformedValue(
                f"invalid duration {excerpt(str(value))!r}: it is like 5s or 300ms"
            )
        return cls(sum(float(number) * _UNITS[unit] for number, unit in _PART.findall(value)))

    def to_json(self) -> str:
        """Return the duration in seconds."""
        return f"{float(self):g}s"
