"""Numbers that are what they say: exact decimals and fractions, and balls with outward rounding."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.numbers.exact import as_fraction as as_fraction
else:
    __getattr__ = names(__name__)
