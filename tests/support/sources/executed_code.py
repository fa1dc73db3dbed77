"""Code that is written by hand and executed in a transaction, for recordings and the struct logs beside them."""

from __future__ import annotations

from tests.support.chain.api_client import TARGET, ApiClient


def ran(client: ApiClient, code: str) -> str:
    """Execute code in a transaction, and return its hash."""
    client("anvil_setCode", TARGET, f"0x{code}")
    fields = {"from": client("eth_accounts")[0], "to": TARGET, "gas": "0x1c00000"}
    sent: str = client("eth_sendTransaction", fields)
    return sent


def call(account: str) -> str:
    return f"5f5f5f5f5f73{account[2:]}5af150"


def create(code: str, *, salt: bool = False) -> str:
    """Return code that creates a contract from at most 32 bytes, perhaps with a salt of 0."""
    size = len(code) // 2
    word = bytes.fromhex(code).ljust(32, b"\0").hex()
    return f"7f{word}5f52{'5f' if salt else ''}60{size:02x}5f5f{'f5' if salt else 'f0'}50"
