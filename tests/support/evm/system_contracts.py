"""The contracts that blocks write to, as their EIPs specify them."""

from __future__ import annotations

HISTORY_CODE = bytes.fromhex(
    "3373fffffffffffffffffffffffffffffffffffffffe14604657602036036042575f35600143038111604257"
    "611fff81430311604257611fff9006545f5260205ff35b5f5ffd5b5f35611fff60014303065500"
)
"""The contract that EIP-2935 specifies."""
BEACON_CODE = bytes.fromhex(
    "3373fffffffffffffffffffffffffffffffffffffffe14604d57602036146024575f5ffd5b5f358015604957"
    "62001fff810690815414603c575f5ffd5b62001fff01545f5260205ff35b5f5ffd5b62001fff42064281555f35"
    "9062001fff015500"
)
"""The contract that EIP-4788 specifies."""
