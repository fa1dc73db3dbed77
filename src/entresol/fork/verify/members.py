"""Members of what a remote responds, beside those that are proven: what differs is a lie, what has no proof is dropped."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

from entresol.errors import MalformedValue, RemoteLied

T = TypeVar("T")


class Told(NamedTuple):
    """Who responded, and to which method."""

    host: str
    method: str

    def lied(self, problem: str) -> RemoteLied:
        """Return the error of a false result."""
        return RemoteLied(self.host, self.method, problem)

    def read(self, decode: Callable[[], T]) -> T:
        """Return what a result says; one that nothing can be proven of is false."""
        try:
            return decode()
        except MalformedValue as error:
            raise self.lied(str(error)) from error

    def agreed(
        self, what: str, given: Mapping[str, Any], true: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return the true members; raise if the remote has others, and drop what no proof covers."""
        for name, value in true.items():
            if name in given and not is_same(given[name], value):
                raise self.lied(f"{name} of {what} is {value}, and not {_short(given[name])}")
        return dict(true)


def is_same(given: Any, true: Any) -> bool:
    """Say whether JSON means what is true; members that are not looked at may be there, and digits have any case."""
    if isinstance(given, str) and isinstance(true, str):
        return given.lower() == true.lower() or _number(given) == _number(true) is not None
    if isinstance(given, list) and isinstance(true, list):
        return len(given) == len(true) and all(map(is_same, given, true))
    if isinstance(given, dict) and isinstance(true, dict):
        return all(name in given and is_same(given[name], it) for name, it in true.items())
    return bool(given == true)


def hex_of(data: bytes) -> str:
    """Return bytes as JSON has them."""
    return f"0x{data.hex()}"


def _number(text: str) -> int | None:
    try:
        return int(text, 16) if text.startswith("0x") else None
    except ValueError:
        return None


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 80 else f"{text[:80]}…"
