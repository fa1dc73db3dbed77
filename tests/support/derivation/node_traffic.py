"""Random traffic of users and developers on both layers of a running node, with everything that a block can have."""

from __future__ import annotations

import random
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from entresol._native import keccak256, rlp_encode
from entresol._native import sign as sign_digest
from entresol.cli.exit_codes import SUCCEEDED
from entresol.primitives.l2_to_l1_logs import L1_MESSENGER
from entresol.primitives.rlp import encode_uint
from entresol.primitives.transactions import (
    Access,
    AccessListTransaction,
    Authorization,
    FeeMarketTransaction,
    LegacyTransaction,
    SetCodeTransaction,
    SignedPayload,
    ZkTransaction,
    sign,
)
from entresol.primitives.values import Address, Hash32
from entresol.rollup.system_contracts import BASE_TOKEN, NONCE_HOLDER
from entresol.storage import tables
from entresol.storage.store import Store
from tests.support.chain.every_read import Call
from tests.support.chain.traced_chain import created_by
from tests.support.chain.varied_chain import (
    CALLER,
    CODES,
    COUNTER,
    LOGGER,
    NOBODY,
    REVERTER,
    SECRETS,
    SENDERS,
    SIGNER,
    SLOT,
)
from tests.support.contracts.accounts import fill, paymaster_code, sign_by
from tests.support.contracts.layer_two import artifact_for_tests, calldata, encode
from tests.support.derivation.traffic import AUTHORITY, EDITED, PAYMASTER, STRANGER
from tests.support.hex_data import hexed
from tests.support.node_process import ENTRESOL
from tests.support.polling import PATIENCE_SECONDS
from tests.support.rollup.pair import CHAIN_ID, ETHER, USER, Pair
from tests.support.rpc_client import RpcClient, RpcError

GAS: Final = 500_000
FEE: Final = 10**13
"""Far above any base fee that the traffic sets or causes."""
PAID: Final = 2 * GAS * FEE
"""The amount that the paymaster pays: more than any of its transactions costs."""
OTHERS: Final = [Address(bytes([0xC0 + number]) * 20) for number in range(4)]
ADDRESSES: Final = (*SENDERS, *OTHERS, *CODES, AUTHORITY, EDITED, PAYMASTER, STRANGER, NOBODY, USER)
"""Everybody whom the traffic touches, but for contracts that it deploys."""
_DEPLOYED: Final = bytes.fromhex("60016000f3")
_LONGEST_RUN: Final = 40


