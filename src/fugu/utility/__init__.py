"""How good what is published is: noise beside the value's own spread, worked out on beliefs, never on private data."""
