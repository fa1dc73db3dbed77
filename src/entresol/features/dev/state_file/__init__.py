"""State files: chains as anvil dumps and loads them."""
