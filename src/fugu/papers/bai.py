"""Paper 002, Bai, He, Gu, Kifer, Maeng: experiments."""
