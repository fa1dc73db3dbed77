"""Requests of every read method, with parameters that vary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, cycle, islice
from typing import Any, Final, TypeAlias

import msgspec

from benchmarks.read_chain import (
    PEOPLE,
    REVERTING,
    SENDERS,
    TOKEN_ADDRESS,
    ReadChain,
    SettledChain,
    balance_of_data,
    code_holder,
    token_slot,
    transfer_data,
)
from entresol.primitives.values import Address

REQUESTS: Final = 20_000
"""How many requests a row sends in a round, each of them once."""
RATIO: Final = 1.2
"""How many times anvil's rate a method has to reach."""

Params: TypeAlias = Sequence[object]


class Read(msgspec.Struct, frozen=True):
    """The requests of a read method, and the target of its row in multiples of anvil's rate."""

    params: Callable[[Any], Iterable[Params]]
    ratio: float = RATIO
    what: str = ""
    """What the row requests, if the method alone does not say."""
    fails: bool = False
    """Whether the requests end in an error."""
    beside: Beside | None = None
    """What else the same server is asked for in turns, where no other has the method."""


class Beside(msgspec.Struct, frozen=True):
    """A method that another is compared with, on the same server, and the ratio of their rates to reach."""

    method: str
    params: Callable[[Any], Iterable[Params]]
    ratio: float


