"""Replicas: processes that follow the chain of a producer, and forward to it what only a producer can do."""
