"""The address of a cluster: a PostgreSQL URL, which is shown without its password."""

from __future__ import annotations

from typing import Final
from urllib.parse import parse_qs, unquote, urlsplit

from entresol.errors import InvalidConfig

SCHEMES: Final = frozenset({"postgresql", "postgres"})
FLAG: Final = "--cluster"


class ClusterAddress:
    """A PostgreSQL URL as libpq reads it; what it leaves out comes from the `PG*` variables."""

    def __init__(self, url: str) -> None:
        try:
            parts = urlsplit(url)
            # Reading the port checks it.
            self._port = parts.port
            query = parse_qs(parts.query)
        except ValueError:
            raise _invalid() from None
        if parts.scheme not in SCHEMES:
            raise _invalid()
        self.url = url
        """The whole URL, with the password."""
        self._host = parts.hostname or query.get("host", [""])[0]
        self._database = unquote(parts.path.removeprefix("/"))

    @property
    def redacted(self) -> str:
        """Host, port and database: what may be shown."""
        port = "" if self._port is None else f":{self._port}"
        return f"postgresql://{self._host}{port}/{self._database}"

    def __repr__(self) -> str:
        return f"ClusterAddress({self.redacted!r})"


def _invalid() -> InvalidConfig:
    # The URL may contain a password, so it is not repeated.
    return InvalidConfig(
        FLAG, "this is no URL of a PostgreSQL database, as postgresql://user@host:5432/database"
    )
