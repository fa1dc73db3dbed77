"""What the explorer has to know of a node, and the paths by which it reaches the other layer."""

from __future__ import annotations

from importlib import metadata
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from entresol.explorer.files import FOLDER
from entresol.rollup.system_contracts import CONTRACTS

if TYPE_CHECKING:
    from entresol.l1.deployment import SettlementContracts
    from entresol.primitives.values import Address
    from entresol.server.handler import Page

L1_PATH: Final = f"{FOLDER}l1"
L2_PATH: Final = f"{FOLDER}l2"
INFO_PATH: Final = f"{FOLDER}node.json"

_L1_NAMES: Final = {
    "bridgehub": "Bridgehub",
    "chain": "ZKChain",
    "asset_router": "L1AssetRouter",
    "nullifier": "L1Nullifier",
    "native_token_vault": "L1NativeTokenVault",
    "validator_timelock": "ValidatorTimelock",
    "chain_type_manager": "ChainTypeManager",
    "verifier": "DevelopmentVerifier",
    "legacy_bridge": "L1ERC20Bridge",
    "bytecodes_supplier": "BytecodesSupplier",
}

OtherLayer = Literal["here", "remote"]
"""Where the other layer is: in this node, or behind a URL, from which the explorer only reads."""


class ExplorerPage(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the explorer of one layer."""

    layer: Literal[1, 2]
    other: OtherLayer | None = None
    """The other layer, if there is one."""
    contracts: SettlementContracts | None = None
    operators: tuple[Address, ...] = ()

    def pages(self) -> dict[str, Page]:
        """Return the page with the explorer's settings."""
        body = msgspec.json.encode(self._info())
        return {INFO_PATH: lambda: (200, "application/json; charset=utf-8", body)}

    def _info(self) -> dict[str, Any]:
        return {
            "version": metadata.version("entresol"),
            "layer": self.layer,
            "other": self.other and (L1_PATH if self.layer == 2 else L2_PATH),
            "remote": self.other == "remote",
            "l1": self._l1_names(),
            "l2": {str(address): name for address, name in CONTRACTS.items()},
            "operators": [str(address) for address in self.operators],
        }

    def _l1_names(self) -> dict[str, str]:
        if self.contracts is None:
            return {}
        addresses = msgspec.structs.asdict(self.contracts)
        return {
            str(addresses[field]): name for field, name in _L1_NAMES.items() if addresses[field]
        }