class NodeTraffic:
    """Sends what users send, and does what developers do, by the API of a node alone.

    Remembers: snapshots of this start of the node. Assumes: nobody else uses the node. Fails: never because a node
    rejects something, which `rejected` counts.
    """

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._pair: Pair | None = None
        self._account = created_by(SENDERS[0], 0)
        self._snapshots: list[str] = []
        self._nonces: dict[Address, int] = {}
        self.sent = 0
        """How many transactions and deposits were accepted, whether or not they were reverted later."""
        self.done: Counter[str] = Counter()
        self.rejected: Counter[str] = Counter()

    @property
    def pair(self) -> Pair:
        """The node."""
        assert self._pair is not None
        return self._pair

    @property
    def _l2(self) -> RpcClient:
        return self.pair.l2

    def meet(self, pair: Pair) -> None:
        """Go on with a node that has started; what it kept in memory is gone."""
        self._pair = pair
        self._snapshots.clear()
        pair.l2("anvil_impersonateAccount", str(STRANGER))

    def begin(self) -> None:
        """Put contracts and accounts onto a new chain."""
        l2 = self._l2
        for address in (*SENDERS, PAYMASTER, STRANGER):
            l2("anvil_setBalance", str(address), hex(10**9 * ETHER))
        for address, code in CODES.items():
            # That of the chain is the real one.
            if address != L1_MESSENGER:
                l2("anvil_setCode", str(address), hexed(bytes.fromhex(code)))
        l2("anvil_setCode", str(PAYMASTER), "0x" + paymaster_code(fee=PAID))
        created = bytes(artifact_for_tests("MultisigAccount").bytecode)
        arguments = encode("(address[],uint256)", [SENDERS[0], SENDERS[1]], 2)
        self._begin_block()
        self._send_raw(self._priced(None, data=created + arguments, gas_limit=5_000_000), 0)
        self._send_raw(self._priced(self._account, value=10**6 * ETHER), 1)

    def act(self) -> None:
        """Do something at random."""
        weights: dict[Callable[[], None], int] = {
            self._transact: 30,
            self._block: 12,
            self._deposit: 6,
            self._edit: 6,
            self._set: 5,
            self._pass_time: 4,
            self._mine: 4,
            self._impersonate: 4,
            self._price: 2,
            self._remember: 2,
            self._revert: 1,
            self._rewind: 1,
        }
        (act,) = self._random.choices(list(weights), list(weights.values()))
        self._begin_block()
        self._try(act.__name__, act)

    def end(self) -> None:
        """Let everything be settled; a batch needs a transaction."""
        self._l2("evm_setAutomine", True)
        self.pair.withdraw(1)
        self.pair.settled()

    def _try(self, name: str, act: Callable[[], object]) -> None:
        try:
            act()
        except RpcError as error:
            self.rejected[f"{name}: {error.message[:60]}"] += 1
        else:
            self.done[name] += 1

    # Transactions

    def _begin_block(self) -> None:
        calls = [("eth_getTransactionCount", [str(sender), "pending"]) for sender in SENDERS]
        found = self._l2.batch(calls)
        self._nonces = {it: int(nonce, 16) for it, nonce in zip(SENDERS, found, strict=True)}

    def _transact(self) -> None:
        self._one_of(
            (self._send, 8), (self._send_zk, 3), (self._send_by_account, 1), (self._send_to_l1, 2)
        )

    def _block(self) -> None:
        """Seal a block with several transactions, and perhaps with a change of a developer amid them."""
        self._l2("evm_setAutomine", False)
        try:
            for _ in range(self._random.randint(2, 12)):
                self._try("in a block", self._transact)
                if self._random.random() < 0.1:
                    self._try("edit in a block", self._edit)
            self._l2("evm_mine")
        finally:
            self._l2("evm_setAutomine", True)

    def _one_of(self, *actions: tuple[Callable[[], None], int]) -> None:
        (act,) = self._random.choices([it for it, _ in actions], [weight for _, weight in actions])
        act()

    def _send(self) -> None:
        self._send_raw(self._random.choice(self._payloads()), self._random.randrange(len(SENDERS)))

    def _send_raw(self, payload: SignedPayload, index: int) -> None:
        sender = SENDERS[index]
        payload = msgspec.structs.replace(payload, nonce=self._nonces[sender])
        self._submit(sign(payload, SECRETS[index], sender=sender).raw)
        self._nonces[sender] += 1

    def _submit(self, raw: bytes) -> None:
        self._l2("eth_sendRawTransaction", hexed(raw))
        self.sent += 1

    def _priced(self, to: Address | None, **fields: Any) -> LegacyTransaction:
        found: dict[str, Any] = {
            "gas_price": FEE,
            "gas_limit": GAS,
            "nonce": 0,
            "chain_id": CHAIN_ID,
        }
        return LegacyTransaction(**(found | fields), to=to)

    def _payloads(self) -> Sequence[SignedPayload]:
        choice = self._random
        priced: dict[str, Any] = {
            "gas_price": FEE,
            "gas_limit": GAS,
            "nonce": 0,
            "chain_id": CHAIN_ID,
        }
        capped: dict[str, Any] = {
            "chain_id": CHAIN_ID, "max_fee_per_gas": FEE, "max_priority_fee_per_gas": choice.choice((0, 1, 10**6)),
            "gas_limit": GAS, "nonce": 0,
        }  # fmt: skip
        accesses = (Access(LOGGER, (SLOT,)), Access(NOBODY), Access(COUNTER, (SLOT,)))
        to = choice.choice(list(CODES))
        gas = 2_000_000 if to == CALLER else GAS
        large = choice.randbytes(choice.choice((1, 500, 8_000)))
        return (
            self._priced(NOBODY, value=5),
            LegacyTransaction(gas_price=FEE, gas_limit=GAS, nonce=0, to=NOBODY),
            self._priced(None, data=_DEPLOYED),
            FeeMarketTransaction(**capped, to=None, data=b"\xfe"),
            FeeMarketTransaction(
                **(capped | {"gas_limit": gas}), to=to, data=choice.randbytes(5), value=7
            ),
            self._priced(COUNTER, gas_limit=30_000),
            AccessListTransaction(**priced, to=COUNTER, access_list=accesses),
            FeeMarketTransaction(**(capped | {"gas_limit": 2_000_000}), to=LOGGER, data=large),
            SetCodeTransaction(**capped, to=LOGGER, authorizations=(self._authorization(),)),
            SetCodeTransaction(**capped, to=AUTHORITY, authorizations=(self._authorization(),) * 2),
        )

    def _authorization(self) -> Authorization:
        nonce = int(self._l2("eth_getTransactionCount", str(AUTHORITY), "latest"), 16)
        target = self._random.choice((LOGGER, COUNTER, Address.zero()))
        digest = keccak256(
            b"\x05" + rlp_encode([encode_uint(CHAIN_ID), target, encode_uint(nonce)])
        )
        signature = sign_digest(digest, SIGNER)
        r, s = int.from_bytes(signature[:32]), int.from_bytes(signature[32:64])
        return Authorization(CHAIN_ID, target, nonce, signature[64], r, s)

    def _send_zk(self) -> None:
        choice = self._random
        fields: dict[str, Any] = {
            "max_fee_per_gas": FEE, "gas_limit": GAS, "to": choice.choice((LOGGER, COUNTER, REVERTER, NOBODY)),
        }  # fmt: skip
        if choice.random() < 0.5:
            fields["paymaster"] = PAYMASTER
        if choice.random() < 0.3:
            fields["factory_deps"] = (choice.randbytes(32), bytes(96))
        index = choice.randrange(len(SENDERS))
        self._send_raw(fill(SENDERS[index], **fields), index)

    def _send_by_account(self) -> None:
        data = calldata("getMinNonce(address)", self._account)
        nonce = int(
            self._l2("eth_call", {"to": str(NONCE_HOLDER), "data": hexed(data)}, "latest"), 16
        )
        payload: ZkTransaction = fill(
            self._account, to=NOBODY, value=3, nonce=nonce, max_fee_per_gas=FEE, gas_limit=2_000_000,
        )  # fmt: skip
        self._submit(sign_by(payload, SECRETS[0], SECRETS[1]).encode())

    def _send_to_l1(self) -> None:
        data = calldata("sendToL1(bytes)", self._random.randbytes(self._random.randrange(60)))
        to, value = L1_MESSENGER, 0
        if self._random.random() < 0.5:
            data, to, value = calldata("withdraw(address)", NOBODY), BASE_TOKEN, 7
        self._send_raw(
            self._priced(to, data=data, value=value), self._random.randrange(len(SENDERS))
        )

    def _impersonate(self) -> None:
        sent: dict[str, Any] = {
            "from": str(STRANGER),
            "to": str(LOGGER),
            "value": "0x1",
            "gas": hex(GAS),
            "gasPrice": hex(FEE),
        }
        if self._random.random() < 0.3:
            sent = sent | {"type": "0x71", "eip712Meta": {"gasPerPubdata": "0xc350"}}
        self._l2("eth_sendTransaction", sent)
        self.sent += 1

    def _deposit(self) -> None:
        choice = self._random
        for _ in range(choice.choice((1, 1, 4))):
            to = choice.choice((LOGGER, COUNTER, NOBODY, REVERTER))
            dependencies = [bytes(32)] if choice.random() < 0.2 else []
            gas_limit = choice.choice((300_000, 1_000_000, 5_000_000))
            self.pair.deposit(
                choice.randrange(1_000), to=to, data=choice.randbytes(9), dependencies=dependencies, gas_limit=gas_limit,
            )  # fmt: skip
            self.sent += 1

    # What developers do

    def _edit(self) -> None:
        choice, l2 = self._random, self._l2
        other = str(choice.choice(OTHERS))
        words = [hexed(choice.randrange(3).to_bytes(32)) for _ in range(2)]
        for method, *parameters in choice.sample(
            (
                ("anvil_setBalance", str(EDITED), hex(choice.randrange(5))),
                ("anvil_setBalance", other, "0x0"),
                ("anvil_setNonce", other, hex(choice.randrange(4))),
                ("anvil_setCode", other, hexed(bytes([0x60, choice.randrange(4), 0x60, 0, 0x55]))),
                ("anvil_setCode", other, "0x"),
                ("anvil_setCode", other, hexed(choice.randbytes(choice.choice((3, 24_000))))),
                ("anvil_setStorageAt", other, *words),
                ("anvil_setStorageAt", str(COUNTER), *words),
                ("anvil_addBalance", str(STRANGER), "0x7"),
            ),
            choice.randint(1, 4),
        ):
            l2(method, *parameters)

    def _set(self) -> None:
        choice = self._random
        method, value = choice.choice(
            (
                ("evm_setBlockGasLimit", hex(choice.choice((29_000_000, 30_000_000, 40_000_000)))),
                ("anvil_setCoinbase", str(choice.choice((EDITED, NOBODY, Address.zero())))),
                ("anvil_setNextBlockBaseFeePerGas", hex(choice.choice((0, 7, 10**8, 10**9)))),
                ("hardhat_setPrevRandao", str(Hash32(choice.randbytes(32)))),
            )
        )
        self._l2(method, value)

    def _pass_time(self) -> None:
        choice, l2 = self._random, self._l2
        kind = choice.randrange(4)
        if kind == 0:
            l2("evm_increaseTime", choice.choice((0, 1, 1_000)))
        elif kind == 1:
            now = int(l2("eth_getBlockByNumber", "latest", False)["timestamp"], 16)
            l2("evm_setNextBlockTimestamp", hex(now + choice.choice((0, 1, 500))))
        elif kind == 2:
            l2("anvil_setBlockTimestampInterval", choice.choice((0, 1, 12)))
        else:
            l2("anvil_removeBlockTimestampInterval")

    def _mine(self) -> None:
        self._l2(
            "anvil_mine", hex(self._random.randint(1, _LONGEST_RUN)), hex(self._random.randrange(4))
        )

    def _price(self) -> None:
        self.pair.l1(
            "anvil_setNextBlockBaseFeePerGas",
            hex(self._random.choice((1, 10**9, 3 * 10**9, 10**10))),
        )
        self.pair.l1("evm_mine")

    def _remember(self) -> None:
        self._snapshots.append(self._layer()("evm_snapshot"))

    def _revert(self) -> None:
        if self._snapshots:
            index = self._random.randrange(len(self._snapshots))
            self._layer()("evm_revert", self._snapshots[index])
            del self._snapshots[index:]

    def _rewind(self) -> None:
        choice, l2 = self._random, self._l2
        depth = choice.randint(1, 5)
        if choice.random() < 0.3:
            l2("anvil_reorg", depth, [])
        else:
            self._layer()("anvil_rollback", depth)

    def _layer(self) -> RpcClient:
        return self._l2 if self._random.random() < 0.7 else self.pair.l1


