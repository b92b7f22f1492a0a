"""What is proved of one person in several tables, from the definition: docs/proofs/composition.md."""

from __future__ import annotations

from itertools import product

import numpy as np

from hunting import search


def worth(epsilon, p, q):
    """T(epsilon; p, q), over all subsets, in both orders."""
    a, most = np.exp(epsilon) - 1, 0.0
    for inside in product((0, 1), repeat=len(p)):
        one, two = np.dot(p, inside), np.dot(q, inside)
        most = max(most, abs(np.log1p(a * one) - np.log1p(a * two)))
    return most


def release(rng, states, epsilon):
    """A random channel that is epsilon-private for the change of a state: rows of probabilities."""
    table = np.exp(rng.uniform(0, epsilon / 2, size=(states, rng.integers(2, 5))))
    if rng.random() < 0.5:  # extreme: each output is likely or not
        table = np.exp(epsilon / 2 * rng.integers(0, 2, size=table.shape))
    return table / table.sum(axis=1, keepdims=True)


def loss(joint, first, second):
    """The largest loss about the secret over all pairs of outputs, in both orders; joint[s, x, y]."""
    seen = np.einsum("sxy,xa,yb->sab", joint, first, second)
    return float(np.abs(np.log(seen[0]) - np.log(seen[1])).max())


def case(rng):
    """joint law of (X, Y) given each secret, and two releases; X alone has the law that the belief speaks of."""
    x, y = rng.integers(2, 5, size=2)
    p, q = rng.dirichlet(np.ones(x) * rng.choice([0.3, 1, 9]), size=2)
    if rng.random() < 0.3:
        q = p
    given = rng.dirichlet(np.ones(y) * rng.choice([0.05, 1]), size=(2, x))
    joint = np.stack([p[:, None] * given[0], q[:, None] * given[1]])
    epsilons = rng.choice([0.1, 1, 3, 8], size=2)
    return p, q, joint, epsilons, release(rng, x, epsilons[0]), release(rng, y, epsilons[1])


@search("one person in two tables: what the first is worth and the plain epsilon of the second", quick=300)
def test_what_other_tables_charge_adds_with_its_plain_epsilon(rng):
    p, q, joint, epsilons, first, second = case(rng)
    true = loss(joint, first, second)
    assert true <= worth(epsilons[0], p, q) + epsilons[1] + 1e-9
    assert true <= epsilons.sum() + 1e-9


def test_nothing_less_is_true():
    """X = s xor r and Y = r: worth 0 each; the sum of both, or one record with both charges, is 0 and false."""
    fair = np.full((2, 2), 0.5)
    joint = np.zeros((2, 2, 2))
    for s, r in product((0, 1), repeat=2):
        joint[s, s ^ r, r] = 0.5
    assert np.allclose(joint.sum(axis=2), fair) and np.allclose(joint.sum(axis=1), fair)
    for epsilon in (0.1, 1, 3):
        response = np.array([[np.exp(epsilon), 1], [1, np.exp(epsilon)]]) / (1 + np.exp(epsilon))
        plain = np.array([[1 - 1e-12, 1e-12], [1e-12, 1 - 1e-12]])  # X as it is
        assert abs(loss(joint, plain, response) - epsilon) < 1e-6
        assert worth(30, fair[0], fair[1]) + worth(epsilon, fair[0], fair[1]) == 0


def test_a_delta_path_by_path_is_false_beside_questions_of_a_session():
    k, delta = 20, 0.01
    exclude = np.zeros((k + 1, k + 1))  # state, z; z = 0 is nothing
    for state in range(k + 1):
        exclude[state, 1:] = [delta * (j != state) for j in range(1, k + 1)]
        exclude[state, 0] = 1 - exclude[state, 1:].sum()
    gaps = [np.maximum(exclude[a] - exclude[b], 0).sum() for a in range(k + 1) for b in range(k + 1)]
    assert max(gaps) <= delta + 1e-12  # (0, delta)-private
    under_s = sum(exclude[0, j] for j in range(1, k + 1))  # "z = j, and the record is 0 or j", over all j
    under_t = sum(exclude[j, j] / k for j in range(1, k + 1))
    assert under_s > np.exp(np.log(k)) * under_t + 10 * delta
