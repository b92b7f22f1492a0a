"""A ledger that version 0.1 opened must still know its prior: the digests that it wrote down."""

from __future__ import annotations

import math

import pytest

from fugu import BayesianNetwork, MarkovChain, iterate
from fugu.ledger.fingerprint import prior_digest
from fugu.priors import ChainSet, DependentGroups, IndependentBlocks
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.joint import JointTable
from fugu_papers.closed_forms import ContractingChains

TWO = [[0.6, 0.4], [0.2, 0.8]]
LATE = [[0.97, 0.03, 0], [0, 0.98, 0.02], [0, 0, 1]]
SEEN = ([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], 6)
CELLS = [[[0.1, 0.2], [0.05, 0.15]], [[0.2, 0.1], [0.1, 0.1]]]
WRITTEN = [
    (MarkovChain(TWO, 100), "2aaa29e190b16dd14b0055b44ebfd33bc8f7d7248ab49cea0859a14b57739edc"),
    (MarkovChain(TWO, 40, "any"), "8fdb709700a565f51c7245deb0c492b468ed50458df1e37d13e7e8408c7a2d8f"),
    (MarkovChain(TWO, 40, [0.5, 0.5]), "aa5bd3577a9bd1f45b7e09d3e92058db2f85ca6b4d76673343b055c215002b21"),
    (
        MarkovChain(LATE, 30, [1, 0, 0], ["well", "ill", "dead"]),
        "98263f45512a2862257dacbc0e2a440f0e3831dedbc398072a5685c32ffafd98",
    ),
    (
        MarkovChain.fit(["aababb", "bbabaa", "babbab", "abaabb"], smoothing=0.5),
        "719fd54aedcda4a77470f633377e2dc3c64b54e7497a5a472150efe302284c56",
    ),
    (
        ChainSet([MarkovChain([[p, 1 - p], [1 - p, p]], 9) for p in (0.6, 0.8)]),
        "2e1782399662de53b006bc5345c718f696bb0d014e189aa6323e5b1baf1891b6",
    ),
    (DependentGroups(5), "be5df285671c88404d48650b45bec9e8f66fa05eef8cd9eb63ad4d76a020abbf"),
    (
        IndependentBlocks(MarkovChain(TWO, 9), MarkovChain([[0.5, 0.5], [0.4, 0.6]], 4)),
        "f5f51de34dedad4b76e7949931e594c8f3aaaa343c302f387c60288b8637ea42",
    ),
    (
        [MarkovChain(TWO, 9), MarkovChain([[0.5, 0.5], [0.4, 0.6]], 4)],
        "b2d7a8030eb3ec8fda3f13417f720b438eb249cf4f50f86763966f8f695c3fce",
    ),
    (
        {"a": MarkovChain(TWO, 9), "b": DependentGroups(3)},
        "cb899d94c31392253ef02cd68c01f0f9e710069c3ec2018b6578cddf83ea0e42",
    ),
    (JointTable(CELLS, ["a", "b", "c"]), "6e16988d67306935355a57e0ce11168156e51751ae59c2fcfa7418d7cac421c8"),
    (
        BayesianNetwork({"rain": [0.8, 0.2], "wet": [[0.9, 0.1], [0.2, 0.8]]}, {"wet": ["rain"]}),
        "f00a5d7b8afe2b2a3100ccc6f9059e826d36c9602d8fa91159b7fc2f3493d2c0",
    ),
    (HiddenMarkov(*SEEN), "ca99f743a2fb9fd512ec404d8c8540d6def0a92b9179f0df184d36ae410a8702"),
    (HiddenMarkov(*SEEN, protect="observed"), "4a1ac1ecfc7e7011741911353391a5da8b01827c1c1b80667e8e406ee21263ef"),
    (GaussianField.ar1(4, 0.5), "2ca124b6784a53bc0b019ba3d8569d1dcd80db3a4da9ef1e9ab4b2e241f70faa"),
    (ContractingChains(math.log(6), 50), "7f3450d6fc8c1ac55f76110a631bd7df78a41f8e4d9822bf6c70aa5e8c3079d2"),
    (iterate.AR1(0.3, 0.5), "5ac6fd699e53402871ae71c94473e9f035ed434a6c808401608bc3e2edc2d89c"),
    (
        iterate.Correlated(GaussianField.ar1(4, 0.5), 0.5),
        "52a07546d094a58c3bb5443e2e870aee68f6d408151dbd6b7767c8083305cadc",
    ),
    (iterate.Groups(["a", "a", "b", "c"]), "08c2114581f5da7e211955e50c1df97f7206fd483278569bce0b7edc61423643"),
    (iterate.Independent(), "9c95143875bf112c00b5665583243b3d32df07eb0e7c2b88bb707e697e60bfa8"),
    (iterate.WorstCase(), "f72520b3a444246a4bd6f77196e08b0dfb018465caeeb4572810ff6d0a3163f7"),
    (iterate.Mixing(0.3), "fd3dba836660de7709b7db6eb908c4db3f823296e585b0934b01ad253e84a604"),
    (
        iterate.Joint(JointTable([[0.4, 0.1], [0.1, 0.4]])),
        "b65cdbbe4e9ef7d299ad669151b02988bc758ca6ad7f2c35cad70b36f5652e15",
    ),
]


@pytest.mark.parametrize(("prior", "digest"), WRITTEN, ids=lambda x: type(x).__name__ if not isinstance(x, str) else "")
def test_the_digest_is_that_of_version_0_1(prior, digest):
    assert prior_digest(prior) == digest


def test_another_number_is_another_digest():
    chain = MarkovChain(TWO, 100)
    for other in (MarkovChain(TWO, 101), MarkovChain([[0.6, 0.4], [0.25, 0.75]], 100), MarkovChain(TWO, 100, "any")):
        assert prior_digest(other) != prior_digest(chain)
