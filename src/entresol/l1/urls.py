"""The URL of an L1, and what may be shown of it: many a URL has somebody's key in it."""

from __future__ import annotations

import re
from typing import Final
from urllib.parse import unquote

import msgspec

HIDDEN: Final = "…"

_PARTS: Final = re.compile(
    r"(?P<scheme>[a-zA-Z][\w+.-]*://)?((?P<user>[^/?#]*)@)?(?P<host>[^/?#]*)"
)
# Shorter than any key; what is as short as "v2" or "rpc" would be hidden in every other word.
_SHORTEST_SECRET: Final = 6


class Endpoint(msgspec.Struct, frozen=True):
    """A URL to ask, and how to speak of it.

    Nobody can tell which part of a path is a key, so everything but scheme, host and port is hidden.
    """

    url: str

    @property
    def redacted(self) -> str:
        """The URL without the parts that may be secret."""
        parts = _PARTS.match(self.url)
        assert parts is not None
        user = "" if parts["user"] is None else f"{HIDDEN}@"
        rest = self.url[parts.end() :]
        after = rest if rest in {"", "/"} else f"/{HIDDEN}"
        return f"{parts['scheme'] or ''}{user}{parts['host']}{after}"

    @property
    def has_secret(self) -> bool:
        """Whether something of it is hidden."""
        return self.redacted != self.url

    def redact(self, text: str) -> str:
        """Return a text by somebody else without the secrets of the URL, should it repeat them."""
        text = text.replace(self.url, self.redacted)
        for secret in self._secrets():
            text = text.replace(secret, HIDDEN)
        return text

    def _secrets(self) -> list[str]:
        """Return what may be secret, the longest first."""
        parts = _PARTS.match(self.url)
        assert parts is not None
        hidden = [parts["user"] or "", self.url[parts.end() :]]
        found = {it for it in hidden if it not in {"", "/"}}
        for part in hidden:
            found |= {it for it in re.split(r"[/?&=#:]", part) if len(it) >= _SHORTEST_SECRET}
        found |= {unquote(it) for it in found}
        return sorted(found, key=len, reverse=True)
