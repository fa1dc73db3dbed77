"""Other implementations that the tests compare with."""
