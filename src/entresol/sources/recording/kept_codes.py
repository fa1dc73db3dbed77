"""The codes that an execution has run or read."""

from __future__ import annotations

from entresol.sources.recording.limits import MAX_DATA_BYTES


class KeptCodes:
    """Codes by their accounts, for what steps copy of them; an account may have another one later.

    Remembers: as many bytes as there is room for.
    """

    def __init__(self) -> None:
        self.kept_bytes = 0
        self._codes: dict[str, list[tuple[int, bytes | None]]] = {}

    def keep(self, step: int, account: str, code: bytes) -> None:
        """Keep the code that an account has from a step on."""
        known = self._codes.setdefault(account, [])
        if known and known[-1][1] == code:
            return
        has_room = self.kept_bytes + len(code) <= MAX_DATA_BYTES
        self.kept_bytes += len(code) if has_room else 0
        known.append((step, code if has_room else None))

    def at(self, step: int, account: str) -> bytes | None:
        """Return the code that an account has at a step; None if it is not kept."""
        known = self._codes.get(account, ())
        return next((code for since, code in reversed(known) if since <= step), None)
