"""Requests of developers to compare with anvil: what comes before, the request, and what is seen after it."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

STRANGER: Final = "0x" + "ab" * 20
ALICE: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"
BOB: Final = "0x70997970c51812dc3a010c7d01b50e0d17dc79c8"
WORD: Final = "0x" + "11" * 32
NOWHERE: Final = "0x" + "77" * 32
START: Final = 4_000_000_000

# Reverts with Error("no"), returns 42, returns PREVRANDAO.
REVERTS: Final = (
    "0x7f08c379a0000000000000000000000000000000000000000000000000000000005f52602060045260026024527f6e6f"
    "00000000000000000000000000000000000000000000000000000000000060445260645ffd"
)
RETURNS: Final = "0x602a5f5260205ff3"
RANDOM: Final = "0x445f5260205ff3"

Call = tuple[str, list[Any]]

MINE: Final[Call] = ("evm_mine", [])
HOLD: Final[Call] = ("evm_setAutomine", [False])
PAY: Final[Call] = ("eth_sendTransaction", [{"from": ALICE, "to": BOB, "value": "0x1"}])
CODE: Final[Call] = ("anvil_setCode", [STRANGER, REVERTS])
FAILING: Final[Call] = ("eth_sendTransaction", [{"from": ALICE, "to": STRANGER}])


class CheatCode(NamedTuple):
    """One request, with what to call before and after it, and what to look at in the last block.

    `difference` is why the results may differ; effects never may.
    """

    method: str
    params: list[Any]
    before: tuple[Call, ...] = ()
    after: tuple[Call, ...] = ()
    block: tuple[str, ...] = ()
    difference: str | None = None

    @property
    def id(self) -> str:
        return f"{self.method}-{str(self.params)[:40]}"


def reads(method: str, *params: Any) -> Call:
    """Return a call whose result is compared."""
    return method, list(params)


BALANCE: Final = reads("eth_getBalance", STRANGER, "latest")
NONCE: Final = reads("eth_getTransactionCount", STRANGER, "latest")
HARDHAT: Final = "hardhat_ answers true, as Hardhat does"
NUMBER: Final = reads("eth_blockNumber")

NUMBERS: Final = [
    CheatCode("anvil_setBalance", [STRANGER, number], after=(BALANCE,))
    for number in (16, "16", "0x10", "0x010", "0x", "0x" + "f" * 64, -1, 1.5, 2**64, "x", None)
] + [CheatCode("anvil_setNonce", [STRANGER, n], after=(NONCE,)) for n in (16, "16", "0x10", -1)]

STATE: Final = [
    CheatCode("hardhat_setBalance", [STRANGER, 7], after=(BALANCE,), difference=HARDHAT),
    CheatCode("tenderly_setBalance", [STRANGER, 7], after=(BALANCE,)),
    CheatCode("anvil_addBalance", [STRANGER, 7], after=(BALANCE,)),
    CheatCode("tenderly_addBalance", [STRANGER, "7"], after=(BALANCE,)),
    CheatCode("hardhat_addBalance", [STRANGER, 7], after=(BALANCE,), difference=HARDHAT),
    CheatCode(
        "anvil_addBalance",
        [STRANGER, "0x" + "f" * 64],
        before=(("anvil_setBalance", [STRANGER, 7]),),
        after=(BALANCE,),
    ),
    CheatCode("anvil_setNonce", [STRANGER, 5], after=(NONCE,)),
    CheatCode(
        "anvil_setNonce", [STRANGER, 3], before=(("anvil_setNonce", [STRANGER, 5]),), after=(NONCE,)
    ),
    CheatCode("evm_setAccountNonce", [STRANGER, 5], after=(NONCE,)),
    CheatCode("hardhat_setNonce", [STRANGER, 5], after=(NONCE,), difference=HARDHAT),
    CheatCode(
        "anvil_setCode",
        [STRANGER, RETURNS],
        after=(
            reads("eth_getCode", STRANGER, "latest"),
            reads("eth_call", {"to": STRANGER}, "latest"),
        ),
    ),
    CheatCode(
        "anvil_setCode", [STRANGER, "6001"], after=(reads("eth_getCode", STRANGER, "latest"),)
    ),
    CheatCode("anvil_setCode", [STRANGER, "0x1"]),
    *(
        CheatCode(
            "anvil_setStorageAt",
            [STRANGER, slot, WORD],
            after=(reads("eth_getStorageAt", STRANGER, "0x0", "latest"),),
        )
        for slot in (0, "0", "0x0", "0x" + "00" * 32)
    ),
    CheatCode("hardhat_setStorageAt", [STRANGER, 0, WORD]),
    CheatCode("anvil_setStorageAt", [STRANGER, 0, "0x2a"]),
    CheatCode("anvil_dealERC20", [ALICE, STRANGER, 5]),
    CheatCode("anvil_setERC20Balance", [ALICE, STRANGER, 5]),
    CheatCode("hardhat_dealERC20", [ALICE, STRANGER, 5]),
    CheatCode("anvil_setERC20Allowance", [ALICE, BOB, STRANGER, 5]),
]

TIME: Final = [
    CheatCode(
        "evm_increaseTime",
        [60],
        after=(MINE,),
        block=("gap",),
        difference="the offset since the start",
    ),
    CheatCode(
        "anvil_increaseTime", ["0x3c"], after=(MINE,), block=("gap",), difference="the offset"
    ),
    CheatCode("evm_increaseTime", ["60"], after=(MINE,), block=("gap",), difference="the offset"),
    CheatCode("evm_increaseTime", [-5]),
    CheatCode("evm_setTime", [START + 5_000], after=(MINE,), block=("timestamp",)),
    CheatCode("anvil_setTime", [(START + 5_000) * 1_000], after=(MINE,), block=("timestamp",)),
    CheatCode("evm_setTime", [2**64 - 1]),
    CheatCode("evm_setNextBlockTimestamp", [START + 500], after=(MINE,), block=("timestamp",)),
    CheatCode("anvil_setNextBlockTimestamp", ["4000000500"], after=(MINE,), block=("timestamp",)),
    CheatCode("evm_setNextBlockTimestamp", [START], after=(MINE,), block=("timestamp",)),
    CheatCode("evm_setNextBlockTimestamp", [START - 1]),
    CheatCode("anvil_setBlockTimestampInterval", [7], after=(MINE, MINE), block=("gap",)),
    CheatCode(
        "anvil_removeBlockTimestampInterval",
        [],
        before=(("anvil_setBlockTimestampInterval", [7]),),
        after=(reads("anvil_removeBlockTimestampInterval"),),
    ),
    CheatCode("anvil_mine", [], after=(NUMBER,)),
    CheatCode("anvil_mine", [0], after=(NUMBER,)),
    CheatCode("anvil_mine", ["0x3", 60], after=(NUMBER,), block=("gap", "timestamp")),
    CheatCode("hardhat_mine", ["0x2"], after=(NUMBER,), difference=HARDHAT),
    CheatCode("evm_mine", [], after=(NUMBER,)),
    CheatCode("evm_mine", [START + 90], after=(NUMBER,), block=("timestamp",)),
    CheatCode("evm_mine", [{"timestamp": START + 90, "blocks": 2}], after=(NUMBER,)),
    CheatCode("evm_mine", [{"timestamp": None, "blocks": 2}], after=(NUMBER,)),
    CheatCode("evm_mine", [START - 1], after=(NUMBER,)),
]

BLOCKS: Final = [
    CheatCode("evm_mine", [], before=(HOLD, PAY, PAY, PAY), block=("transactions",)),
    CheatCode("anvil_setAutomine", [False], after=(PAY, NUMBER, reads("anvil_getAutomine"))),
    CheatCode(
        "evm_setIntervalMining",
        [600],
        after=(reads("anvil_getIntervalMining"), reads("hardhat_getAutomine")),
    ),
    CheatCode(
        "anvil_setIntervalMining",
        [0],
        after=(reads("anvil_getIntervalMining"), reads("anvil_getAutomine")),
    ),
    CheatCode("evm_setBlockGasLimit", [25_000_000], after=(MINE, MINE), block=("gasLimit",)),
    CheatCode("anvil_setBlockGasLimit", ["0x17d7840"], after=(MINE,), block=("gasLimit",)),
    CheatCode("anvil_setCoinbase", [STRANGER], after=(MINE, MINE), block=("miner",)),
    CheatCode(
        "hardhat_setCoinbase", [STRANGER], after=(MINE,), block=("miner",), difference=HARDHAT
    ),
    CheatCode("anvil_setNextBlockBaseFeePerGas", [7], after=(MINE,), block=("baseFeePerGas",)),
    CheatCode("anvil_setNextBlockBaseFeePerGas", ["0x0"], after=(MINE,), block=("baseFeePerGas",)),
    CheatCode("anvil_setMinGasPrice", [5]),
    CheatCode(
        "evm_mine_detailed", [], before=(HOLD, CODE, FAILING), difference="the block, seen below"
    ),
]

ACCOUNTS: Final = [
    CheatCode("anvil_impersonateAccount", [STRANGER], after=(reads("eth_accounts"),)),
    CheatCode("hardhat_impersonateAccount", [STRANGER], difference=HARDHAT),
    CheatCode("anvil_stopImpersonatingAccount", [STRANGER]),
    CheatCode(
        "hardhat_stopImpersonatingAccount",
        [STRANGER],
        difference="whether it was on, as in Hardhat",
    ),
    CheatCode("anvil_autoImpersonateAccount", [False]),
    CheatCode("anvil_dropTransaction", [NOWHERE]),
    CheatCode(
        "hardhat_dropTransaction", [NOWHERE], difference="whether it was there, as in Hardhat"
    ),
    CheatCode(
        "anvil_dropAllTransactions", [], before=(HOLD, PAY, PAY), after=(reads("txpool_status"),)
    ),
    CheatCode("hardhat_dropAllTransactions", [], difference=HARDHAT),
    CheatCode(
        "anvil_removePoolTransactions",
        [ALICE],
        before=(HOLD, PAY, PAY),
        after=(reads("txpool_status"),),
    ),
    CheatCode("anvil_setLoggingEnabled", [True]),
    CheatCode("hardhat_setLoggingEnabled", [True], difference=HARDHAT),
    CheatCode("anvil_setRpcUrl", ["http://127.0.0.1:1"]),
    CheatCode("anvil_getBlobByHash", [NOWHERE]),
    CheatCode("anvil_getBlobsByTransactionHash", [NOWHERE]),
    CheatCode("evm_revert", ["0x999"]),
    CheatCode("anvil_revert", [999]),
    CheatCode("anvil_setFeeToken", [ALICE, BOB]),
    CheatCode("anvil_setValidatorFeeToken", [ALICE, BOB]),
]

FORMS: Final = [
    CheatCode("eth_getBlockTransactionCountByNumber", [0]),
    CheatCode("eth_getBlockTransactionCountByNumber", ["0"]),
    CheatCode("eth_getUncleCountByBlockNumber", [0]),
    CheatCode("eth_getStorageAt", [STRANGER, 0, "latest"]),
    CheatCode("eth_call", [{"to": STRANGER, "value": 0, "gas": 100_000}, "latest"]),
    CheatCode(
        "eth_call",
        [{"from": ALICE, "to": STRANGER, "type": 2, "nonce": 0, "data": "1234"}, "latest"],
        before=(("anvil_setCode", [STRANGER, RETURNS]),),
    ),
    CheatCode("eth_estimateGas", [{"from": ALICE, "to": BOB, "value": 5}]),
]

CHEAT_CODES: Final = [*NUMBERS, *STATE, *TIME, *BLOCKS, *ACCOUNTS, *FORMS]


class KnownDifference(NamedTuple):
    """A request that this node answers otherwise than anvil, and why."""

    method: str
    params: list[Any]
    ours: Any
    theirs: Any
    reason: str


NOT_FOUND: Final = "error -32601"
HARDHAT_ALONE: Final = "a method of Hardhat"
GANACHE_ALONE: Final = "a method of Ganache, for tools that still send it"

DIFFERENCES: Final = [
    KnownDifference(
        "evm_mine", [{}], "0x0", "error -32602", "an object without a timestamp is fine"
    ),
    KnownDifference(
        "evm_setIntervalMining",
        [[100, 200]],
        None,
        "error -32602",
        "Hardhat's pair of milliseconds",
    ),
    KnownDifference(
        "evm_increaseTime",
        [2**64 - 1],
        "error -32602",
        ...,
        "anvil wraps around, and time goes back",
    ),
    KnownDifference(
        "anvil_setChainId",
        [31_337],
        "error -32000",
        None,
        "a block is executed again with the same id",
    ),
    KnownDifference(
        "anvil_impersonateSignature",
        [["0x" + "11" * 65, STRANGER]],
        "error -32000",
        None,
        "a block is executed again with the same ECRECOVER",
    ),
    KnownDifference("hardhat_setPrevRandao", [WORD], True, NOT_FOUND, HARDHAT_ALONE),
    KnownDifference("hardhat_intervalMine", [], True, NOT_FOUND, HARDHAT_ALONE),
    KnownDifference(
        "hardhat_addCompilationResult", ["0.8.30", {}, {}], True, NOT_FOUND, HARDHAT_ALONE
    ),
    KnownDifference("hardhat_getStackTraceFailuresCount", [], 0, NOT_FOUND, HARDHAT_ALONE),
    KnownDifference("evm_setAccountBalance", [STRANGER, 5], None, NOT_FOUND, GANACHE_ALONE),
    KnownDifference("evm_setAccountCode", [STRANGER, "0x00"], None, NOT_FOUND, GANACHE_ALONE),
    KnownDifference("eth_getBalance", [STRANGER], "0x0", "error -32602", "latest is the default"),
    KnownDifference(
        "eth_getBalance", [STRANGER, 0], "0x0", "error -32602", "numbers are fine everywhere"
    ),
]
