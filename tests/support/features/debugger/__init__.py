"""Sources that are executed, and what is known of them."""
