"""The RPC methods that the explorer needs beyond those of every chain."""
