"""Paper 004, Chen, Ohrimenko 2023: experiments."""
