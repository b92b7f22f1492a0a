"""Paper 001, Ding 2024: experiments."""