_BLOCK_READS: Final = (
    "eth_getBlockReceipts",
    "debug_getRawBlock",
    "debug_getRawReceipts",
)
_NUMBERED_READS: Final = (
    "zks_getBlockDetails",
    "zks_getRawBlockTransactions",
    "zks_getBlockMetadataByNumber",
)
_TRANSACTION_READS: Final = (
    "eth_getTransactionByHash",
    "eth_getTransactionReceipt",
    "zks_getTransactionDetails",
)
_REQUESTS: Final = 100

# A revert deletes batches at once; rows of blocks stay above the head, and what states refer to by hash stays anywhere.
_BATCHES: Final = (tables.BATCH, tables.BATCH_LOGS, tables.BATCH_DATA, tables.SETTLED)
_BY_NUMBER: Final = (tables.RECORD, tables.HASH_OF_NUMBER, tables.PRICES, tables.RULES)
_SHARED_META: Final = (tables.HEAD, tables.CHAIN_ID, tables.IDENTITY, tables.DEPOSITS)


def derive_command(l1_url: str, bridgehub: object, directory: Path) -> list[str]:
    """Return the command that derives a chain into a directory."""
    return [
        *(*ENTRESOL, "derive", "--l1-url", l1_url),
        *("--bridgehub", str(bridgehub), "--data-dir", str(directory)),
    ]


