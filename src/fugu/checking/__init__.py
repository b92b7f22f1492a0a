"""What the owner may see of the own table: how it is read, and who else is in it. Never part of what is published."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.checking.check import Check as Check
    from fugu.checking.check import checked as checked
else:
    __getattr__ = names(__name__)
