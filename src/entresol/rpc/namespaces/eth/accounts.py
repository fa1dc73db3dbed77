"""The node's own accounts: `eth_sendTransaction`, `eth_sign` and `personal_sign`."""

from __future__ import annotations

from collections.abc import Awaitable
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import msgspec
from msgspec import Raw

from entresol.errors import (
    AccountsLocked,
    ExecutionFailed,
    InvalidTransaction,
    MalformedValue,
    PoolRejection,
    TransactionFailed,
    UnknownAccount,
)
from entresol.offload import POLICY, Offload, started
from entresol.primitives.transactions import unsigned
from entresol.primitives.typed_data import TypedData, personal_hash
from entresol.primitives.values import Address, Data, Hash32
from entresol.rpc.jsonrpc.codec import encode
from entresol.rpc.jsonrpc.method import Order, method
from entresol.rpc.jsonrpc.model import DataText
from entresol.rpc.models.chain_objects import FilledTransactionInfo
from entresol.rpc.types.call_request import TransactionObject

if TYPE_CHECKING:
    from entresol.chain.keyring import Keyring
    from entresol.primitives.transactions import Transaction
    from entresol.rpc.services.fill_transaction import TransactionFiller
    from entresol.rpc.services.rendered_chain import RenderedChain
    from entresol.sequencer.submission import Submission


class TypedDataObject:
    """Typed data as clients send it: an object, or its JSON as a string."""

    __slots__ = ("signing_hash",)

    json_schema: ClassVar[dict[str, Any]] = {"type": ["object", "string"]}

    def __init__(self, document: TypedData) -> None:
        # Hashed here, so that an error has a path in the parameters.
        self.signing_hash = document.signing_hash()

    @classmethod
    def parse(cls, value: object) -> TypedDataObject:
        """Read either."""
        if isinstance(value, str):
            try:
                value = msgspec.json.decode(value)
            except (msgspec.DecodeError, RecursionError) as error:
                raise MalformedValue(f"the text is not JSON: {error}") from None
        return cls(TypedData.parse(value))


class EthAccounts:
    """The accounts whose keys the node has, and those it impersonates."""

    prefix = "eth"

    def __init__(
        self,
        submission: Submission,
        keyring: Keyring,
        filler: TransactionFiller,
        rendered: RenderedChain,
        *,
        signs_to_bytes: bool = False,
    ) -> None:
        self._submission = submission
        self._signs_to_bytes = signs_to_bytes
        self._keyring = keyring
        self._filler = filler
        self._rendered = rendered

    @method(getter=True)
    def accounts(self) -> list[Address]:
        """Return the accounts that the node controls: its own, then impersonated ones."""
        return self._keyring.addresses

    @method(getter=True)
    def request_accounts(self) -> list[Address]:
        """Return the accounts that the node controls, which wallets request from the user (EIP-1102)."""
        return self._keyring.addresses

    @method(UnknownAccount, InvalidTransaction, ExecutionFailed)
    def fill_transaction(
        self, transaction: TransactionObject
    ) -> Annotated[Raw, FilledTransactionInfo] | Awaitable[Raw]:
        """Fill in a transaction of any sender, by default the first account; return its bytes and fields, unsigned."""
        return started(self._fill(transaction))

    @method(
        *(UnknownAccount, AccountsLocked, InvalidTransaction, PoolRejection),
        *(ExecutionFailed, TransactionFailed),
        order=Order.GROUPED,
    )
    def send_transaction(self, transaction: TransactionObject) -> Hash32 | Awaitable[Hash32]:
        """Fill in, sign and submit a transaction of one of the node's accounts; return its hash.

        On a node with developer methods, one without a gas limit that would fail is sent with the gas of a block, and
        fails there. With `--hardhat-errors`, a failure in the block is an error, too.
        """
        return started(self.send(transaction))

    async def send(self, transaction: TransactionObject, *, reports_failure: bool = True) -> Hash32:
        """Fill in, sign and submit a transaction, after everything that its sender has sent before."""
        sender = self._keyring.sender(transaction.from_)
        async with self._submission.turn(sender):
            payload, sidecar = await self._filler.fill(transaction, sender, is_sent=True)
            signed = self._keyring.transaction(payload, sender, sidecar)
            response = await self._submission.send(signed, reports_failure=reports_failure)
        return await response

    @method(UnknownAccount, AccountsLocked, InvalidTransaction, ExecutionFailed)
    async def sign_transaction(
        self, transaction: TransactionObject
    ) -> Annotated[Raw, DataText | FilledTransactionInfo]:
        """Fill in and sign a transaction without submitting it; return its bytes and fields.

        `entresol anvil` and `--preset anvil` return the bytes only, as anvil does.
        """
        sender = self._keyring.sender(transaction.from_)
        payload, sidecar = await self._filler.fill(transaction, sender)
        signed = self._keyring.sign(payload, sender, sidecar)
        return Raw(encode(Data(signed.sent_raw))) if self._signs_to_bytes else self._filled(signed)

    @method(UnknownAccount, AccountsLocked)
    def sign(self, address: Address, message: Data) -> Data | Offload[Data]:
        """Return an EIP-191 signature over data."""
        return _sign_message(self._keyring, address, message)

    @method(UnknownAccount, AccountsLocked, name="eth_signTypedData_v4")
    def sign_typed_data_v4(self, address: Address, typed_data: TypedDataObject) -> Data:
        """Return an EIP-712 signature over typed data."""
        return Data(self._keyring.sign_digest(address, typed_data.signing_hash))

    @method(UnknownAccount, AccountsLocked)
    def sign_typed_data(self, address: Address, typed_data: TypedDataObject) -> Data:
        """Return an EIP-712 signature over typed data; an alias of `eth_signTypedData_v4`."""
        return self.sign_typed_data_v4(address, typed_data)

    async def _fill(self, transaction: TransactionObject) -> Raw:
        sender = transaction.from_ or self._keyring.sender(None)
        payload, sidecar = await self._filler.fill(transaction, sender, is_for_client=True)
        return self._filled(unsigned(payload, sender, sidecar))

    def _filled(self, transaction: Transaction) -> Raw:
        fields = bytes(self._rendered.pending_transaction(transaction))
        return Raw(b'{"raw":"0x%b","tx":%b}' % (transaction.sent_raw.hex().encode(), fields))


class Personal:
    """The `personal_` namespace: signing by its older name."""

    prefix = "personal"

    def __init__(self, keyring: Keyring) -> None:
        self._keyring = keyring

    @method(UnknownAccount, AccountsLocked)
    def sign(self, message: Data, address: Address) -> Data | Offload[Data]:
        """Return an EIP-191 signature over data; a password is ignored."""
        return _sign_message(self._keyring, address, message)


def _sign_message(keyring: Keyring, address: Address, message: Data) -> Data | Offload[Data]:
    def work() -> Data:
        return Data(keyring.sign_digest(address, personal_hash(message)))

    return work() if len(message) <= POLICY.data_bytes else Offload(work)