def derive_with_kills(command: Sequence[str], kills: int, choice: random.Random) -> tuple[str, int]:
    """Derive, killed again and again at random, until nobody kills it; return what it printed, and the kills."""
    killed = 0
    for _ in range(kills):
        with subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        ) as process:
            assert process.stderr is not None
            # It prints a line a second: it is within some batch then, at any point.
            for _ in range(choice.randint(1, 4)):
                process.stderr.readline()
            try:
                process.wait(choice.random())
            except subprocess.TimeoutExpired:
                process.kill()
                killed += 1
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=30 * PATIENCE_SECONDS, check=False
    )
    assert ran.returncode == SUCCEEDED, ran.stderr
    return ran.stdout, killed


def compare_responses(derived: RpcClient, operated: RpcClient) -> int:
    """Compare everything that two nodes say of their blocks, transactions, states and batches; return how much."""
    count, reads = 0, _reads(operated)
    while calls := list(islice(reads, _REQUESTS)):
        found, expected = (_outcomes(node, calls) for node in (derived, operated))
        for call, ours, theirs in zip(calls, found, expected, strict=True):
            assert ours == theirs, (call, ours, theirs)
        count += len(calls)
    return count


def _outcomes(node: RpcClient, calls: Sequence[Call]) -> list[Any]:
    return [str(call) if isinstance(call, RpcError) else call for call in node.batch(calls)]


