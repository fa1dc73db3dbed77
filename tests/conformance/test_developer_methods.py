"""The developer methods of anvil and Hardhat, on both layers: each is there, and takes what tools send."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.support.clients.layers import running_layers
from tests.support.rpc_client import CheckedRpcClient, HttpRpcClient, RpcError

METHOD_NOT_FOUND: Final = -32601
ALICE: Final = "0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266"

_BOTH: Final = """
    setBalance addBalance setNonce setCode setStorageAt setCoinbase dealERC20 dumpState loadState reset mine
    getAutomine setNextBlockBaseFeePerGas setMinGasPrice impersonateAccount stopImpersonatingAccount
    autoImpersonateAccount dropTransaction dropAllTransactions metadata setLoggingEnabled
"""
_ANVIL: Final = """
    increaseTime setTime setNextBlockTimestamp setBlockTimestampInterval removeBlockTimestampInterval mine_detailed
    setAutomine setIntervalMining getIntervalMining snapshot revert rollback reorg setBlockGasLimit setChainId
    setERC20Balance setERC20Allowance setRpcUrl impersonateSignature removePoolTransactions nodeInfo getGenesisTime
    getBlobByHash getBlobsByTransactionHash setNextBlockPrevRandao setFeeToken setValidatorFeeToken setFeeAmmLiquidity
"""
_EVM: Final = """
    increaseTime setTime setNextBlockTimestamp mine mine_detailed setAutomine setIntervalMining snapshot revert
    setBlockGasLimit setAccountNonce
"""
_HARDHAT: Final = "setPrevRandao addCompilationResult getStackTraceFailuresCount intervalMine"
_ETH: Final = """
    sendUnsignedTransaction sendTransactionSync fillTransaction requestAccounts networkId signTypedData_v3 sign
    signTypedData signTypedData_v4 config pendingTransactions accounts signTransaction
"""
_DEBUG: Final = """
    traceTransaction traceCall traceBlockByNumber traceBlockByHash traceBlock traceCallMany getRawHeader getRawBlock
    getRawReceipts getRawTransaction codeByHash dbGet storageRangeAt accountRange executionWitness
    getBadBlocks getRawTransactions
"""
_TRACE: Final = """
    transaction block get filter call callMany rawTransaction replayTransaction replayBlockTransactions
    transactionOpcodeGas blockOpcodeGas
"""
_OTS: Final = """
    getApiLevel hasCode getInternalOperations traceTransaction getTransactionError getBlockDetails
    getBlockDetailsByHash getBlockTransactions searchTransactionsBefore searchTransactionsAfter
    getTransactionBySenderAndNonce getContractCreator
"""
METHODS: Final = [
    f"{prefix}_{name}"
    for prefix, names in (
        ("anvil", _BOTH + _ANVIL),
        ("hardhat", f"{_BOTH} {_HARDHAT}"),
        ("tenderly", "setBalance addBalance setErc20Balance addErc20Balance setMaxErc20Balance"),
        ("evm", _EVM),
        ("eth", _ETH),
        ("personal", "sign"),
        ("debug", _DEBUG),
        ("trace", _TRACE),
        ("ots", _OTS),
        ("erigon", "getHeaderByNumber"),
    )
    for name in names.split()
]


@pytest.fixture(scope="module")
def layers() -> Iterator[dict[str, HttpRpcClient]]:
    with running_layers("embedded", "--l1-delay", "0") as running:
        clients: dict[str, HttpRpcClient] = {
            "L1": CheckedRpcClient(running.l1_url),
            "L2": CheckedRpcClient(running.url),
        }
        yield clients
        for client in clients.values():
            client.close()


def code_of(client: HttpRpcClient, method: str) -> int | None:
    """Return the code of a rejection; the parameter is one that no method takes, so that nothing happens."""
    try:
        client(method, {"nothing": []})
    except RpcError as error:
        return error.code
    return None


@pytest.mark.parametrize("layer", ["L1", "L2"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_of_anvil_and_hardhat_is_known(
    layers: dict[str, HttpRpcClient], layer: str, method: str
) -> None:
    assert code_of(layers[layer], method) != METHOD_NOT_FOUND


CALLS: Final[dict[str, list[Any]]] = {
    "eth_call": [
        {"from": ALICE, "to": ALICE, "value": 1, "gas": 100_000, "nonce": 0, "type": 2, "x": 1},
        "latest",
    ],
    "eth_estimateGas": [{"from": ALICE, "to": ALICE, "value": 1, "gasPrice": 10**10}],
    "eth_getStorageAt": [ALICE, 0, "latest"],
    "eth_getBlockByNumber": [0, False],
    "eth_getBlockTransactionCountByNumber": ["0"],
    "eth_getBalance": [ALICE, 0],
    "ots_hasCode": [ALICE, 0],
    "ots_getBlockDetails": [0],
    "trace_block": [1],
}


@pytest.mark.parametrize("layer", ["L1", "L2"])
@pytest.mark.parametrize("method", CALLS)
def test_json_numbers_and_decimal_blocks_are_accepted(
    layers: dict[str, HttpRpcClient], layer: str, method: str
) -> None:
    layers[layer]("evm_mine")
    assert layers[layer](method, *CALLS[method]) is not None
