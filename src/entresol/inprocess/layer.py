"""One layer of a devnet: URLs, accounts, requests and clients."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec

from entresol.errors import MethodFailed
from entresol.inprocess.failures import FailureRecorder, LayerRecords
from entresol.inprocess.web3_package import require_web3
from entresol.primitives.base_token import ETHER_TOKEN, BaseToken

if TYPE_CHECKING:
    from collections.abc import Sequence

    from eth_account.signers.local import LocalAccount
    from eth_typing import ChecksumAddress
    from web3 import AsyncWeb3, Web3

    from entresol.chain.genesis.accounts import DevAccount
    from entresol.inprocess.channel import LayerChannel
    from entresol.inprocess.shell import ConsoleRecorder


class DevnetAccount(msgspec.Struct, frozen=True):
    """A development account; all layers have its ether or what pays for gas there, and sign for it."""

    address: ChecksumAddress
    """Checksummed, as web3.py wants it."""
    key: str

    @classmethod
    def of(cls, account: DevAccount) -> DevnetAccount:
        """Return an account of a genesis."""
        address = cast("ChecksumAddress", account.address.checksummed())
        return cls(address, str(account.secret))

    def __repr__(self) -> str:
        """Return the address alone: a report of a test, or a log, is not a place for a key."""
        return f"<account {self.address}>"

    @property
    def signer(self) -> LocalAccount:
        """The account as eth-account has it, which signs without the node."""
        require_web3()
        from eth_account import Account  # noqa: PLC0415 - comes with web3.py

        signer: LocalAccount = Account.from_key(self.key)
        return signer


class LayerAddress(NamedTuple):
    """The name of a layer, where it is, and what pays for its gas."""

    name: str
    address: str
    chain_id: int
    base_token: BaseToken = ETHER_TOKEN


class DevnetLayer:
    """A running layer, for clients in this process and, by its URLs, for all others."""

    def __init__(
        self,
        served: LayerAddress,
        accounts: Sequence[DevnetAccount],
        channel: LayerChannel,
        console: ConsoleRecorder,
        failures: FailureRecorder,
    ) -> None:
        self.name = served.name
        self.url = f"http://{served.address}"
        self.ws_url = f"ws://{served.address}"
        self.chain_id = served.chain_id
        self.base_token = served.base_token
        """The token that pays for gas: its symbol, its decimals, and its address on L1."""
        self.accounts = tuple(accounts)
        self.channel = channel
        self.console = console
        """The output of contracts by `console.log`."""
        self.records = LayerRecords(self.name, self.title, console, failures)
        """The records of its clients."""
        self._ids = itertools.count(1)

    @property
    def title(self) -> str:
        """The name, the chain id and the URL, for people."""
        # Each of several L2s is named by its id.
        layer = "L2" if self.name.isdigit() else self.name
        return f"{layer} {self.chain_id} at {self.url}"

    def __repr__(self) -> str:
        return f"<{self.title}>"

    def request(self, method: str, *params: Any) -> Any:
        """Return the result of a method, as JSON has it; an error is raised as `MethodFailed`."""
        call = {"jsonrpc": "2.0", "id": next(self._ids), "method": method, "params": params}
        position = self.console.total
        response = msgspec.json.decode(self.channel.respond(msgspec.json.encode(call)))
        error = response.get("error")
        if error is not None:
            self.records.fail(method, params, error, position)
            raise MethodFailed(method, error["code"], error["message"], error.get("data"))
        return response["result"]

    @cached_property
    def w3(self) -> Web3:
        """A web3.py client."""
        return self.new_w3()

    @cached_property
    def async_w3(self) -> AsyncWeb3[Any]:
        """An asynchronous web3.py client, for one event loop."""
        return self.new_async_w3()

    def new_w3(self) -> Web3:
        """Return a web3.py client with middleware of its own; its default account is the first one."""
        require_web3()
        from web3 import Web3  # noqa: PLC0415 - importing it takes half a second

        from entresol.inprocess.layer_provider import LayerProvider  # noqa: PLC0415

        client = Web3(LayerProvider(self.channel, self.records))
        if self.accounts:
            client.eth.default_account = self.accounts[0].address
        return client

    def new_async_w3(self) -> AsyncWeb3[Any]:
        """Return an asynchronous web3.py client of its own."""
        require_web3()
        from web3 import AsyncWeb3  # noqa: PLC0415 - importing it takes half a second

        from entresol.inprocess.async_layer_provider import AsyncLayerProvider  # noqa: PLC0415

        return AsyncWeb3(AsyncLayerProvider(self.channel, self.records))