def _reads(node: RpcClient) -> Iterator[Call]:
    head = int(node("eth_blockNumber"), 16)
    for number in range(head + 1):
        tag = hex(number)
        block = node("eth_getBlockByNumber", tag, False)
        yield "eth_getBlockByNumber", [tag, True]
        for name in _BLOCK_READS:
            yield name, [tag]
        # No block has the prices of the genesis, so a node shows those of now.
        for name in _NUMBERED_READS if number else ():
            yield name, [number]
        yield "eth_getLogs", [{"blockHash": block["hash"]}]
        yield "eth_getProof", [str(ADDRESSES[number % len(ADDRESSES)]), ["0x0", "0x1"], tag]
        for transaction in block["transactions"]:
            for name in _TRANSACTION_READS:
                yield name, [transaction]
            yield "zks_getL2ToL1LogProof", [transaction, 0]
    for address in ADDRESSES:
        yield "eth_getProof", [str(address), ["0x0", "0x1"], "latest"]
        yield "eth_getCode", [str(address), "latest"]
    for batch in range(1, int(node("zks_L1BatchNumber"), 16) + 1):
        yield "zks_getL1BatchDetails", [batch]
        yield "zks_getL1BatchBlockRange", [batch]
    for tag in ("latest", "safe", "finalized"):
        yield "eth_getBlockByNumber", [tag, True]


def compare_stores(derived: Path, operated: Path) -> int:
    """Compare all rows of two directories that no node has open, byte for byte; return how many there are."""
    found, expected = (_rows(node) for node in (derived, operated))
    head = int.from_bytes(expected[tables.HEAD])
    assert [key for key in expected.keys() - found.keys() if _is_needed(key, head)] == []
    assert found.keys() - expected.keys() == set()
    assert {key: (it, expected[key]) for key, it in found.items() if it != expected[key]} == {}
    return len(found)


def _is_needed(key: bytes, head: int) -> bool:
    """Return whether a row is not one that reverted blocks have left."""
    table, number = key[:1], int.from_bytes(key[1:])
    return key in _SHARED_META or table in _BATCHES or (table in _BY_NUMBER and number <= head)


def _rows(path: Path) -> dict[bytes, bytes]:
    store = Store.open(path)
    try:
        return {
            key: value
            for key, value in store._db.scan(b"")
            if key in _SHARED_META or key[:1] not in (tables.META, tables.DERIVED_AT)
        }
    finally:
        store.close()
