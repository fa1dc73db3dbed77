"""The examples of the method reference: for each method the parameters of one call.

`docs/tools/recording.py` makes the call to a fresh node with four blocks, and the page shows the response. So an example
is one line in one of the files beside this one. Preparatory calls are given as `before`; `RESULT` among the parameters
is replaced by the result of the last of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from docs.tools.examples.debugging import debugging_examples
from docs.tools.examples.developer import developer_examples
from docs.tools.examples.ethereum import ethereum_examples
from docs.tools.examples.example import example
from docs.tools.examples.layer_two import layer_two_examples
from entresol.rpc.namespaces.rejected import DEVELOPMENT, ETHEREUM

if TYPE_CHECKING:
    from docs.tools.examples.example import Example
    from docs.tools.recording import World


def examples(world: World) -> dict[str, Example]:
    """Return the example of each method; `hardhat_x` shares that of `anvil_x` unless it has its own."""
    groups = (
        ethereum_examples(world),
        layer_two_examples(world),
        developer_examples(world),
        debugging_examples(world),
        {row.name: example(rejected=True) for row in (*ETHEREUM, *DEVELOPMENT)},
    )
    found = {name: it for group in groups for name, it in group.items()}
    assert len(found) == sum(map(len, groups)), "two files have an example of the same method"
    return found
