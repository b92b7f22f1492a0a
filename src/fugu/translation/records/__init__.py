"""What per-record privacy is worth when the records of a table are independent and one of them holds the secret."""
