"""Paper 002, Bai, He, Gu, Kifer, Maeng: experiments."""

from fugu.papers import bai_tables as bai_tables
