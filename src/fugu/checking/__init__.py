"""What the owner may see of the own table: how it is read, and who else is in it. Never part of what is published."""

from fugu.checking.check import Check as Check
from fugu.checking.check import check as check
from fugu.checking.check import checked as checked
