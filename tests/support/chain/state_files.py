"""A state file as anvil 1.7.1 wrote it, and chains to load it into."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis, GenesisAccount
from entresol.chain.rules import ChainRules
from entresol.primitives.values import Address

ALICE: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
OWN: Final = Address(b"\xaa" * 20)
"""A contract of our genesis, which the file does not have."""

_FILE: Final = Path(__file__).with_name("anvil-1.7.1-state.json")


def anvil_file() -> dict[str, Any]:
    """Return a file with a transfer, a creation that logs and stores, and the states of earlier blocks."""
    document: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return document


def layer_one() -> Chain:
    """Open an L1 whose genesis has an account of the file, and one of its own."""
    genesis = Genesis.development(
        31337,
        [Address.parse(ALICE)],
        10**22,
        {OWN: GenesisAccount(code=b"\x00", nonce=1, balance=7)},
    )
    return Chain.open(None, ChainRules.layer_1(), genesis, clock=Clock(lambda: 1_000.0))
