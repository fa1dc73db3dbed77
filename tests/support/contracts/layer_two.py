"""An in-memory L2 with its system contracts, for calls, transactions and deposits."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from eth_abi.abi import decode as abi_decode
from eth_abi.abi import encode as abi_encode
from eth_abi.grammar import TupleType, parse

from entresol._native import address_of, keccak256, public_key
from entresol.chain.chain import Chain
from entresol.chain.clock import Clock
from entresol.chain.genesis.genesis import Genesis
from entresol.chain.genesis.stored_genesis import ExpectedGenesis
from entresol.chain.rules import ChainRules
from entresol.contracts import Artifact
from entresol.contracts import decode as decode_artifact
from entresol.errors import ExecutionReverted
from entresol.execution.calls import CallRequest, call
from entresol.execution.evm_env import BlockEnv, EvmEnv
from entresol.primitives.base_token import ETH_TOKEN, BaseToken, asset_id
from entresol.primitives.l2_to_l1_logs import L2ToL1Log
from entresol.primitives.records import TransactionResult
from entresol.primitives.transactions import PriorityTransaction, sign
from entresol.primitives.values import Address
from entresol.rollup.system_contracts import ASSET_ROUTER, system_genesis
from entresol.sequencer.sequencer import InlineSequencer
from tests.support.chain.dev_chain import fee_market, priority_transaction
from tests.support.contracts.engine import alias

ARTIFACTS = Path(__file__).parents[2] / "contracts" / "artifacts"

CHAIN_ID = 270
L1_CHAIN_ID = 9
L1_ASSET_ROUTER = Address(b"\x5b" * 20)
ROUTER_ALIAS = alias(L1_ASSET_ROUTER)
FEE = 100_000_000
ETHER = 10**18

SECRETS = [bytes([number]) * 32 for number in (1, 2)]
ALICE, BOB = (Address(address_of(public_key(secret))) for secret in SECRETS)
L1_TOKEN = Address(b"\x70" * 20)
L1_ASSET = asset_id(L1_CHAIN_ID, L1_TOKEN)

Log = tuple[bytes, tuple[bytes, ...], bytes]


def types_of(types: str) -> list[str]:
    if types == "()":
        return []
    parsed = parse(types)
    assert isinstance(parsed, TupleType)
    return [member.to_type_str() for member in parsed.components]


def encode(types: str, *values: object) -> bytes:
    return abi_encode(types_of(types), values)


def decode(types: str, data: bytes) -> Any:
    values = abi_decode(types_of(types), data)
    return values[0] if len(values) == 1 else values


def calldata(signature: str, *values: object) -> bytes:
    name = signature.partition("(")[0]
    return keccak256(signature.encode())[:4] + encode(signature[len(name) :], *values)


def failure(signature: str, *values: object) -> bytes:
    return calldata(signature, *values)


def topic(signature: str) -> bytes:
    return keccak256(signature.encode())


def padded(address: bytes) -> bytes:
    return address.rjust(32, b"\0")


def metadata(name: bytes, symbol: bytes, decimals: bytes, chain_id: int = L1_CHAIN_ID) -> bytes:
    return b"\x01" + encode("(uint256,bytes,bytes,bytes)", chain_id, name, symbol, decimals)


CROWN = metadata(encode("(string)", "Crown"), encode("(string)", "CRWN"), encode("(uint256)", 6))


@contextmanager
def failing(data: bytes) -> Iterator[None]:
    with pytest.raises(ExecutionReverted) as caught:
        yield
    assert caught.value.data == data


class LayerTwo:
    """An L2 chain, with calls, transactions and deposits."""

    def __init__(
        self,
        *,
        base_token: Address = ETH_TOKEN,
        l1_takes_l2_tokens: bool = True,
        paymaster_balance: int | None = None,
        publishes: bool = False,
    ) -> None:
        system = system_genesis(
            l1_chain_id=L1_CHAIN_ID,
            l1_asset_router=L1_ASSET_ROUTER,
            base_token=BaseToken(l1_address=base_token),
            l1_takes_l2_tokens=l1_takes_l2_tokens,
            paymaster_balance=paymaster_balance,
        )
        self.genesis = Genesis.development(CHAIN_ID, [ALICE, BOB], 100 * ETHER, system)
        clock = Clock(lambda: 1_000.0)
        expected = ExpectedGenesis(self.genesis, lambda _stored, _expected: ())
        rules = msgspec.structs.replace(ChainRules.layer_2(CHAIN_ID, FEE), publishes=publishes)
        self.chain = Chain.open(None, rules, expected, clock=clock)
        self._deposits = 0

    def close(self) -> None:
        self.chain.close()

    def call(
        self, to: Address | None, data: bytes, *, sender: Address = ALICE, value: int = 0
    ) -> bytes:
        return call(self.evm_env(), CallRequest(sender=sender, to=to, data=data, value=value))

    def evm_env(self) -> EvmEnv:
        block = BlockEnv(
            number=self.chain.number + 1,
            timestamp=self.chain.head.timestamp + 1,
            gas_limit=self.chain.rules.gas_limit,
            base_fee=FEE,
        )
        return EvmEnv(self.chain.latest, self.chain.rules.evm_rules(), block)

    def read(self, to: Address, signature: str, *values: object, sender: Address = ALICE) -> Any:
        """Call `name(types)(types of the result)`, and return the result."""
        function, _, result = signature.partition(")(")
        raw = self.call(to, calldata(f"{function})", *values), sender=sender)
        return decode(f"({result}", raw)

    def send(
        self, to: Address | None, data: bytes, *, by: int = 0, value: int = 0, gas: int = 5_000_000
    ) -> TransactionResult:
        sender = (ALICE, BOB)[by]
        account = self.chain.latest.account(sender)
        payload = fee_market(
            0 if account is None else account.nonce,
            to,
            chain_id=CHAIN_ID,
            value=value,
            data=data,
            gas=gas,
            fee=FEE,
        )
        InlineSequencer(self.chain).submit(sign(payload, SECRETS[by]).raw)
        return self.last()

    def from_l1(
        self,
        data: bytes,
        *,
        to: Address = ASSET_ROUTER,
        sender: Address = ROUTER_ALIAS,
        value: int = 0,
        gas: int = 2_000_000,
    ) -> TransactionResult:
        payload = priority_transaction(
            self._deposits,
            sender=sender,
            to=to,
            gas_limit=gas,
            fee=FEE,
            value=value,
            to_mint=value + gas * FEE,
            refund_recipient=BOB,
            data=data,
        )
        self._deposits += 1
        return self.take(payload)

    def take(self, payload: PriorityTransaction) -> TransactionResult:
        self.chain.enqueue(payload)
        self.chain.builder.seal()
        return self.last()

    def deposit(
        self,
        amount: int = 1_000,
        *,
        receiver: Address = ALICE,
        token: Address = L1_TOKEN,
        description: bytes = CROWN,
    ) -> TransactionResult:
        """Let a token arrive as the asset router of L1 sends it."""
        return self.from_l1(deposit_call(amount, receiver, token, description))

    def deploy(self, contract: Artifact, types: str = "()", *arguments: object) -> Address:
        outcome = self.send(None, contract.bytecode + encode(types, *arguments))
        assert outcome.succeeded
        assert outcome.created is not None
        return Address(outcome.created)

    def last(self) -> TransactionResult:
        return self.chain.blocks.record(self.chain.number).results[-1]

    def balance(self, address: Address) -> int:
        account = self.chain.latest.account(address)
        return 0 if account is None else account.balance

    def code(self, address: Address) -> bytes:
        account = self.chain.latest.account(address)
        return b"" if account is None else self.chain.latest.code(account.code_hash)

    def token_balance(self, token: Address, owner: Address) -> int:
        balance: int = self.read(token, "balanceOf(address)(uint256)", owner)
        return balance


def deposit_call(
    amount: int, receiver: Address, token: Address = L1_TOKEN, description: bytes = CROWN
) -> bytes:
    data = encode(
        "(address,address,address,uint256,bytes)", BOB, receiver, token, amount, description
    )
    return calldata(
        "finalizeDeposit(uint256,bytes32,bytes)", L1_CHAIN_ID, asset_id(L1_CHAIN_ID, token), data
    )


def artifact_for_tests(name: str) -> Artifact:
    return decode_artifact((ARTIFACTS / f"{name}.json").read_bytes())


def logs_of(outcome: TransactionResult, address: Address, first_topic: bytes) -> list[Log]:
    return [log for log in outcome.logs if log[0] == address and log[1][:1] == (first_topic,)]


def messages_of(outcome: TransactionResult) -> list[L2ToL1Log]:
    return [L2ToL1Log.unpack(packed) for packed in outcome.l2_to_l1_logs]