def bodies(method: str, params: Iterable[Params]) -> Iterator[bytes]:
    """Yield `REQUESTS` bodies, no two of which are the same for a cache of responses.

    Where there are not as many parameters, the same come again in another spelling: with more white space. Without
    parameters, only the ids vary.
    """
    known = [msgspec.json.encode(request) for request in islice(params, REQUESTS)]
    for number, text in enumerate(islice(cycle(known), REQUESTS)):
        blanks = b" " * (number // len(known) if len(known) > 1 else 0)
        yield b'{"jsonrpc":"2.0","id":%d,"method":"%s","params":[%s%s}' % (
            number + 1,
            method.encode(),
            blanks,
            text[1:],
        )


def _none(_: ReadChain | SettledChain) -> Iterable[Params]:
    return [[]]


def _numbers(chain: ReadChain | SettledChain) -> list[str]:
    return [hex(number) for number in range(1, chain.blocks + 1)]


def _people() -> Iterator[str]:
    return map(str, cycle(PEOPLE))


def _with_block(chain: ReadChain) -> Iterator[Params]:
    """Yield accounts, at the latest block and at recent ones by number."""
    for index, person in enumerate(_people()):
        yield [person, "latest" if index < len(PEOPLE) else hex(chain.blocks - index % 16)]


def _slots(_: ReadChain) -> Iterator[Params]:
    for index in count():
        holder = PEOPLE[index % len(PEOPLE)]
        slot = token_slot(holder) if index < len(PEOPLE) else hex(index)
        yield [str(TOKEN_ADDRESS), slot, "latest"]


def _call(index: int) -> dict[str, str]:
    # Other senders in other laps, so that no two calls are the same.
    sender = SENDERS[index // len(PEOPLE)]
    data = balance_of_data(PEOPLE[index % len(PEOPLE)])
    return {"from": str(sender), "to": str(TOKEN_ADDRESS), "data": "0x" + data.hex()}


def _transfer(index: int) -> dict[str, str]:
    data = transfer_data(PEOPLE[index % len(PEOPLE)])
    sender = SENDERS[(index + index // len(PEOPLE)) % len(SENDERS)]
    return {"from": str(sender), "to": str(TOKEN_ADDRESS), "data": "0x" + data.hex()}


_ECHO, _EMPTY, _UNDERFLOW, _INVALID, _LOOP = REVERTING


def _failing(to: Address, data: Callable[[int], bytes], _: ReadChain) -> Iterator[Params]:
    """Yield calls of a contract that fails, of different senders, with enough gas for a while."""
    for index in range(REQUESTS):
        call = {"from": str(PEOPLE[index % len(PEOPLE)]), "to": str(to), "gas": "0xc350"}
        yield [{**call, "data": "0x" + data(index).hex()}]


def _reason(index: int) -> bytes:
    """Return the data of a revert with a reason string."""
    reason = b"ERC20: transfer of %d exceeds balance" % index
    size = len(reason).to_bytes(32)
    return bytes.fromhex("08c379a0") + (32).to_bytes(32) + size + reason.ljust(64, b"\0")


def _custom_error(index: int) -> bytes:
    """Return the data of a revert with a custom error of two arguments."""
    return bytes.fromhex("cf479181") + index.to_bytes(32) + (index + 1).to_bytes(32)


def _word(index: int) -> bytes:
    return index.to_bytes(32)


_FAILURES: Final = {
    "revert with a reason": (_ECHO, _reason),
    "revert with a custom error": (_ECHO, _custom_error),
    "revert without data": (_EMPTY, _word),
    "stack underflow": (_UNDERFLOW, _word),
    "invalid opcode": (_INVALID, _word),
    "out of gas": (_LOOP, _word),
}


def _failures(method: str) -> dict[str, Read]:
    """Return a row of a method for each way in which a call fails."""
    return {
        f"{method}, {what}": Read(partial(_failing, to, data), what=what, fails=True)
        for what, (to, data) in _FAILURES.items()
    }


def _fee_history(blocks: int, chain: ReadChain) -> Iterator[Params]:
    for index in count():
        lap, at = divmod(index, chain.blocks - blocks)
        yield [hex(blocks), hex(chain.blocks - at), [10 + lap / 8, 50 + lap / 8, 90]]


def _logs(chain: ReadChain) -> Iterator[Params]:
    """Yield ranges of 100 blocks, and a recipient in each."""
    last = chain.blocks - 100
    for index in count():
        first = 1 + index % last
        topic = "0x" + PEOPLE[(first * 5 + index // last) % len(PEOPLE)].rjust(32, b"\0").hex()
        yield [{"fromBlock": hex(first), "toBlock": hex(first + 99), "topics": [None, None, topic]}]


def _all_logs(chain: ReadChain) -> Iterator[Params]:
    for index in range(1, chain.blocks - 100):
        yield [{"fromBlock": hex(index), "toBlock": hex(index + 99), "address": str(TOKEN_ADDRESS)}]


def _hash_and_index(chain: ReadChain) -> Iterator[Params]:
    return ([name, hex(index)] for index in range(5) for name in chain.hashes)


def _number_and_index(chain: ReadChain) -> Iterator[Params]:
    return ([number, hex(index)] for index in range(5) for number in _numbers(chain))


def _hashes(chain: ReadChain | SettledChain) -> Iterator[Params]:
    return ([name] for name in chain.transactions)


def _block_hashes(chain: ReadChain) -> Iterator[Params]:
    return ([name] for name in chain.hashes)


def _block_numbers(chain: ReadChain | SettledChain) -> Iterator[Params]:
    return ([number] for number in _numbers(chain))


def _batch_numbers(chain: SettledChain) -> Iterator[Params]:
    return ([number] for number in range(1, chain.batches + 1))


def _code_holders(chain: SettledChain) -> Iterator[Params]:
    return ([code_holder(at), "latest"] for at in range(len(chain.codes)))


def _bundles(_: ReadChain) -> Iterator[Params]:
    return ([[{"transactions": [_call(at), _transfer(at)]}]] for at in range(REQUESTS))


def _simulations(_: ReadChain) -> Iterator[Params]:
    return ([{"blockStateCalls": [{"calls": [_transfer(at)]}]}, "latest"] for at in range(REQUESTS))


ETH: Final[dict[str, Read]] = {
    "eth_accounts": Read(_none),
    "eth_blobBaseFee": Read(_none),
    "eth_blockNumber": Read(_none),
    "eth_call": Read(lambda _: ([_call(at), "latest"] for at in range(REQUESTS)), 1.5),
    **_failures("eth_call"),
    "eth_callMany": Read(_bundles),
    "eth_chainId": Read(_none),
    "eth_coinbase": Read(_none),
    "eth_config": Read(_none),
    "eth_createAccessList": Read(lambda _: ([_call(at)] for at in range(REQUESTS))),
    "eth_estimateGas": Read(lambda _: ([_transfer(at)] for at in range(REQUESTS)), 1.5),
    **_failures("eth_estimateGas"),
    "eth_feeHistory": Read(partial(_fee_history, 10), 3.0, "10 blocks"),
    "eth_feeHistory, long": Read(partial(_fee_history, 100), 3.0, "100 blocks"),
    "eth_fillTransaction": Read(lambda _: ([_transfer(at)] for at in range(REQUESTS))),
    "eth_gasPrice": Read(_none),
    "eth_getAccount": Read(_with_block),
    "eth_getAccountInfo": Read(_with_block),
    "eth_getBalance": Read(_with_block),
    "eth_getBlockByHash": Read(
        lambda chain: ([name, full] for full in (True, False) for name in chain.hashes)
    ),
    "eth_getBlockByNumber": Read(
        lambda chain: ([number, full] for full in (True, False) for number in _numbers(chain))
    ),
    "eth_getBlockReceipts": Read(_block_numbers),
    "eth_getBlockTransactionCountByHash": Read(_block_hashes),
    "eth_getBlockTransactionCountByNumber": Read(_block_numbers),
    "eth_getCode": Read(_with_block),
    "eth_getFilterChanges": Read(lambda chain: ([name] for name in chain.filters)),
    "eth_getFilterLogs": Read(lambda chain: ([name] for name in chain.filters)),
    "eth_getHeaderByHash": Read(_block_hashes),
    "eth_getHeaderByNumber": Read(_block_numbers),
    "eth_getLogs": Read(_logs, what="100 blocks, one or two logs"),
    "eth_getLogs, all": Read(_all_logs, what="100 blocks, 500 logs"),
    "eth_getProof": Read(
        lambda _: ([str(TOKEN_ADDRESS), [token_slot(person)], "latest"] for person in PEOPLE)
    ),
    "eth_getRawTransactionByBlockHashAndIndex": Read(_hash_and_index),
    "eth_getRawTransactionByBlockNumberAndIndex": Read(_number_and_index),
    "eth_getRawTransactionByHash": Read(_hashes),
    "eth_getStorageAt": Read(_slots),
    "eth_getStorageValues": Read(
        lambda _: ([{str(TOKEN_ADDRESS): [token_slot(person), "0x0"]}] for person in PEOPLE)
    ),
    "eth_getTransactionByBlockHashAndIndex": Read(_hash_and_index),
    "eth_getTransactionByBlockNumberAndIndex": Read(_number_and_index),
    "eth_getTransactionByHash": Read(_hashes),
    "eth_getTransactionBySenderAndNonce": Read(
        lambda _: ([str(sender), hex(nonce)] for nonce in range(40) for sender in SENDERS)
    ),
    "eth_getTransactionCount": Read(_with_block),
    "eth_getTransactionReceipt": Read(_hashes),
    "eth_getUncleByBlockHashAndIndex": Read(_hash_and_index),
    "eth_getUncleByBlockNumberAndIndex": Read(_number_and_index),
    "eth_getUncleCountByBlockHash": Read(_block_hashes),
    "eth_getUncleCountByBlockNumber": Read(_block_numbers),
    "eth_hashrate": Read(_none),
    "eth_maxPriorityFeePerGas": Read(_none),
    "eth_mining": Read(_none),
    "eth_networkId": Read(_none),
    "eth_pendingTransactions": Read(_none),
    "eth_protocolVersion": Read(_none),
    "eth_requestAccounts": Read(_none),
    "eth_simulateV1": Read(_simulations),
    "eth_syncing": Read(_none),
}
"""The `eth_` methods that read, each with at least one row."""

_FLOOR: Final = Beside("eth_chainId", _none, 1 / 3)
"""A cached response, the least that a request takes."""

ZKS: Final[dict[str, Read]] = {
    "zks_L1BatchNumber": Read(_none),
    "zks_L1ChainId": Read(_none),
    "zks_estimateFee": Read(lambda _: ([_payment(at)] for at in range(REQUESTS))),
    "zks_estimateGasL1ToL2": Read(
        lambda _: ([_payment(at)] for at in range(REQUESTS)),
        beside=Beside("eth_estimateGas", lambda _: ([_payment(at)] for at in range(REQUESTS)), 0.5),
    ),
    "zks_gasPerPubdata": Read(_none),
    "zks_getAllAccountBalances": Read(lambda _: ([str(person)] for person in PEOPLE)),
    "zks_getBaseTokenL1Address": Read(_none),
    "zks_getBatchFeeInput": Read(_none),
    "zks_getBlockDetails": Read(_block_numbers, beside=_FLOOR),
    "zks_getBlockMetadataByNumber": Read(_block_numbers),
    "zks_getBridgeContracts": Read(_none),
    "zks_getBridgehubContract": Read(_none),
    "zks_getBytecodeByHash": Read(
        lambda chain: ([name] for name in chain.codes),
        beside=Beside("eth_getCode", _code_holders, 1.0),
    ),
    "zks_getBytecodeSupplierContract": Read(_none),
    "zks_getConfirmedTokens": Read(lambda _: ([0, limit] for limit in range(1, 255))),
    "zks_getFeeParams": Read(_none),
    "zks_getFinalityStatus": Read(_none),
    "zks_getGenesis": Read(_none),
    "zks_getL1BatchBlockRange": Read(_batch_numbers),
    "zks_getL1BatchDetails": Read(_batch_numbers, beside=_FLOOR),
    "zks_getL1GasPrice": Read(_none),
    "zks_getL2Multicall3": Read(_none),
    "zks_getL2ToL1LogProof": Read(
        lambda chain: ([name, 0] for name in chain.transactions), beside=_FLOOR
    ),
    "zks_getL2ToL1MsgProof": Read(lambda chain: chain.messages, beside=_FLOOR),
    "zks_getMainContract": Read(_none),
    "zks_getProof": Read(
        lambda chain: ([str(it), [], 1 + at % chain.batches] for at, it in enumerate(PEOPLE))
    ),
    "zks_getProtocolVersion": Read(_none),
    "zks_getRawBlockTransactions": Read(_block_numbers),
    "zks_getTestnetPaymaster": Read(_none),
    "zks_getTimestampAsserter": Read(_none),
    "zks_getTransactionDetails": Read(_hashes, beside=_FLOOR),
}
"""The `zks_` methods that read; anvil has none of them."""


def _payment(index: int) -> dict[str, str]:
    return {"to": str(PEOPLE[index % len(PEOPLE)]), "data": f"0x{index:064x}"}


NOT_READS: Final = {
    "sends or signs": (
        "eth_sendRawTransaction",
        "eth_sendRawTransactionSync",
        "eth_sendTransaction",
        "eth_sendTransactionSync",
        "eth_sendUnsignedTransaction",
        "eth_sign",
        "eth_signTransaction",
        "eth_signTypedData",
        "eth_signTypedData_v4",
        "zks_sendRawTransactionWithDetailedOutput",
    ),
    "installs or removes a filter": (
        "eth_newBlockFilter",
        "eth_newFilter",
        "eth_newPendingTransactionFilter",
        "eth_subscribe",
        "eth_uninstallFilter",
        "eth_unsubscribe",
    ),
    "is rejected": (
        "eth_getWork",
        "eth_signRawTransaction",
        "eth_signTypedData_v3",
        "eth_submitHashrate",
        "eth_submitWork",
    ),
}
"""The other `eth_` and `zks_` methods, by what they do instead of reading."""
