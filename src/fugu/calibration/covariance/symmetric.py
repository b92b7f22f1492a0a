"""Coordinates for symmetric matrices, in which <A, B> is a scalar product, and matrices of maps between them."""

from __future__ import annotations

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Symmetric:
    """Entry (i, j), i <= j, of a symmetric matrix is a coordinate, times sqrt(2) off the diagonal."""

    def __init__(self, d: int) -> None:
        self.d = d
        self.i, self.j = np.triu_indices(d)
        self.c = np.where(self.i == self.j, 1.0, np.sqrt(2.0))
        i, b = self.i[:, None], self.j[:, None]
        j, a = self.i[None, :], self.j[None, :]
        self.diagonal = np.flatnonzero(self.i == self.j)
        self.at = [
            ((w * d + x) * d + y) * d + z for w, x, y, z in ((i, j, a, b), (b, j, a, i), (i, a, j, b), (b, a, j, i))
        ]
        self.cc = self.c[:, None] * self.c[None, :] / 4

    def vector(self, S: Array) -> Array:
        """The coordinates of a symmetric matrix."""
        return np.asarray(S[self.i, self.j] * self.c)

    def matrix(self, v: Array) -> Array:
        """The symmetric matrix with these coordinates."""
        S = np.empty((self.d, self.d))
        S[self.i, self.j] = S[self.j, self.i] = v / self.c
        return S

    def schur(self, P: Array, Z: Array) -> Array:
        """The matrix of S -> sum_k (P_k S Z_k + Z_k S P_k) / 2, P_k and Z_k symmetric."""
        k = len(P)
        T = (P.reshape(k, -1).T @ Z.reshape(k, -1)).ravel()
        total = T[self.at[0]]
        for at in self.at[1:]:
            total += T[at]
        return np.asarray(total * self.cc)

    def congruence(self, M: Array) -> Array:
        """The matrix of S -> M S M'."""
        i, j = self.i[:, None], self.j[:, None]
        k, m = self.i[None, :], self.j[None, :]
        return np.asarray((M[i, k] * M[j, m] + M[i, m] * M[j, k]) * (2 * self.cc))

    def form(self, F: Array) -> Array:
        """The matrix of the quadratic form sum F_ijkl S_ij S_kl."""
        i, j = self.i[:, None], self.j[:, None]
        k, m = self.i[None, :], self.j[None, :]
        found = (F[i, j, k, m] + F[j, i, k, m] + F[i, j, m, k] + F[j, i, m, k]) * self.cc
        return np.asarray((found + found.T) / 2)


@cache
def symmetric(d: int) -> Symmetric:
    """The coordinates for one size."""
    return Symmetric(d)
