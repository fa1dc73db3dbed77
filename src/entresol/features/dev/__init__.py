"""The features that only users of anvil and Hardhat need: checkpoints, reverts, state files, impersonation."""
