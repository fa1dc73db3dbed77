"""Transactions on their way: drafted by the generator, signed, and as the engine takes them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from eth_account import Account
from eth_account.signers.local import LocalAccount

from entresol._native import TxEnv, keccak256

CHAIN_ID = 31337
AccessList = Sequence[tuple[bytes, Sequence[bytes]]]


@dataclass(frozen=True)
class Actor:
    name: str

    @cached_property
    def account(self) -> LocalAccount:
        signer: LocalAccount = Account.from_key(keccak256(self.name.encode()))
        return signer

    @cached_property
    def address(self) -> bytes:
        return bytes.fromhex(self.account.address[2:])


@dataclass(frozen=True)
class Authorization:
    authority: Actor
    delegate: bytes
    nonce: int
    chain_id: int = CHAIN_ID

    @cached_property
    def signed(self) -> tuple[int, bytes, int, int, int, int]:
        """The fields, as the engine takes them."""
        wish = {"chainId": self.chain_id, "address": self.delegate, "nonce": self.nonce}
        # eth_account declares a message; it returns an authorization.
        signed: Any = self.authority.account.sign_authorization(wish)
        return self.chain_id, self.delegate, self.nonce, signed.y_parity, signed.r, signed.s

    @property
    def fields(self) -> dict[str, Any]:
        """The fields, as eth_account takes them."""
        names = ("chainId", "address", "nonce", "yParity", "r", "s")
        return dict(zip(names, self.signed, strict=True))


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A transaction before it has a sender and a nonce; without a type it has the simplest of later ones."""

    to: bytes | None
    data: bytes = b""
    value: int = 0
    gas: int = 400_000
    type: int | None = None
    gas_price: int = 3 * 10**9
    tip: int = 10**9
    chain_id: int | None = CHAIN_ID
    access_list: AccessList = ()
    authorizations: Sequence[Authorization] = ()


@dataclass(frozen=True)
class Signed:
    kind: str
    draft: Draft
    sender: Actor
    nonce: int
    type: int

    @cached_property
    def raw(self) -> bytes:
        return bytes(self.sender.account.sign_transaction(self._fields()).raw_transaction)

    @cached_property
    def hash(self) -> bytes:
        return keccak256(self.raw)

    @cached_property
    def message(self) -> TxEnv:
        draft = self.draft
        return TxEnv(
            sender=self.sender.address,
            gas_limit=draft.gas,
            to=draft.to,
            value=draft.value,
            data=draft.data,
            gas_price=draft.gas_price,
            priority_fee=draft.tip if self.type >= 2 else None,
            nonce=self.nonce,
            chain_id=draft.chain_id,
            access_list=draft.access_list if self.type >= 1 else None,
            authorizations=[a.signed for a in draft.authorizations] if self.type == 4 else None,
        )

    def _fields(self) -> dict[str, Any]:
        draft = self.draft
        fields: dict[str, Any] = {
            "nonce": self.nonce,
            "gas": draft.gas,
            "to": draft.to or b"",
            "value": draft.value,
            "data": draft.data,
        }
        if draft.chain_id is not None:
            fields["chainId"] = draft.chain_id
        if self.type >= 1:
            fields["type"] = self.type
            fields["accessList"] = [
                {"address": address, "storageKeys": ["0x" + slot.hex() for slot in slots]}
                for address, slots in draft.access_list
            ]
        if self.type >= 2:
            fields |= {"maxFeePerGas": draft.gas_price, "maxPriorityFeePerGas": draft.tip}
        else:
            fields["gasPrice"] = draft.gas_price
        if self.type == 4:
            fields["authorizationList"] = [a.fields for a in draft.authorizations]
        return fields
