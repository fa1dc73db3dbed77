"""Programs that measure the code itself."""
