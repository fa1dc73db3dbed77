"""Build blocks of what is pending, seal them, and make them durable."""
