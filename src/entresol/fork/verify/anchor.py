"""The anchor itself, whose hash is what a user trusts: the rest of it is proven as that of any other block."""

from __future__ import annotations

import msgspec

from entresol.errors import Unprovable
from entresol.fork import results
from entresol.fork.anchoring import BY_HASH
from entresol.fork.results import DescribedBlock
from entresol.fork.transport.client import ForkClient
from entresol.fork.verify.blocks import read_uncles
from entresol.fork.verify.body import hashed_header, proven_block
from entresol.fork.verify.headers import check_header
from entresol.fork.verify.members import Told

_WITH_TRANSACTIONS = True


async def proven_anchor(client: ForkClient, block: DescribedBlock) -> DescribedBlock:
    """Return the anchor with what is proven of it, and nothing else; raise `ProofsUnavailable` if its hash is not its own."""
    check_header(client.host, block)
    raw = await client.request(BY_HASH, str(block.hash), _WITH_TRANSACTIONS)
    told = Told(client.host, BY_HASH)
    fields = results.decoded(client.host, BY_HASH, raw, results.mapping)
    header = hashed_header(told, fields)
    if header.hash != block.hash:
        raise told.lied(f"it is block {header.hash}, and not {block.hash}")
    uncles = await read_uncles(client, told, header, fields)
    try:
        members = proven_block(told, header, fields, uncles).json(with_transactions=False)
    except Unprovable:
        # States can be proven all the same: a chain may have transactions that only it can encode in every block.
        members = header.json()
    found = results.described_block(client.host, BY_HASH, msgspec.json.encode(members))
    assert found is not None
    return found
