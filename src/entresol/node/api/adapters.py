"""Adapters from chain, batches and configuration to the interfaces that RPC methods use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.chain.genesis.genesis_contracts import base_token_of
from entresol.execution.limits import CallLimits
from entresol.execution.tracing import TraceLimits
from entresol.rollup.system_contracts import ASSET_ROUTER, MULTICALL, TESTNET_PAYMASTER
from entresol.rpc.jsonrpc.dispatch import RequestLimits
from entresol.rpc.namespaces.zks.contracts import L2Contracts
from entresol.rpc.services.log_search import LogLimits

if TYPE_CHECKING:
    from entresol.chain.genesis.genesis import Genesis
    from entresol.node.config.api import LimitsConfig


def l2_contracts(genesis: Genesis) -> L2Contracts:
    """Return the contracts of an L2 that clients look up; its genesis has the base token, and a paymaster or not."""
    paymaster = genesis.alloc.get(TESTNET_PAYMASTER)
    return L2Contracts(
        asset_router=ASSET_ROUTER,
        multicall=MULTICALL,
        testnet_paymaster=None if paymaster is None or not paymaster.code else TESTNET_PAYMASTER,
        base_token=base_token_of(genesis.alloc).l1_address,
    )


def call_limits(config: LimitsConfig, published_bytes: int | None) -> CallLimits:
    """Return the limits of `eth_call`, estimates and simulations, given what a batch publishes of a transaction."""
    return CallLimits(
        gas_cap=config.call_gas_cap, seconds=config.call_seconds, published_bytes=published_bytes
    )


def log_limits(config: LimitsConfig, *, is_layer_two: bool) -> LogLimits:
    """Return the limits of log queries, by geth's rules on an L1 and by those of the ZK Stack on an L2."""
    return LogLimits(
        results=config.log_limit,
        blocks=config.log_block_limit or None,
        follows_geth=not is_layer_two,
    )


def trace_limits(config: LimitsConfig) -> TraceLimits:
    """Return the limits of traces."""
    return TraceLimits(max_bytes=config.trace_limit_bytes, seconds=config.call_seconds)


def request_limits(config: LimitsConfig) -> RequestLimits:
    """Return the limits of all requests."""
    return RequestLimits(batch=config.batch_limit, response_bytes=config.answer_limit_bytes)
