"""What people and scripts want to know of a node that has just started."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from entresol.chain.genesis.accounts import DEVELOPMENT_PATH, DevAccount
from entresol.errors import InvalidConfig
from entresol.l1.urls import Endpoint
from entresol.node.chains import development_accounts

if TYPE_CHECKING:
    from entresol.chain.dev.keyring import Keyring
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig
    from entresol.node.node import Node


class L1Info(msgspec.Struct, frozen=True, kw_only=True):
    """The L1 that a node settles on."""

    chain_id: int
    endpoint: Endpoint
    is_ours: bool
    """Whether it is the development L1, which runs in the same process."""
    contracts: SettlementContracts

    @classmethod
    def of(cls, node: Node, config: NodeConfig) -> L1Info | None:
        """Collect them, if there is one."""
        if node.rollup is None:
            return None
        settlement_layer, ours = node.rollup.settlement_layer, node.layer_one
        url = config.l1.l1_url if ours is None else f"http://{ours.address}"
        assert url is not None
        return cls(
            chain_id=settlement_layer.l1_chain_id,
            endpoint=Endpoint(url),
            is_ours=ours is not None,
            contracts=settlement_layer.contracts,
        )

    def to_json(self) -> dict[str, Any]:
        """Return them with the contracts by their names, and the whole URL: scripts are to use it."""
        contracts = msgspec.structs.asdict(self.contracts)
        return {
            "chain_id": self.chain_id,
            "http_url": self.endpoint.url,
            "contracts": {name: str(address) for name, address in contracts.items()},
        }


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A started node; the accounts are none if the genesis came from a file."""

    accounts: tuple[DevAccount, ...]
    balance: int
    mnemonic: str
    chain_id: int
    base_fee: int
    gas_price: int
    gas_limit: int
    fork: str
    head: int
    unlocked: str
    methods: str
    genesis_timestamp: int
    address: str
    data_dir: Path | None
    l1: L1Info | None

    @classmethod
    def of(cls, node: Node, config: NodeConfig) -> NodeInfo:
        """Collect them."""
        chain, settings = node.chain, config.chain
        return cls(
            accounts=development_accounts(settings) if settings.genesis is None else (),
            balance=settings.balance,
            mnemonic=settings.mnemonic,
            chain_id=chain.rules.chain_id,
            base_fee=chain.next_base_fee(),
            gas_price=chain.next_base_fee() + chain.rules.suggested_tip,
            gas_limit=chain.rules.gas_limit,
            fork=settings.hardfork,
            head=chain.number,
            unlocked=_unlocked(node.keyring),
            methods=_methods(config),
            genesis_timestamp=chain.ledger.header(0).timestamp,
            address=node.address,
            data_dir=None if settings.data_dir is None else Path(settings.data_dir).absolute(),
            l1=L1Info.of(node, config),
        )

    @property
    def http_url(self) -> str:
        """Where to send requests."""
        return f"http://{self.address}"

    @property
    def websocket_url(self) -> str:
        """Where to open a WebSocket."""
        return f"ws://{self.address}"

    def to_json(self) -> dict[str, Any]:
        """Return them under the names that anvil gives them, and with what anvil leaves out."""
        return {
            "available_accounts": [str(account.address) for account in self.accounts],
            "private_keys": [str(account.secret) for account in self.accounts],
            "wallet": {
                "derivation_path": f"{DEVELOPMENT_PATH}/",
                "mnemonic": self.mnemonic if self.accounts else None,
            },
            "base_fee": str(self.base_fee),
            "gas_price": str(self.gas_price),
            "gas_limit": str(self.gas_limit),
            "genesis_timestamp": str(self.genesis_timestamp),
            "chain_id": self.chain_id,
            "http_url": self.http_url,
            "ws_url": self.websocket_url,
            "data_dir": None if self.data_dir is None else str(self.data_dir),
            "l1": None if self.l1 is None else self.l1.to_json(),
        }

    def write(self, path: Path) -> None:
        """Write them to a file, which is there whole as soon as it is there.

        Only its owner can read one with a URL that has a key in it.
        """
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
        is_secret = self.l1 is not None and self.l1.endpoint.has_secret
        try:
            unfinished.touch(0o600 if is_secret else 0o666)
            unfinished.write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            problem = error.strerror or str(error)
            raise InvalidConfig("--config-out", f"{path} cannot be written: {problem}") from error


def _unlocked(keyring: Keyring) -> str:
    if keyring.locked is not None:
        return f"locked: {keyring.locked}"
    count = len(keyring.addresses)
    return f"{count} unlocked: eth_sendTransaction signs for them, whoever asks"


def _methods(config: NodeConfig) -> str:
    if config.api.dev_methods:
        return "with evm_, anvil_ and hardhat_ (--no-dev-methods leaves them out)"
    return "without evm_, anvil_ and hardhat_ (--no-dev-methods)"
