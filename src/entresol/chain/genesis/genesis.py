"""Genesis: the initial state and header of a chain, as a value and as geth's JSON."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, Self

import msgspec

from entresol._native import Account, keccak256, public_key
from entresol.bounded_file import read_file
from entresol.chain.genesis import geth_json
from entresol.chain.genesis.geth_json import (
    optional,
    read_data,
    read_number,
    read_word,
    required,
    within,
)
from entresol.errors import InvalidGenesis
from entresol.primitives.anchor import Anchor
from entresol.primitives.headers import ForkFields, Header
from entresol.primitives.values import Address, Data, Hash32, Nonce8, Quantity, Quantity64

DEFAULT_GAS_LIMIT: Final = 30_000_000
DEFAULT_BASE_FEE: Final = 1_000_000_000
MAX_NUMBER: Final = 2**53 - 1
"""JavaScript clients read numbers of blocks as doubles."""
MAX_FILE_BYTES: Final = 512 << 20

_NO_FIELDS: Final = ForkFields()


class GenesisAccount(msgspec.Struct, frozen=True, kw_only=True):
    """An account of the genesis; its code may exceed the limit for deployed code."""

    balance: int = 0
    nonce: int = 0
    code: bytes = b""
    storage: Mapping[Hash32, Hash32] = msgspec.field(default_factory=dict)
    secret_key: Hash32 | None = None
    """Its key, which a file may give so that a development node can sign; it is not part of the state."""
    keeps_storage: bool = False
    """On a fork: whether slots that are not listed are those of the remote."""

    def __post_init__(self) -> None:
        _check("balance", self.balance, Quantity)
        _check("nonce", self.nonce, Quantity64)

    def same_state(self, other: GenesisAccount) -> bool:
        """Return whether both are the same account in the state, where a zero slot is not a slot."""
        return (self.balance, self.nonce, self.code) == (
            *(other.balance, other.nonce, other.code),
        ) and _nonzero(self.storage) == _nonzero(other.storage)

    def to_json(self) -> dict[str, object]:
        """Return the account as geth writes it."""
        item: dict[str, object] = {"balance": hex(self.balance)}
        if self.nonce:
            item["nonce"] = hex(self.nonce)
        if self.code:
            item["code"] = str(Data(self.code))
        if self.storage:
            item["storage"] = {str(slot): str(self.storage[slot]) for slot in sorted(self.storage)}
        return item


class GenesisState(msgspec.Struct, frozen=True, kw_only=True):
    """The initial state in the engine's terms: accounts, nonzero slots, codes by hash."""

    accounts: dict[Address, Account]
    storage: dict[Address, dict[bytes, bytes]]
    codes: dict[bytes, bytes]


