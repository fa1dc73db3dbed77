"""The codes that an execution has run or read."""

from __future__ import annotations

from entresol.sources.recording.limits import MAX_DATA_BYTES


class KeptCodes:
    """Codes by their accounts, for what steps copy of them.

    Remembers: as many bytes as there is room for. Fails: never.
    """

    def __init__(self) -> None:
        self.codes: dict[str, bytes] = {}
        self.kept_bytes = 0

    def keep(self, address: str | None, code: bytes) -> None:
        """Keep the code of an account."""
        if address is None or address in self.codes or self.kept_bytes + len(code) > MAX_DATA_BYTES:
            return
        self.codes[address] = code
        self.kept_bytes += len(code)
