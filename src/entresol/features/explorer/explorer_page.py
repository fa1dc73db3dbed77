"""The facts about a node that the explorer needs, and the paths by which it reaches the other layer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, Protocol

import msgspec

from entresol.features.explorer.files import FOLDER
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.rollup.system_contracts import CONTRACTS, INTEROP_CONTRACTS, TESTNET_PAYMASTER
from entresol.version import VERSION

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.l1.deployment import SettlementContracts
    from entresol.primitives.values import Address
    from entresol.server.handler import Page

OWN_PATH: Final = f"{FOLDER}own"
"""The page asks its own layer by this path, and is not logged."""
L1_PATH: Final = f"{FOLDER}l1"
L2_PATH: Final = f"{FOLDER}l2"
INFO_PATH: Final = f"{FOLDER}node.json"
FORK_FILE: Final = "fork.json"
FORK_PATH: Final = f"{FOLDER}{FORK_FILE}"

_L1_NAMES: Final = {
    "bridgehub": "Bridgehub",
    "chain": "ZKChain",
    # Chains but the first have no other bridge of the first clients than the router, so that comes later.
    "legacy_bridge": "L1ERC20Bridge",
    "asset_router": "L1AssetRouter",
    "nullifier": "L1Nullifier",
    "native_token_vault": "L1NativeTokenVault",
    "validator_timelock": "ValidatorTimelock",
    "chain_type_manager": "ChainTypeManager",
    "verifier": "DevelopmentVerifier",
    "bytecodes_supplier": "BytecodesSupplier",
    "message_root": "MessageRoot",
    "chain_registration_sender": "ChainRegistrationSender",
}

_L2_NAMES: Final = CONTRACTS | INTEROP_CONTRACTS | {TESTNET_PAYMASTER: "TestnetPaymaster"}

_HOUSES: Final = (
    "Harbour",
    "Mill",
    "Orchard",
    "Foundry",
    "Lighthouse",
    "Bakery",
    "Library",
    "Granary",
    "Smithy",
    "Brewery",
    "Observatory",
    "Chandlery",
)
"""The page's names for the chains of a node that has several, by their order, as it calls accounts by names."""

OtherLayer = Literal["here", "remote"]
"""Where the other layer is: in this node, or behind a URL, from which the explorer only reads."""


class ExplorerPage(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of the explorer of one layer."""

    layer: Literal[1, 2]
    other: OtherLayer | None = None
    """The other layer, if there is one."""
    chain_id: int = 0
    base_token: BaseToken = ETHER_TOKEN
    """The token that pays for the gas of an L2."""
    contracts: SettlementContracts | None = None
    operators: tuple[Address, ...] = ()
    is_copy: bool = False
    """Whether the L1 is a fork, which has another verifier."""
    publishes: bool = False
    """Whether L1 has the data of an L2's batches."""
    is_development: bool = True
    """Whether the state of an L2 may be edited."""

    def pages(self) -> dict[str, Page]:
        """Return the page with the explorer's settings, of a chain that has no other beside it."""
        return {INFO_PATH: self.info_page(())}

    def info_page(self, houses: Sequence[House]) -> Page:
        """Return the page with the explorer's settings; the L2s of the node are the `houses`."""
        return lambda: (
            200,
            "application/json; charset=utf-8",
            msgspec.json.encode(self._info(houses)),
        )

    def _info(self, houses: Sequence[House]) -> dict[str, Any]:
        names: dict[str, str] = {}
        for page in (*(house.page for house in reversed(houses)), self):
            names |= page.l1_names()
        return {
            "version": VERSION,
            "layer": self.layer,
            "id": self.chain_id,
            "other": self.other and (L1_PATH if self.layer == 2 else L2_PATH),
            "remote": self.other == "remote",
            "l1": names,
            "l2": {str(at): name for at, name in _L2_NAMES.items()},
            "operators": [str(address) for address in self.operators],
            "chains": [house.entry(index) for index, house in enumerate(houses)],
        }

    def l1_names(self) -> dict[str, str]:
        """Return the names of the contracts on L1, by their addresses."""
        if self.contracts is None:
            return {}
        addresses = msgspec.structs.asdict(self.contracts)
        names = _L1_NAMES | ({"verifier": "ForkVerifier"} if self.is_copy else {})
        return {str(addresses[field]): name for field, name in names.items() if addresses[field]}


class Listener(Protocol):
    """The server of a chain."""

    @property
    def port(self) -> int:
        """The port it listens on."""
        ...


class House(NamedTuple):
    """An L2 of a node, as the explorers of all its layers list it."""

    page: ExplorerPage
    service: Listener

    @property
    def path(self) -> str:
        """The path of its requests, on every port of the node."""
        return f"{FOLDER}{self.page.chain_id}"

    def entry(self, index: int) -> dict[str, Any]:
        """Return what the page has to know of it; `index` is its place among the L2s."""
        page, token = self.page, self.page.base_token
        return {
            "id": page.chain_id,
            "name": _HOUSES[index] if index < len(_HOUSES) else f"House {index + 1}",
            "first": index == 0,
            "path": self.path,
            "port": self.service.port,
            "contract": None if page.contracts is None else str(page.contracts.chain),
            "operators": [str(address) for address in page.operators],
            "publishes": page.publishes,
            "development": page.is_development,
            "token": {
                "name": token.name,
                "symbol": token.symbol,
                "decimals": token.decimals,
                "address": str(token.l1_address),
            },
        }
