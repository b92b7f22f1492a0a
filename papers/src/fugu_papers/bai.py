"""Paper 002, Bai, He, Gu, Kifer, Maeng, "Composition for Pufferfish Privacy".

Its experiments are registered where they stand: the examples of section 4 in `bai_collapse`, Figure 2 in `bai_curves`,
Theorem 7 and the algorithms in `bai_compose`, the tables of sections 7 and D.3 in `bai_tables`."""

from fugu_papers import bai_collapse, bai_compose, bai_curves, bai_tables

PARTS = (bai_collapse, bai_compose, bai_curves, bai_tables)
