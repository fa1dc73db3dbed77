"""The two layers of a node that serves both from one process: their services, and the way from L2 to L1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from entresol.l1.embedded import EmbeddedLayerOne
from entresol.l1.operator_keys import OperatorKeys
from entresol.node.api.dialect import CACHED_SECONDS, Dialect
from entresol.node.chain_service import ServiceHooks
from entresol.node.dev_features import funded_accounts, init_signers, open_keyring
from entresol.node.explorer.explorer_routes import explorer_page
from entresol.node.open_chains import OPERATOR
from entresol.node.settlement.l2_components import L2Components
from entresol.node.settlement.settlement_layer import SettlementLayer, contracts_on

if TYPE_CHECKING:
    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.chain.genesis.accounts import DevAccount
    from entresol.dev.control import DevControl
    from entresol.dev.keyring import Keyring
    from entresol.node.builder import NodeBuilder
    from entresol.node.chain_service import ChainService
    from entresol.node.config.schema import NodeConfig
    from entresol.node.settlement.rollup import Rollup
    from entresol.node.workers.supervisor import WorkerSupervisor
    from entresol.sequencer.local import LocalSequencer


def serve_layer_two(  # noqa: PLR0913 - independent parts
    builder: NodeBuilder,
    chain: Chain,
    sequencer: LocalSequencer,
    control: DevControl,
    *,
    fees: FeeModel,
    rollup: Rollup | None,
    workers: WorkerSupervisor | None = None,
) -> ChainService:
    """Return the service of an L2, whose health is that of the whole node."""
    config = builder.config
    api = builder.api(
        chain,
        sequencer,
        keyring=_keyring(config, chain, config.chain.init),
        control=control,
        layer_two=L2Components(fees, rollup),
    )
    role = None
    if workers is not None:
        role = builder.opened(workers.share(chain, lambda: fees.l1_gas_price))
    if rollup is not None:
        rollup.sealed.add(api.batch_sealed)
        if role is not None:
            rollup.sealed.add(role.publisher.batch_sealed)

    def health() -> dict[str, Any]:
        return {
            **({} if rollup is None else rollup.health()),
            **({} if workers is None else workers.health()),
        }

    metrics = tuple if rollup is None else rollup.metrics
    hooks = ServiceHooks(health=health, degraded=builder.problem, metrics=metrics)
    return builder.serve(api, hooks=hooks, explorer=explorer_page(config, 2, rollup), role=role)


def serve_layer_one(
    builder: NodeBuilder,
    chain: Chain,
    sequencer: LocalSequencer,
    control: DevControl,
    *,
    rollup: Rollup | None,
    workers: WorkerSupervisor | None = None,
) -> ChainService:
    """Return the service of the development L1."""
    config, l1 = builder.config, builder.config.l1
    held_seconds = CACHED_SECONDS if l1.l1_delay is None else 0.0
    api = builder.api(
        chain,
        sequencer,
        keyring=_keyring(config, chain, l1.l1_init, is_layer_one=True),
        control=control,
        dialect=Dialect.layer_one(config.api, held_seconds=held_seconds),
    )
    return builder.serve(
        api,
        msgspec.structs.replace(config.server, port=l1.l1_port, ipc=l1.l1_ipc),
        layer="L1",
        # The settler logs the operator's transactions.
        hidden=OPERATOR.address,
        explorer=explorer_page(config, 1, rollup),
        role=None if workers is None else builder.opened(workers.share(chain)),
        is_layer_one=True,
    )


def embedded_settlement_layer(
    chain: Chain, sequencer: LocalSequencer, operator: DevAccount = OPERATOR
) -> SettlementLayer:
    """Return the development L1 as what an L2 settles on, with the contracts that `operator` has deployed there."""
    return SettlementLayer(
        l1=EmbeddedLayerOne(chain, sequencer),
        l1_chain_id=chain.rules.chain_id,
        contracts=contracts_on(chain, operator),
        operator_keys=OperatorKeys.of(operator.secret),
        deployment_block=chain.ledger.first,
    )


def _keyring(
    config: NodeConfig, chain: Chain, init: str | None, *, is_layer_one: bool = False
) -> Keyring:
    funded = funded_accounts(config.chain, chain.genesis, is_layer_one=is_layer_one)
    return open_keyring(config, (*funded, *init_signers(init)))
