"""Simulated blocks with the results of their calls (`eth_simulateV1`)."""

from __future__ import annotations

from typing import Final

import msgspec

from entresol._native import log_json
from entresol.errors import ExecutionFailed, ExecutionReverted
from entresol.execution.simulate.simulate import CallResult, SimulatedBlock
from entresol.rpc.render.blocks import block_json
from entresol.rpc.render.hex import array, data
from entresol.rpc.render.receipts import log_context
from entresol.rpc.render.transactions import BlockInclusion, transaction_json

REVERTED: Final = 3
HALTED: Final = -32015


def simulated_block_json(block: SimulatedBlock, chain_id: int, *, full: bool) -> str:
    """Return a block object with `calls`."""
    executed = block.executed
    inclusion = BlockInclusion.of(executed.header, executed.header.hash(), None)
    if full:
        transactions = [
            transaction_json(it, chain_id, inclusion, index)
            for index, it in enumerate(executed.transactions)
        ]
    else:
        transactions = [data(it.hash) for it in executed.transactions]
    text = block_json(executed.record, inclusion, transactions).decode()
    return f'{text[:-1]},"calls":{array(_results(block, inclusion))}}}'


def _results(block: SimulatedBlock, inclusion: BlockInclusion) -> list[str]:
    texts, logs_before = [], 0
    for index, result in enumerate(block.results):
        transaction = block.executed.transactions[index]
        context = log_context(inclusion, transaction.hash, index)
        logs = [
            log_json(log, context, logs_before + within, within).decode()
            for within, log in enumerate(result.logs)
        ]
        logs_before += len(logs)
        texts.append(_result(result, array(logs)))
    return texts


def _result(result: CallResult, logs: str) -> str:
    failure = result.failure
    return (
        f'{{"status":"{hex(failure is None)}","returnData":{data(result.output)},'
        f'"gasUsed":"{hex(result.gas_used)}","maxUsedGas":"{hex(result.gas_spent)}","logs":{logs}'
        f"{'' if failure is None else _error(failure)}}}"
    )


def _error(failure: ExecutionFailed) -> str:
    message = msgspec.json.encode(str(failure).encode(errors="replace").decode()).decode()
    if isinstance(failure, ExecutionReverted):
        return f',"error":{{"code":{REVERTED},"message":{message},"data":{data(failure.data)}}}'
    return f',"error":{{"code":{HALTED},"message":{message}}}'
