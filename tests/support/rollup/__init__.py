"""Both layers: layer ones, settlement, bridging, and the invariants that hold between them."""
