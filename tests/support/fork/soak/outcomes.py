"""Outcomes of requests to a fork: right, or an error that names the remote. Anything else fails."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from entresol.errors import RemoteFailed
from tests.support.rpc_client import RpcError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.support.rpc_client import RpcClient

_NAMED: Final = re.compile(
    r"the remote http://127\.0\.0\.1:\d+ "
    r"(cannot be asked for|rejected|responded to|did not respond to|has no state of block)"
    r"|was orphaned: the remote http"
    r"|too many requests wait for the remote"
    r"|the fork is closed"
    r"|the chain was reverted or replaced meanwhile: send the request again"
)


class Result(NamedTuple):
    """A result, which may be null."""

    value: Any


class Outcomes:
    """Counts outcomes, and collects those that are wrong. Any thread."""

    def __init__(self) -> None:
        self.right = 0
        self.named: Counter[str] = Counter()
        self.wrong: list[str] = []
        self.longest = 0.0
        self._lock = threading.Lock()

    def of(self, client: RpcClient, method: str, *params: Any) -> Result | None:
        """Return the result of a request; None if it got an error that is one of a fork."""
        began = time.monotonic()
        try:
            return Result(client(method, *params))
        except RpcError as error:
            found = _NAMED.search(error.message)
            with self._lock:
                if found is not None and error.code == RemoteFailed.rpc_code:
                    self.named[found[1] or found[0]] += 1
                else:
                    self.wrong.append(f"{method} {params}: {error}")
        except (OSError, TimeoutError, ValueError) as error:
            with self._lock:
                self.wrong.append(f"{method} {params}: {error!r}")
        finally:
            with self._lock:
                self.longest = max(self.longest, time.monotonic() - began)
        return None

    def check(self, method: str, params: Sequence[Any], found: Any, expected: Any) -> None:
        """Count a result that has to be another one's, too."""
        with self._lock:
            if found == expected:
                self.right += 1
            else:
                self.wrong.append(f"{method} {params}: {found}, and {expected} is expected")
