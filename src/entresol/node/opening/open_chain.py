"""Open a chain as its plan says, for every assembly."""

from __future__ import annotations

from typing import TYPE_CHECKING

from entresol.node.chain_plan import OpenChain
from entresol.node.dev_features import (
    funded_accounts,
    init_signers,
    open_keyring,
    requested_accounts,
)
from entresol.node.opening.chain_parts import closed_on_failure
from entresol.node.opening.layer_one import open_layer_one
from entresol.node.opening.layer_one_alone import open_layer_one_alone
from entresol.sequencer.local import LocalSequencer
from entresol.sequencer.sequencer import SequencerElsewhere

if TYPE_CHECKING:
    from collections.abc import Sequence

    from entresol.chain.chain import Chain
    from entresol.chain.fees import FeeModel
    from entresol.chain.keyring import Keyring
    from entresol.node.chain_plan import ChainPlan


def open_chain(plan: ChainPlan, layer_twos: Sequence[OpenChain] = ()) -> OpenChain:
    """Open a chain; `layer_twos` are those on a development L1 from genesis."""
    fees: FeeModel | None = None
    if plan.layer == 2:
        # An L1 alone does not need it.
        from entresol.node.opening.layer_two import open_layer_two  # noqa: PLC0415

        chain, fees = open_layer_two(
            *(plan.config, plan.l1_chain_id, plan.contracts, plan.store),
            base_token=plan.base_token,
            neighbours=plan.neighbours,
            fork=plan.fork,
        )
    elif plan.is_alone:
        chain = open_layer_one_alone(plan.config, plan.fork)
    else:
        chain = open_layer_one(
            plan.config,
            [layer_two.chain for layer_two in layer_twos],
            plan.store,
            base_tokens=[layer_two.plan.base_token for layer_two in layer_twos],
            fork=plan.fork,
        )
    return opened_chain(plan, chain, fees)


def opened_chain(plan: ChainPlan, chain: Chain, fees: FeeModel | None = None) -> OpenChain:
    """Return a chain with who seals its blocks, and have the plan know the accounts that its node signs for."""
    if plan.is_replica:
        return OpenChain(plan, chain, SequencerElsewhere(), fees)
    with closed_on_failure(chain):
        plan.keyring = _keyring(plan, chain)
        return OpenChain(plan, chain, LocalSequencer(chain), fees)


def _keyring(plan: ChainPlan, chain: Chain) -> Keyring:
    config, is_l1 = plan.config, plan.is_beneath
    funded = (
        requested_accounts(config.chain)
        if plan.is_alone
        else funded_accounts(config.chain, chain.genesis, is_layer_one=is_l1)
    )
    init = config.l1.l1_init if is_l1 else config.chain.init
    return open_keyring(config, (*funded, *init_signers(init)))
