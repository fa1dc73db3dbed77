"""From records and a genesis to what is published of them."""
