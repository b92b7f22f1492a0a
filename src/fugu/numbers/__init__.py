"""Numbers that are what they say: exact decimals and fractions, and balls with outward rounding."""

from fugu.numbers.exact import as_fraction as as_fraction
