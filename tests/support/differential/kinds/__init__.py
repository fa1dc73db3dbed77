"""What the generator can write, one module a family."""
