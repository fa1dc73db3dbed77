"""Accounts, chain, fees and URLs of a started node, for the banner and `--config-out`."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import msgspec

from entresol.chain.genesis.accounts import DEVELOPMENT_MNEMONIC, DEVELOPMENT_PATH, DevAccount
from entresol.counted import counted
from entresol.errors import InvalidConfig
from entresol.features.adding.methods import ChainEntry, ChainToken
from entresol.features.explorer.settings import ExplorerConfig
from entresol.features.fork.fork_info import ForkInfo
from entresol.l1.urls import Endpoint
from entresol.node.dev_features import (
    funded_accounts,
    restriction,
    serves_dev_methods,
    settles_remotely,
)
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken
from entresol.primitives.interop_bundles import BASE_TOKEN_HOLDER
from entresol.primitives.values import Address

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.genesis.genesis import Genesis
    from entresol.chain.keyring import Keyring
    from entresol.l1.deployment import SettlementContracts
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.settlement_layer import SettlementLayer


class L1Info(msgspec.Struct, frozen=True, kw_only=True):
    """The L1 that a node settles on."""

    chain_id: int
    endpoint: Endpoint
    is_embedded: bool
    """Whether it is the development L1, which runs in the same process."""
    contracts: SettlementContracts
    extra_url: str | None = None
    """Where it is served, too: by --l1-extra-port."""

    @classmethod
    def of(
        cls,
        config: NodeConfig,
        settlement_layer: SettlementLayer,
        embedded: str | None = None,
        extra: str | None = None,
    ) -> Self:
        """Collect the information about an L1; `embedded` and `extra` are addresses of the development L1."""
        url = config.l1.l1_url if embedded is None else f"http://{embedded}"
        assert url is not None
        return cls(
            chain_id=settlement_layer.l1_chain_id,
            endpoint=Endpoint(url),
            is_embedded=embedded is not None,
            contracts=settlement_layer.contracts,
            extra_url=None if extra is None else f"http://{extra}",
        )

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON file, with the whole URL: scripts need it."""
        contracts = msgspec.structs.asdict(self.contracts)
        return {
            "chain_id": self.chain_id,
            "http_url": self.endpoint.url,
            **({} if self.extra_url is None else {"extra_http_url": self.extra_url}),
            "contracts": {name: str(address) for name, address in contracts.items()},
        }


