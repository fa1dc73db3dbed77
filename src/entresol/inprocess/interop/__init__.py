"""Bundles between the L2s of a devnet: what sends, follows and executes them, by web3.py."""