class Genesis(msgspec.Struct, frozen=True, kw_only=True):
    """The initial state and header of a chain; the header does not commit to the chain id, so both identify it."""

    chain_id: int
    number: int = 0
    timestamp: int = 0
    gas_limit: int = DEFAULT_GAS_LIMIT
    base_fee: int = DEFAULT_BASE_FEE
    beneficiary: Address = Address.zero()
    extra_data: bytes = b""
    difficulty: int = 0
    mix_hash: Hash32 = Hash32.zero()
    nonce: Nonce8 = Nonce8.zero()
    alloc: Mapping[Address, GenesisAccount]
    anchor: Anchor | None = None
    """The block of a remote chain that is the genesis block of a fork; the alloc is laid over its state."""

    def __post_init__(self) -> None:
        _check("config.chainId", self.chain_id, Quantity64)
        if self.chain_id == 0:
            raise InvalidGenesis("a chain id is at least 1", field="config.chainId")
        if not 0 <= self.number <= MAX_NUMBER:
            raise InvalidGenesis(f"is from 0 to {MAX_NUMBER}, got {self.number}", field="number")
        _check("timestamp", self.timestamp, Quantity64)
        _check("gasLimit", self.gas_limit, Quantity64)
        _check("baseFeePerGas", self.base_fee, Quantity64)
        _check("difficulty", self.difficulty, Quantity)

    @classmethod
    def development(
        cls,
        chain_id: int,
        accounts: Iterable[Address],
        balance: int,
        predeploys: Mapping[Address, GenesisAccount] | None = None,
    ) -> Self:
        """Return a genesis with `balance` for each of `accounts`, and with `predeploys`."""
        alloc = {address: GenesisAccount(balance=balance) for address in accounts}
        for address, account in (predeploys or {}).items():
            if address in alloc:
                raise InvalidGenesis("is both funded and a predeploy", field=f"alloc.{address}")
            alloc[address] = account
        return cls(chain_id=chain_id, alloc=alloc)

    @classmethod
    def of_header(
        cls,
        header: Header,
        chain_id: int,
        alloc: Mapping[Address, GenesisAccount],
        anchor: Anchor | None = None,
    ) -> Self:
        """Return the genesis whose block has this header."""
        return cls(
            chain_id=chain_id,
            number=header.number,
            timestamp=header.timestamp,
            gas_limit=header.gas_limit,
            base_fee=header.base_fee_per_gas,
            beneficiary=header.beneficiary,
            extra_data=header.extra_data,
            difficulty=header.difficulty,
            mix_hash=header.mix_hash,
            nonce=header.nonce,
            alloc=alloc,
            anchor=anchor,
        )

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read the geth-style JSON file at `path`."""
        try:
            document = read_file(path, MAX_FILE_BYTES)
        except OSError as error:
            problem = f"{error.strerror or error} (--genesis, --init)"
            raise InvalidGenesis(problem, field=str(path)) from error
        with within(str(path), ": "):
            return cls.parse(document)

    @classmethod
    def parse(cls, document: bytes) -> Self:
        """Read geth-style JSON; forks and unknown fields are ignored, and the default base fee is London's first."""
        item = geth_json.parse_document(document)
        return cls(
            chain_id=required(item, "config", _read_chain_id),
            number=optional(item, "number", read_number, 0),
            timestamp=optional(item, "timestamp", read_number, 0),
            gas_limit=required(item, "gasLimit", read_number),
            base_fee=optional(item, "baseFeePerGas", read_number, DEFAULT_BASE_FEE),
            beneficiary=optional(item, "coinbase", Address.parse, Address.zero()),
            extra_data=optional(item, "extraData", read_data, b""),
            difficulty=optional(item, "difficulty", read_number, 0),
            mix_hash=optional(item, "mixHash", Hash32.parse, Hash32.zero()),
            nonce=optional(item, "nonce", _read_header_nonce, Nonce8.zero()),
            alloc=required(item, "alloc", _read_alloc),
        )

    def dump(self) -> bytes:
        """Return the JSON that `parse` reads, in a canonical form."""
        document = {
            "config": {"chainId": self.chain_id},
            **({} if self.anchor is None else {"anchor": str(self.anchor)}),
            **self.header_json(),
            "alloc": {
                str(address): self.alloc[address].to_json() for address in sorted(self.alloc)
            },
        }
        return msgspec.json.format(msgspec.json.encode(document)) + b"\n"

    def header_json(self) -> dict[str, str]:
        """Return the fields of the header as geth writes them."""
        return {
            "nonce": str(self.nonce),
            "timestamp": hex(self.timestamp),
            "extraData": str(Data(self.extra_data)),
            "gasLimit": hex(self.gas_limit),
            "difficulty": hex(self.difficulty),
            "mixHash": str(self.mix_hash),
            "coinbase": str(self.beneficiary),
            "number": hex(self.number),
            "baseFeePerGas": hex(self.base_fee),
        }

    def state(self) -> GenesisState:
        """Return the initial state, with accounts that are listed but empty, as in geth: mainnet's genesis has two."""
        hashes = {address: keccak256(item.code) for address, item in self.alloc.items()}
        slots = {address: _nonzero(item.storage) for address, item in self.alloc.items()}
        return GenesisState(
            accounts={
                address: Account(item.nonce, item.balance, hashes[address])
                for address, item in self.alloc.items()
            },
            storage={address: storage for address, storage in slots.items() if storage},
            codes={hashes[a]: item.code for a, item in self.alloc.items() if item.code},
        )

    def header(self, state_root: Hash32, fields: ForkFields = _NO_FIELDS) -> Header:
        """Return the header of the genesis block with a state root and the fork's fields; that of a fork is its anchor's."""
        if self.anchor is not None:
            return msgspec.structs.replace(self.anchor.header, state_root=state_root)
        return Header(
            parent_hash=Hash32.zero(),
            beneficiary=self.beneficiary,
            state_root=state_root,
            difficulty=self.difficulty,
            number=self.number,
            gas_limit=self.gas_limit,
            timestamp=self.timestamp,
            extra_data=self.extra_data,
            mix_hash=self.mix_hash,
            nonce=self.nonce,
            base_fee_per_gas=self.base_fee,
            withdrawals_root=fields.withdrawals_root,
            blob_gas_used=None if fields.excess_blob_gas is None else 0,
            excess_blob_gas=fields.excess_blob_gas,
            parent_beacon_block_root=fields.parent_beacon_block_root,
            requests_hash=fields.requests_hash,
        )


def _read_alloc(value: object) -> dict[Address, GenesisAccount]:
    return geth_json.read_table(value, Address.parse, _read_account)


def _read_account(value: object) -> GenesisAccount:
    item = geth_json.read_object(value)
    return GenesisAccount(
        balance=optional(item, "balance", read_number, 0),
        nonce=optional(item, "nonce", read_number, 0),
        code=optional(item, "code", read_data, b""),
        storage=optional(item, "storage", _read_storage, {}),
        secret_key=optional(item, "secretKey", _read_secret_key, None),
    )


def _read_secret_key(value: object) -> Hash32 | None:
    secret = Hash32.parse(value)
    public_key(secret)
    return secret


def _read_storage(value: object) -> dict[Hash32, Hash32]:
    return geth_json.read_table(value, read_word, read_word)


def _read_chain_id(value: object) -> int:
    return required(geth_json.read_object(value), "chainId", read_number)


def _read_header_nonce(value: object) -> Nonce8:
    return Nonce8(Quantity64(read_number(value)).to_bytes(8))


def _check(field: str, value: int, kind: type[Quantity]) -> None:
    """Reject a number that does not fit `kind`."""
    with within(field):
        kind(value)


def _nonzero(storage: Mapping[Hash32, Hash32]) -> dict[bytes, bytes]:
    return {slot: value for slot, value in storage.items() if any(value)}
