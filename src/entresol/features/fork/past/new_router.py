"""The router of history of a fork's methods, with what it reads and executes by."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from entresol.features.fork.past.executions import PastExecutions, StateAt, remote_state
from entresol.features.fork.past.fee_history import SplitFees
from entresol.features.fork.past.fork_proofs import AnchorProofs, OverlayChecks
from entresol.features.fork.past.logs import SplitLogs
from entresol.features.fork.past.router import PastRouter, Places
from entresol.rpc.jsonrpc.method import Past

if TYPE_CHECKING:
    from entresol._native import Rules
    from entresol.chain.rules import ChainRules
    from entresol.features.fork.past.remote import PastChain
    from entresol.node.api.services import ApiServices


def past_router(services: ApiServices, remote: PastChain, state_at: StateAt | None) -> PastRouter:
    """Return what routes the calls of a fork; `state_at` returns states of the remote."""
    chain, resolver = services.chain, services.resolver
    assert services.open_past is not None
    executions = PastExecutions(
        remote,
        partial(_rules_of, chain.rules, remote),
        services.open_past,
        state_at or partial(remote_state, remote),
    )
    logs = SplitLogs(
        remote, chain, services.rendered.log_cache, services.log_limits, services.filters.wanted
    )
    fees = SplitFees(remote, resolver)
    return PastRouter(
        remote,
        Places(remote, chain, services.pending),
        splits={
            "eth_getLogs": logs.get_logs,
            "eth_getFilterLogs": logs.get_filter_logs,
            "eth_feeHistory": fees.fee_history,
        },
        executions={Past.EXECUTE: executions.execute, Past.REPLAY: executions.replay},
        overlays=OverlayChecks(chain, resolver, AnchorProofs(remote)).by_method(),
    )


def _rules_of(rules: ChainRules, remote: PastChain, hardfork: str) -> Rules:
    """Return the rules of past blocks: those of the chain, unless they are of another hardfork than the anchor.

    What runs on a block of the remote has the remote's chain id, also if the fork has another.
    """
    own = msgspec.structs.replace(rules, chain_id=remote.anchor.chain_id)
    if hardfork != remote.hardfork:
        own = msgspec.structs.replace(own, fork=hardfork)
    return own.evm_rules()
