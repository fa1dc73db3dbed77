"""The provider of a layer: a node that it starts in this process, or one that runs at a URL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, cast

from ape.api import TestProviderAPI
from ape.exceptions import ConfigError, ProviderError
from ape.utils.testing import (
    DEFAULT_NUMBER_OF_TEST_ACCOUNTS,
    DEFAULT_TEST_ACCOUNT_BALANCE,
    DEFAULT_TEST_HD_PATH,
    DEFAULT_TEST_MNEMONIC,
)
from ape_ethereum.provider import Web3Provider
from ape_ethereum.trace import TraceApproach
from eth_pydantic_types import HexBytes
from eth_utils import to_hex
from web3 import HTTPProvider, Web3

from ape_entresol.nodes import NODES

if TYPE_CHECKING:
    from ape.api import TestAccountAPI
    from ape.types import AddressType

    from ape_entresol.config import EntresolConfig
    from entresol.inprocess.devnet import Devnet
    from entresol.inprocess.layer import DevnetLayer

ETHER = 10**18
REQUEST_SECONDS = 120
FORK_SUFFIX = "-fork"
MAX_TRANSACTION_GAS = 1 << 24
"""EIP-7825."""


class EntresolProvider(TestProviderAPI, Web3Provider):
    """A layer as Ape sees it.

    Remembers: its client, and the node if it is in this process. Assumes: that a node at a URL has developer methods.
    Fails: with Ape's errors.
    """

    NAME: ClassVar[str] = "entresol"

    block_page_size: int = 1_000
    _devnet: Devnet | None = None
    _uri: str | None = None

    # Where it is

    @property
    def section(self) -> EntresolConfig:
        """The section of the configuration, with what `use_provider` has been given."""
        return cast("EntresolConfig", self.settings)

    @property
    def is_fork(self) -> bool:
        """Whether the node forks another chain."""
        return self.network.name.endswith(FORK_SUFFIX)

    @property
    def layer(self) -> int:
        """Which chain it is: 0 is the L1, 1 the first L2."""
        name = self.network.name.removesuffix(FORK_SUFFIX)
        _, _, number = name.partition("-")
        return 0 if name == "l1" else int(number or 1)

    @property
    def devnet(self) -> Devnet | None:
        """The node, if it is in this process."""
        return self._devnet

    @property
    def uri(self) -> str:
        """The URL of the layer, once it is connected."""
        if self._uri is None:
            raise ProviderError(f"{self.network.choice} is not connected")
        return self._uri

    @property
    def http_uri(self) -> str | None:
        """The URL for HTTP."""
        return self._uri

    @property
    def ws_uri(self) -> str | None:
        """The URL for WebSocket: the same port."""
        return None if self._uri is None else self._uri.replace("http", "ws", 1)

    @property
    def ipc_path(self) -> None:
        """A layer is not served by a socket of the file system here."""

    @property
    def connection_str(self) -> str:
        """The URL, as Ape shows it."""
        return self._uri or ""

    @property
    def connection_id(self) -> str:
        """One connection a network: all of them share a node."""
        return f"{self.network.choice}:{self.name}"

    @property
    def network_choice(self) -> str:
        """The network by its names."""
        return f"{self.network.choice}:{self.name}"

    @property
    def chain_id(self) -> int:
        """The id of the chain."""
        return int(self.web3.eth.chain_id)

    @property
    def max_gas(self) -> int:
        """What one transaction may have."""
        return min(super().max_gas, MAX_TRANSACTION_GAS)

    # From start to stop

    def connect(self) -> None:
        """Start a node, or join the one that another layer has started, or connect to the one at a URL."""
        config = self.section
        if config.uri is not None or config.l1_uri is not None:
            if self.is_fork:
                raise ConfigError(f"{self.network.choice} starts a node: remove uri and l1_uri")
            self._uri = self._running_at()
        else:
            self._devnet = NODES.connect(self, self._node_settings())
            self._uri = self._layer_of(self._devnet).url
        self._web3 = Web3(HTTPProvider(self._uri, request_kwargs={"timeout": REQUEST_SECONDS}))
        if not self._web3.is_connected():
            uri, self._web3, self._uri = self._uri, None, None
            raise ProviderError(f"no node responds at {uri}")

    def disconnect(self) -> None:
        """Forget the client; the node stops if no other layer is connected."""
        self._web3 = self._uri = self._devnet = None
        NODES.disconnect(self)

    def _running_at(self) -> str:
        config = self.section
        urls = config.uri if isinstance(config.uri, list) else [config.uri]
        found = [config.l1_uri, *urls]
        url = found[self.layer] if self.layer < len(found) else None
        if url is None:
            name = "uri" if self.layer else "l1_uri"
            raise ConfigError(f"entresol.{name}: the node of {self.network.choice} has no URL")
        if not url.startswith(("http://", "https://")):
            raise ConfigError(f"entresol: the URL of {self.network.choice} is not one of HTTP")
        return url

    def _layer_of(self, devnet: Devnet) -> DevnetLayer:
        if not self.layer:
            return devnet.l1
        if self.layer > len(devnet.l2s):
            raise ConfigError(f"entresol.node.chains: there is no chain {self.network.choice}")
        return devnet.l2s[self.layer - 1]

    def _node_settings(self) -> dict[str, Any]:
        config = self.section
        added: dict[str, Any] = {}
        if self.is_fork:
            wanted = ("fork_url", "fork_cache") if self.layer else ("l1_fork_url", "l1_fork_cache")
            if not any(config.fork.get(name) for name in wanted):
                raise ConfigError(
                    f"entresol.features.fork: {self.network.choice} needs {wanted[0]}"
                )
            added = config.fork
        return {**self._accounts, **config.node, **added}

    @property
    def _accounts(self) -> dict[str, Any]:
        """What the section `test` says about accounts, where it differs from what a node has."""
        test = self.test_config
        found: dict[str, Any] = {}
        if test.number_of_accounts > DEFAULT_NUMBER_OF_TEST_ACCOUNTS:
            found["accounts"] = test.number_of_accounts
        if test.balance != DEFAULT_TEST_ACCOUNT_BALANCE:
            found["balance"] = test.balance // ETHER
        if test.mnemonic != DEFAULT_TEST_MNEMONIC:
            found["mnemonic"] = test.mnemonic
        if test.hd_path != DEFAULT_TEST_HD_PATH:
            found["derivation_path"] = test.hd_path
        return found

    # What tests do

    def snapshot(self) -> str:
        """Take a snapshot of all chains of the node, so that a deposit is reverted on both of its sides."""
        if self._devnet is not None:
            return self._devnet.snapshot()
        return str(self.make_request("evm_snapshot", []))

    def restore(self, snapshot_id: int | str | bytes) -> bool:
        """Revert all chains of the node."""
        name = snapshot_id if isinstance(snapshot_id, str) else to_hex(snapshot_id)
        if self._devnet is not None:
            return self._devnet.revert(name)
        return self.make_request("evm_revert", [name]) is True

    def set_timestamp(self, new_timestamp: int) -> None:
        """Set the time of the next block."""
        self.make_request("evm_setNextBlockTimestamp", [new_timestamp])

    def mine(self, num_blocks: int = 1) -> None:
        """Seal blocks."""
        self.make_request("anvil_mine", [hex(num_blocks)])

    @property
    def auto_mine(self) -> bool:
        """Whether transactions are sealed as they come."""
        return bool(self.make_request("anvil_getAutomine", []))

    @auto_mine.setter
    def auto_mine(self, value: bool) -> None:
        self.make_request("evm_setAutomine", [value])

    def set_balance(self, address: AddressType, amount: int | str) -> None:
        """Set what an account has, in wei or as Ape converts it: "1 ether"."""
        wei = amount if isinstance(amount, int) else self.conversion_manager.convert(amount, int)
        self.make_request("anvil_setBalance", [address, hex(wei)])

    def set_code(self, address: AddressType, code: bytes | str) -> bool:
        """Set the code of an account."""
        self.make_request("anvil_setCode", [address, HexBytes(code).to_0x_hex()])
        return True

    def set_storage(self, address: AddressType, slot: int, value: bytes) -> None:
        """Set a word of the storage of a contract."""
        word = to_hex(HexBytes(value).rjust(32, b"\0"))
        self.make_request("anvil_setStorageAt", [address, hex(slot), word])

    def unlock_account(self, address: AddressType) -> bool:
        """Let the node send from an account without its key."""
        self.make_request("anvil_impersonateAccount", [address])
        return True

    def relock_account(self, address: AddressType) -> None:
        """Take that back."""
        self.make_request("anvil_stopImpersonatingAccount", [address])

    def get_test_account(self, index: int) -> TestAccountAPI:
        """Return an account of the node; Ape makes the one of a node at a URL from the section `test`."""
        if self._devnet is None:
            raise NotImplementedError
        if index not in range(len(self._devnet.accounts)):
            raise IndexError(f"the node has {len(self._devnet.accounts)} accounts, not {index + 1}")
        account = self._devnet.accounts[index]
        return self.account_manager.init_test_account(index, account.address, account.key)

    @property
    def supports_tracing(self) -> bool:
        """Every node traces."""
        return True

    @property
    def call_trace_approach(self) -> TraceApproach:
        """How Ape asks for a call tree: by `callTracer`, which has events and errors, too."""
        return TraceApproach.GETH_CALL_TRACER
