"""Tests with real processes, files and sockets."""