class NodeInfo(msgspec.Struct, frozen=True, kw_only=True):
    """A started node; `accounts` is empty if the genesis came from a file."""

    accounts: tuple[DevAccount, ...]
    balance: int
    mnemonic: str
    mnemonic_file: str | None = None
    """The file that the mnemonic is from; banner and log then show neither it nor its keys."""
    chain_id: int
    base_fee: int
    gas_price: int
    gas_limit: int
    fork: str
    head: int
    money: str
    unlocked: str
    methods: str
    genesis_timestamp: int
    address: str
    data_dir: Path | None
    l1: L1Info | None
    base_token: BaseToken = ETHER_TOKEN
    derivation_path: str = DEVELOPMENT_PATH
    is_layer_one: bool = False
    """Whether the chain is an L1 alone."""
    forked: ForkInfo | None = None
    """The chain that this one is a copy of."""
    l1_forked: ForkInfo | None = None
    """The chain that the development L1 is a copy of."""
    has_explorer: bool = False
    relay: Address | None = None
    """The account of the relay, if there is one."""
    others: tuple[NodeInfo, ...] = ()
    """The other L2s of the node, without others of their own."""

    @classmethod
    def of(
        cls,
        chain: Chain,
        config: NodeConfig,
        keyring: Keyring,
        address: str,
        l1: L1Info | None,
        base_token: BaseToken = ETHER_TOKEN,
    ) -> NodeInfo:
        """Collect the information about the node that serves `chain` at `address`."""
        settings = config.chain
        return cls(
            accounts=funded_accounts(settings, chain.genesis),
            balance=settings.balance,
            mnemonic=settings.mnemonic,
            mnemonic_file=settings.mnemonic_file,
            chain_id=chain.rules.chain_id,
            base_fee=chain.next_base_fee(),
            gas_price=chain.next_base_fee() + chain.rules.suggested_tip,
            gas_limit=chain.rules.gas_limit,
            fork=settings.hardfork,
            head=chain.number,
            money=_money(config, chain.genesis, base_token),
            unlocked=_unlocked(keyring),
            methods=_methods(config),
            genesis_timestamp=chain.blocks.header(chain.blocks.first_number).timestamp,
            address=address,
            data_dir=None if settings.data_dir is None else Path(settings.data_dir).absolute(),
            l1=l1,
            base_token=base_token,
            derivation_path=settings.derivation_path,
            has_explorer=config.of(ExplorerConfig).explorer,
        )

    @classmethod
    def joined(cls, chains: Sequence[NodeInfo]) -> NodeInfo:
        """Return the information about a node with these L2s."""
        first, *others = chains
        return msgspec.structs.replace(first, others=tuple(others))

    @property
    def path(self) -> str:
        """The derivation path, which the number of an account follows."""
        return f"{self.derivation_path.removesuffix('/')}/"

    @property
    def http_url(self) -> str:
        """The URL for HTTP."""
        return f"http://{self.address}"

    @property
    def websocket_url(self) -> str:
        """The URL for WebSockets."""
        return f"ws://{self.address}"

    @property
    def has_public_keys(self) -> bool:
        """Whether the keys of the accounts are publicly known."""
        return self.mnemonic == DEVELOPMENT_MNEMONIC

    def to_log(self) -> dict[str, Any]:
        """Return the fields of the log line at start-up: those of the file without secrets."""
        fields = self.to_json()
        if self.mnemonic_file is not None:
            fields |= {"private_keys": [], "wallet": {**fields["wallet"], "mnemonic": None}}
        if self.l1 is not None:
            fields["l1"] = {**fields["l1"], "http_url": self.l1.endpoint.redacted}
        return fields

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the JSON file: those of anvil, and more."""
        return {
            "available_accounts": [str(account.address) for account in self.accounts],
            "private_keys": [str(account.secret) for account in self.accounts],
            "wallet": {
                "derivation_path": self.path,
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
            "base_token": msgspec.to_builtins(_token_entry(self.base_token), enc_hook=str),
            "l1": None if self.l1 is None else self.l1.to_json(),
            **({} if self.forked is None else {"fork": self.forked.to_json()}),
            **({} if self.l1_forked is None else {"l1_fork": self.l1_forked.to_json()}),
            **self._chains(),
        }

    def _chains(self) -> dict[str, Any]:
        chains = [msgspec.to_builtins(chain.entry, enc_hook=str) for chain in (self, *self.others)]
        return {"chains": chains} if self.others else {}

    @property
    def entry(self) -> ChainEntry:
        """The entry that tells the L2 from others of the node."""
        return ChainEntry(
            chain_id=self.chain_id,
            http_url=self.http_url,
            ws_url=self.websocket_url,
            data_dir=None if self.data_dir is None else str(self.data_dir),
            contract=None if self.l1 is None else self.l1.contracts.chain,
            base_token=_token_entry(self.base_token),
        )

    def write(self, path: Path) -> None:
        """Write the JSON file atomically.

        If it contains a key, of an account or in the L1's URL, only the owner can read the file.
        """
        unfinished = path.with_name(f"{path.name}.{os.getpid()}.new")
        is_secret = bool(self.accounts) or (self.l1 is not None and self.l1.endpoint.has_secret)
        try:
            unfinished.touch(0o600 if is_secret else 0o666)
            unfinished.write_text(json.dumps(self.to_json(), indent=2) + "\n", encoding="utf-8")
            unfinished.replace(path)
        except OSError as error:
            unfinished.unlink(missing_ok=True)
            problem = error.strerror or str(error)
            raise InvalidConfig("--config-out", f"{path} cannot be written: {problem}") from error


def _token_entry(token: BaseToken) -> ChainToken:
    return ChainToken(
        l1_address=token.l1_address,
        name=token.name,
        symbol=token.symbol,
        decimals=token.decimals,
        ratio=str(token.ether_price.tokens(token.decimals)),
    )


def _unlocked(keyring: Keyring) -> str:
    if keyring.locked is not None:
        return f"locked: {keyring.locked}"
    count = len(keyring.addresses)
    return f"{count} unlocked: eth_sendTransaction signs for any client"


def _methods(config: NodeConfig) -> str:
    reason = restriction(config)
    if serves_dev_methods(config):
        risk = "" if reason is None else f", although {reason}: every client can change the chain"
        return f"with evm_, anvil_ and hardhat_{risk} (--no-dev-methods disables them)"
    if config.api.dev_methods is False:
        return "without evm_, anvil_ and hardhat_ (--no-dev-methods)"
    return f"without evm_, anvil_ and hardhat_: {reason} (--dev-methods serves them)"


def _money(config: NodeConfig, genesis: Genesis, token: BaseToken) -> str:
    balances = [
        account.balance
        for address, account in genesis.alloc.items()
        if account.balance and address != BASE_TOKEN_HOLDER
    ]
    if not settles_remotely(config):
        return "play money: the genesis created it"
    if not balances:
        named = "ether" if token.is_ether else token.symbol
        return f"deposits only: the genesis has no {named}, so all {named} is locked on L1"
    amount = f"{sum(balances) // token.unit:,} {token.symbol}"
    verb = "has" if len(balances) == 1 else "have"
    owners = f"{counted(len(balances), 'account')} of the genesis {verb} {amount}"
    return f"UNBACKED: {owners} that is not locked on L1, and can withdraw what others deposit"
