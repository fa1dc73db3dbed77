"""The URL of an L1, and its redaction: many providers put an API key into it."""

from __future__ import annotations

import re
from base64 import b64encode
from typing import Final
from urllib.parse import unquote, urlsplit

import msgspec

REDACTED: Final = "…"

_PARTS: Final = re.compile(
    r"(?P<scheme>[a-zA-Z][\w+.-]*://)?((?P<user>[^/?#]*)@)?(?P<host>[^/?#]*)"
)
# Shorter than any key; parts such as "v2" or "rpc" would be redacted in unrelated words.
_MIN_SECRET_LENGTH: Final = 6


def is_http_url(url: str) -> bool:
    """Return whether a URL begins with http:// or https://, and names a host."""
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


class Endpoint(msgspec.Struct, frozen=True):
    """The URL of an L1, with and without secrets.

    Any part of a path may be a key, so everything but scheme, host and port is redacted.
    """

    url: str

    @property
    def redacted(self) -> str:
        """The URL without the parts that may be secret."""
        parts = _PARTS.match(self.url)
        assert parts is not None
        user = "" if parts["user"] is None else f"{REDACTED}@"
        rest = self.url[parts.end() :]
        after = rest if rest in {"", "/"} else f"/{REDACTED}"
        return f"{parts['scheme'] or ''}{user}{parts['host']}{after}"

    @property
    def has_secret(self) -> bool:
        """Whether any part of it is redacted."""
        return self.redacted != self.url

    def redact(self, text: str) -> str:
        """Return a text of L1 with the secrets of the URL redacted, if it repeats them."""
        text = text.replace(self.url, self.redacted)
        for secret in self._secrets():
            text = text.replace(secret, REDACTED)
        return text

    def _secrets(self) -> list[str]:
        """Return the parts that may be secret, the longest first."""
        parts = _PARTS.match(self.url)
        assert parts is not None
        redacted = [parts["user"] or "", self.url[parts.end() :]]
        found = {part for part in redacted if part not in {"", "/"}}
        for part in redacted:
            found |= {
                word for word in re.split(r"[/?&=#:]", part) if len(word) >= _MIN_SECRET_LENGTH
            }
        found |= {unquote(secret) for secret in found}
        if parts["user"]:
            # As it is sent: a remote may repeat the header.
            found.add(b64encode(unquote(parts["user"]).encode()).decode())
        return sorted(found, key=len, reverse=True)
