"""What passes from chain to chain: roots of L1, and bundles of calls."""
