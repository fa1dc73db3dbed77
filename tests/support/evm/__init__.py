"""Bytecode and in-memory state for tests of the engine."""
