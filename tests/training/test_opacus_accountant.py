"""The accountant for Opacus: the numbers it hands on, the trainings it refuses, and the real thing if torch is there.

Without torch, small stand-ins with the same names and attributes take the part of the objects of torch and Opacus."""

from __future__ import annotations

import abc
import io
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

from fugu.errors import MissingExtra, NotProvable, UsageError
from fugu.loss.shifts import gaussian_delta
from fugu.priors.coupling import Groups, Move
from fugu.training import opacus as room
from fugu.training.allocation import covered
from fugu.training.opacus import LinearTraining
from fugu_papers.normal_curve import gaussian_epsilon

DELTA = 1e-5


def made(kind: str, **attributes: Any) -> Any:
    """An object whose type has this full name."""
    module, _, name = kind.rpartition(".")
    found = type(name, (SimpleNamespace,), {"__module__": module})(**attributes)
    type(found).__qualname__ = name
    return found


def default_collate(batch: list[Any]) -> list[Any]:
    return batch


class Data(list):
    """A data set of n items with 3 features and one target each."""

    def __init__(self, n: int, target: tuple[int, ...] = (1,)) -> None:
        super().__init__([(np.zeros(3), np.zeros(target))] * n)


def linear(**changes: Any) -> Any:
    hooks = {f"_{way}_hooks": {} for way in ("forward", "forward_pre", "backward", "backward_pre")}
    weights = [SimpleNamespace(requires_grad=True), SimpleNamespace(requires_grad=True)]
    given = {"out_features": 1, "in_features": 3, "bias": weights[1], "parameters": lambda: weights, **hooks, **changes}
    return made("torch.nn.modules.linear.Linear", **given)


def sgd(model: Any, kind: str = "torch.optim.sgd.SGD", **changes: Any) -> Any:
    group = {"params": model.parameters(), "lr": 0.5, "weight_decay": 0.0, "momentum": 0, "nesterov": False}
    groups = [{**group, "maximize": False, **changes}]
    return made(kind, param_groups=groups, _optimizer_step_pre_hooks={}, _optimizer_step_post_hooks={})


def loss(name: str = "BCEWithLogitsLoss", **attributes: Any) -> Any:
    return made(f"torch.nn.modules.loss.{name}", **{"reduction": "mean", **attributes})


def loader(
    n: int = 12,
    size: int = 3,
    *,
    order: str = "Sequential",
    drop: bool = False,
    target: tuple[int, ...] = (1,),
    kind: str = "torch.utils.data.dataloader.DataLoader",
    **changes: Any,
) -> Any:
    data = Data(n, target)
    sampler = made(f"torch.utils.data.sampler.{order}Sampler", data_source=data)
    batches = made("torch.utils.data.sampler.BatchSampler", sampler=sampler, batch_size=size, drop_last=drop)
    given = {"dataset": data, "batch_sampler": batches, "collate_fn": default_collate, "in_order": True, **changes}
    return made(kind, **given)


def wrapped(inner: Any, training: LinearTraining, samples: int = 3, **changes: Any) -> Any:
    """A stand-in for Opacus' optimizer as the hook sees it."""
    given = {
        "original_optimizer": inner,
        "noise_multiplier": 4.0,
        "max_grad_norm": 1.0,
        "expected_batch_size": training.divisor,
        "loss_reduction": "mean",
        "accumulated_iterations": 1,
        "grad_samples": [[0.0] * samples],
        "_is_last_step_skipped": False,
    }
    return made(changes.pop("kind", "opacus.optimizers.optimizer.DPOptimizer"), **{**given, **changes})


@pytest.fixture
def accountant(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class, joined to a stand-in for Opacus' abstract accountant; `known` is Opacus' registry."""

    class IAccountant(abc.ABC):
        @abc.abstractmethod
        def step(self) -> None: ...

        get_epsilon = __len__ = mechanism = step

    known: dict[str, Any] = {}
    module = ModuleType("opacus.accountants")
    module.IAccountant = IAccountant
    module.register_accountant = lambda name, maker, force=False: known.update({name: maker})
    monkeypatch.setitem(sys.modules, "opacus", ModuleType("opacus"))
    monkeypatch.setitem(sys.modules, "opacus.accountants", module)
    found = room.LastIterateAccountant
    assert issubclass(found, IAccountant) and found is room.LastIterateAccountant
    found.known = known
    return found


def declared(**changes: Any) -> LinearTraining:
    given = {"records": 12, "batch_size": 3, "learning_rate": 0.5, "curvature": 0.25, "feature_norm": 1}
    return LinearTraining(**{**given, "max_grad_norm": 1.0, "fixed_order": True, **changes})


def trained(cls: Any, steps: int, noise: float = 4.0, **changes: Any) -> Any:
    found = cls(declared(**changes))
    for _ in range(steps):
        found.step(noise_multiplier=noise, sample_rate=1 / found.training.batches)
    return found


def test_without_opacus_the_room_imports_and_the_class_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opacus", None)
    monkeypatch.setitem(sys.modules, "opacus.accountants", None)
    assert declared().batches == 4
    with pytest.raises(MissingExtra, match=r"fugu-privacy\[torch\]"):
        _ = room.LastIterateAccountant
    with pytest.raises(AttributeError):
        _ = room.FirstIterateAccountant


@pytest.mark.parametrize(("n", "m", "k"), [(12, 3, 3), (100, 30, 25), (98, 2, 1), (10, 7, 5), (5, 5, 5)])
def test_the_divisor_is_that_of_opacus_and_a_record_moves_a_step_by_twice_the_clip_over_it(
    n: int, m: int, k: int
) -> None:
    training = declared(records=n, batch_size=m, learning_rate=0.3, max_grad_norm=1.5, weight_decay=0.2)
    assert training.divisor == k
    found = training.iteration(training.batches, 4.0)
    move = Move(np.array([n - 1]), np.array([math.inf]))
    assert found.shifts(move).max() == pytest.approx(0.3 * 2 * 1.5 / k, rel=1e-9)
    assert found.noise == pytest.approx(0.3 * 4 * 1.5 / k, rel=1e-8) and found.noise < 0.3 * 4 * 1.5 / k
    by_hand = 1 - 0.3 * 0.2, abs(1 - 0.3 * 0.2 - 0.3 * m / k * 0.25 * 2)
    assert found.contraction.max() == pytest.approx(max(by_hand), abs=1e-12)
    if k != m:  # division by m, as if Opacus did so: wrong
        assert found.shifts(move).max() > 1.01 * 0.3 * 2 * 1.5 / m


@pytest.mark.parametrize("decay", [0.0, 0.3])
@pytest.mark.parametrize("steps", [1, 3, 4, 6, 9, 20])
def test_epsilon_is_that_of_the_worst_record_also_within_an_epoch(accountant: Any, steps: int, decay: float) -> None:
    found = trained(accountant, steps, weight_decay=decay)
    epsilon = found.get_epsilon(DELTA)
    contraction = max(1 - 0.5 * decay, abs(1 - 0.5 * (0.5 + decay))) if decay else 1.0
    roots = []
    for record in range(12):
        uses = [2.0 if t % 4 == record // 3 else 0.0 for t in range(steps)]
        roots.append(math.sqrt(covered(uses, 4.0, contraction)))
    assert gaussian_delta(epsilon, max(roots)) <= DELTA < gaussian_delta(epsilon * (1 - 1e-4), max(roots))
    if steps % 4:  # "the last record of the data set is the worst" is wrong within an epoch
        assert gaussian_delta(epsilon * 0.99, roots[-1]) < DELTA


def test_the_record_used_last_is_hidden_by_its_own_noise_only(accountant: Any) -> None:
    """One step: mu = 2 / noise_multiplier; with half of it, for adding or removing a record, delta would be broken."""
    epsilon = trained(accountant, 1).get_epsilon(DELTA)
    assert gaussian_delta(epsilon, 0.5) <= DELTA < gaussian_delta(epsilon * 0.999, 0.5)
    assert gaussian_delta(gaussian_epsilon(0.25, DELTA), 0.5) > 10 * DELTA


def test_epochs_cost_little_and_weight_decay_makes_them_cost_nothing_in_the_end(accountant: Any) -> None:
    at = [trained(accountant, 4 * epochs).get_epsilon(DELTA) for epochs in (1, 10, 100)]
    assert at[0] < at[1] < at[2]
    decayed = [trained(accountant, 4 * e, weight_decay=0.5).get_epsilon(DELTA) for e in (100, 400)]
    assert decayed[0] == pytest.approx(decayed[1], rel=1e-6) and decayed[1] < at[1]
    every_step = 0.5 * math.sqrt(100)  # the cost if a record's hundred uses were all published
    assert gaussian_delta(at[2], every_step) > 100 * DELTA


def test_no_step_costs_nothing_and_no_noise_everything(accountant: Any) -> None:
    assert trained(accountant, 0).get_epsilon(DELTA) == 0
    assert trained(accountant, 1, noise=0.0).get_epsilon(DELTA) == math.inf
    with pytest.raises(UsageError):
        trained(accountant, 1, noise=-1.0).get_epsilon(DELTA)


def test_priors_are_handed_on_also_within_an_epoch(accountant: Any) -> None:
    """Three records of the first batch move together: after one step they cost most, three more steps hide them."""
    assert trained(accountant, 8, prior="group").get_epsilon(DELTA) > 2 * trained(accountant, 8).get_epsilon(DELTA)
    groups = Groups([0, 0, 0, *range(1, 10)])
    early, whole = (trained(accountant, steps, prior=groups).get_epsilon(DELTA) for steps in (1, 4))
    assert gaussian_delta(early, 1.5) <= DELTA < gaussian_delta(early * (1 - 1e-4), 1.5)
    assert gaussian_delta(whole, 1.5) > 100 * DELTA  # as if the epoch had been finished: wrong
    with pytest.raises(NotProvable, match="normal priors"):
        declared(prior="ar1:0.3")


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"fixed_order": False}, NotProvable),
        ({"learning_rate": 4.001}, NotProvable),
        ({"learning_rate": 2.01, "feature_norm": 2.0, "bias": False, "curvature": 0.25}, NotProvable),
        ({"learning_rate": 3.9, "weight_decay": 0.1}, NotProvable),
        ({"records": 49, "batch_size": 1}, UsageError),
        ({"batch_size": 13}, UsageError),
        ({"records": 12.0}, UsageError),
        ({"loss_reduction": "none"}, UsageError),
        ({"feature_norm": 0}, UsageError),
        ({"max_grad_norm": math.nan}, UsageError),
        ({"weight_decay": -0.1}, UsageError),
    ],
)
def test_a_declaration_that_proves_nothing_is_refused(changes: dict[str, Any], error: type[Exception]) -> None:
    declared(learning_rate=4.0)
    declared(learning_rate=2.0, feature_norm=2.0, bias=False)
    with pytest.raises(error):
        declared(**changes)


def test_objects_are_read_as_they_are(accountant: Any) -> None:
    model = linear()
    given = accountant.for_training(model, loss(), sgd(model, lr=0.25, weight_decay=0.1), loader(10, 4), 1.5, 2.0)
    assert given.training == declared(
        records=10, batch_size=4, learning_rate=0.25, feature_norm=2.0, max_grad_norm=1.5, weight_decay=0.1,
        prior=given.training.prior,
    )  # fmt: skip
    bare = linear(bias=None)
    read = accountant.for_training(
        bare, loss("MSELoss", reduction="sum"), sgd(bare, lr=0.1), loader(6, 8), 1, 1
    ).training
    assert (read.bias, read.curvature, read.batch_size, read.divisor, read.loss_reduction) == (False, 2, 6, 1, "sum")


@pytest.mark.parametrize(
    ("name", "attributes", "curvature", "derivative"),
    [
        ("BCEWithLogitsLoss", {}, 0.25, lambda u: 1 / (1 + np.exp(-u))),
        ("MSELoss", {}, 2.0, lambda u: 2 * u),
        ("HuberLoss", {"delta": 0.5}, 1.0, lambda u: np.clip(u, -0.5, 0.5)),
        ("SmoothL1Loss", {"beta": 0.5}, 2.0, lambda u: np.clip(u / 0.5, -1, 1)),
    ],
)
def test_the_curvature_stays_the_largest_slope_after_clipping(
    name: str, attributes: dict[str, float], curvature: float, derivative: Any
) -> None:
    assert room.curvature_of(loss(name, **attributes)) == curvature
    at = np.linspace(-3, 3, 60001)
    raw = derivative(at)
    assert np.diff(raw).max() / 1e-4 == pytest.approx(curvature, rel=1e-4)  # not half of it
    for clip, length in ((1.0, 1.0), (0.05, 2.0), (1e-7, 1.0)):
        clipped = raw * np.minimum(1, clip / (np.abs(raw) * length + 1e-6))
        slopes = np.diff(clipped) / 1e-4
        assert (
            slopes.min() >= -1e-9 and slopes.max() <= curvature * (1 + 1e-6) and np.abs(clipped * length).max() <= clip
        )


MODEL = linear()
FROZEN = [SimpleNamespace(requires_grad=True), SimpleNamespace(requires_grad=False)]


def trains(model: Any) -> dict[str, Any]:
    return {"model": model, "optimizer": sgd(model)}


def two_rates(model: Any) -> Any:
    """Weights and bias with learning rates of their own."""
    found = sgd(model)
    weight, bias = model.parameters()
    found.param_groups = [{**found.param_groups[0], "params": [p], "lr": r} for p, r in ((weight, 0.1), (bias, 0.2))]
    return found


def hooked(model: Any) -> Any:
    found = sgd(model)
    found._optimizer_step_pre_hooks = {0: print}
    return found


@pytest.mark.parametrize(
    "changes",
    [
        trains(linear(out_features=2)),
        {"model": made("torch.nn.modules.container.Sequential", in_features=3, out_features=1)},
        trains(linear(_forward_pre_hooks={1: None})),
        trains(linear(parameters=lambda: FROZEN)),
        {"model": linear()},  # another model than the one the optimizer trains
        {"criterion": loss("CrossEntropyLoss")},
        {"criterion": loss("BCEWithLogitsLoss", pos_weight=2.0)},
        {"criterion": loss("SmoothL1Loss", beta=0.0)},
        {"criterion": made("mine.MSELoss", reduction="mean")},
        {"criterion": loss(reduction="none")},
        {"optimizer": sgd(MODEL, kind="torch.optim.adam.Adam")},
        {"optimizer": sgd(MODEL, momentum=0.9)},
        {"optimizer": sgd(MODEL, maximize=True)},
        {"optimizer": two_rates(MODEL)},
        {"optimizer": hooked(MODEL)},
        {"optimizer": sgd(MODEL, lr=4.1)},
        {"optimizer": sgd(MODEL, params=MODEL.parameters()[:1])},
        {"data_loader": loader(order="Random")},
        {"data_loader": loader(kind="opacus.data_loader.DPDataLoader")},
        {"data_loader": loader(13, 3, drop=True)},
        {"data_loader": loader(collate_fn=len)},
        {"data_loader": loader(in_order=False)},
        {"data_loader": loader(dataset=Data(12))},  # the sampler belongs to another data set
        {"data_loader": loader(target=())},
    ],
)
def test_other_trainings_are_refused(accountant: Any, changes: dict[str, Any]) -> None:
    given = {"model": MODEL, "criterion": loss(), "optimizer": sgd(MODEL), "data_loader": loader()}
    accountant.for_training(**given, max_grad_norm=1.0, feature_norm=1.0)
    with pytest.raises((NotProvable, UsageError)):
        accountant.for_training(**{**given, **changes}, max_grad_norm=1.0, feature_norm=1.0)


@pytest.mark.parametrize(
    ("changes", "inner"),
    [
        ({"kind": "opacus.optimizers.optimizer_fast_gradient_clipping.DPOptimizerFastGradientClipping"}, {}),
        ({"kind": "opacus.optimizers.perlayeroptimizer.DPPerLayerOptimizer"}, {}),
        ({"accumulated_iterations": 2}, {}),
        ({"_is_last_step_skipped": True}, {}),
        ({"max_grad_norm": 1.1}, {}),
        ({"expected_batch_size": 4}, {}),
        ({"loss_reduction": "sum"}, {}),
        ({"samples": 4}, {}),
        ({"noise_multiplier": 3.0}, {}),
        ({}, {"lr": 0.4}),
        ({}, {"weight_decay": 0.1}),
        ({}, {"momentum": 0.5}),
    ],
)
def test_a_step_that_is_not_the_declared_one_is_refused_and_not_counted(
    accountant: Any, changes: dict[str, Any], inner: dict[str, Any]
) -> None:
    found = accountant(declared())
    hook = found.get_optimizer_hook_fn(0.25)
    hook(wrapped(sgd(MODEL), found.training))
    with pytest.raises(NotProvable):
        hook(wrapped(sgd(MODEL, **inner), found.training, **changes))
    assert len(found) == 1
    hook(wrapped(sgd(MODEL), found.training))
    assert found.history == [(4.0, 0.25, 2)]


def test_the_short_batch_must_come_last(accountant: Any) -> None:
    found = accountant(declared(records=8))
    hook = found.get_optimizer_hook_fn(1 / 3)
    for samples in (3, 3, 2, 3):
        hook(wrapped(sgd(MODEL), found.training, samples))
    with pytest.raises(NotProvable, match="size"):
        hook(wrapped(sgd(MODEL), found.training, 2))


def test_one_accountant_is_for_one_training(accountant: Any) -> None:
    found = accountant(declared())
    with pytest.raises(NotProvable, match="batches"):
        found.get_optimizer_hook_fn(0.2)
    old, new = found.get_optimizer_hook_fn(0.25), found.get_optimizer_hook_fn(0.25)
    with pytest.raises(NotProvable, match="one training"):
        old(wrapped(sgd(MODEL), found.training))
    new(wrapped(sgd(MODEL), found.training))
    with pytest.raises(NotProvable, match="one training"):
        found.get_optimizer_hook_fn(0.25)


def test_a_checkpoint_goes_on_only_in_the_same_training_and_between_epochs(accountant: Any) -> None:
    whole = trained(accountant, 8)
    again = accountant(declared(prior=Groups(range(12))))  # the prior is not a part of the training
    again.load_state_dict(whole.state_dict())
    assert len(again) == 8 and again.get_epsilon(DELTA) == whole.get_epsilon(DELTA)
    for other in (accountant(declared(learning_rate=0.4)), accountant(declared(weight_decay=0.1))):
        with pytest.raises(NotProvable, match="another training"):
            other.load_state_dict(whole.state_dict())
    with pytest.raises(NotProvable, match="within an epoch"):
        accountant(declared()).load_state_dict(trained(accountant, 7).state_dict())
    for state in ({}, {"history": [], "mechanism": "last_iterate"}):
        with pytest.raises(UsageError):
            accountant(declared()).load_state_dict(state)


def test_registered_it_can_be_made_by_name_and_its_history_set_from_outside(accountant: Any) -> None:
    found = trained(accountant, 4)
    found.register()
    fresh = accountant.known["last_iterate"]()
    assert type(fresh) is type(found) and len(fresh) == 0
    fresh.history = [(4.0, 0.25, 4)]
    assert fresh.get_epsilon(DELTA) == found.get_epsilon(DELTA)
    fresh.history = [(4.0, 0.25, 4), (2.0, 0.25, 4)]
    with pytest.raises(NotProvable, match="noise multiplier"):
        fresh.get_epsilon(DELTA)


# From here on the real torch and the real Opacus, where they are installed.


def real(
    n: int = 12,
    m: int = 3,
    *,
    features: int = 3,
    rate: float = 0.5,
    decay: float = 0.0,
    shuffle: bool = False,
    **more: Any,
) -> dict[str, Any]:
    """Model, loss, optimizer and loader; rows of norm 1."""
    pytest.importorskip("opacus")
    torch = pytest.importorskip("torch")
    random = np.random.default_rng(n + m)
    rows = random.normal(size=(n, features))
    rows, targets = rows / np.linalg.norm(rows, axis=1)[:, None], random.choice([0.0, 1.0], size=(n, 1))
    model = torch.nn.Linear(features, 1, dtype=torch.float64)
    data = torch.utils.data.TensorDataset(torch.tensor(rows), torch.tensor(targets))
    return {
        "model": model,
        "criterion": more.get("criterion", torch.nn.BCEWithLogitsLoss()),
        "optimizer": torch.optim.SGD(model.parameters(), lr=rate, weight_decay=decay),
        "data_loader": torch.utils.data.DataLoader(data, batch_size=m, shuffle=shuffle),
    }


def private(given: dict[str, Any], noise: float = 4.0, clip: float = 1.0, engine: Any = None, **more: Any) -> Any:
    """The engine with our accountant, and what it makes of the objects."""
    from opacus import PrivacyEngine

    if engine is None:
        engine = PrivacyEngine(accountant="rdp")
        engine.accountant = room.LastIterateAccountant.for_training(**given, max_grad_norm=clip, feature_norm=1.0)
    parts = {"module": given["model"], "optimizer": given["optimizer"], "data_loader": given["data_loader"]}
    how = {"noise_multiplier": noise, "max_grad_norm": clip, "poisson_sampling": False, **more}
    return engine, engine.make_private(**parts, criterion=given["criterion"], **how)


def loop(given: dict[str, Any], made_private: Any, epochs: int = 1) -> None:
    model, optimizer, batches = made_private
    for _ in range(epochs):
        for x, y in batches:
            given["criterion"](model(x), y).backward()
            optimizer.step()
            optimizer.zero_grad()


def weights(model: Any) -> Any:
    return np.concatenate([p.detach().numpy().ravel() for p in model.parameters()])


def step_by_hand(w: Any, rows: Any, slopes: Any, rate: float, decay: float, clip: float, k: float) -> Any:
    rows = np.hstack([rows, np.ones((len(rows), 1))])
    gradients = slopes(rows @ w)[:, None] * rows
    gradients *= np.minimum(1, clip / (np.linalg.norm(gradients, axis=1) + 1e-6))[:, None]
    return w - rate * (gradients.sum(axis=0) / k + decay * w)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("clip", [0.3, 5.0])
def test_real_steps_are_the_steps_accounted_for(clip: float) -> None:
    """Ten records in batches of four: Opacus divides by 3, also the batch of two."""
    given = real(10, 4, rate=0.4, decay=0.1)
    start = weights(given["model"])
    engine, made_private = private(given, noise=0.0, clip=clip)
    training = engine.accountant.training
    loop(given, made_private)
    rows, targets = (part.numpy() for part in given["data_loader"].dataset.tensors)
    found = {}
    for k in (training.divisor, 4):
        w = start
        for t in range(3):
            some, y = rows[4 * t : 4 * t + 4], targets[4 * t : 4 * t + 4, 0]
            w = step_by_hand(w, some, lambda u, y=y: 1 / (1 + np.exp(-u)) - y, 0.4, 0.1, clip, k)
        found[k] = w
    assert np.abs(found[3] - weights(given["model"])).max() < 1e-12
    assert np.abs(found[4] - weights(given["model"])).max() > 1e-3
    assert engine.get_epsilon(DELTA) == math.inf and len(engine.accountant) == 3


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("reduction", ["mean", "sum"])
def test_real_noise_is_the_noise_accounted_for(reduction: str) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(1)
    given = real(10, 10, features=40000, rate=0.1, criterion=torch.nn.BCEWithLogitsLoss(reduction=reduction))
    start = weights(given["model"])
    engine, made_private = private(given, noise=3.0, clip=0.5, loss_reduction=reduction)
    loop(given, made_private)
    noise = engine.accountant.training.iteration(1, 3.0).noise
    spread = np.std(weights(given["model"]) - start)
    assert spread == pytest.approx(noise, rel=0.015) and spread != pytest.approx(0.97 * noise, rel=0.015)


@pytest.mark.filterwarnings("ignore")
def test_real_steps_contract_up_to_the_rate_allowed_and_not_beyond() -> None:
    """torch's squared error is (u - y)^2, of curvature 2: if it were 1, twice the rate would be allowed, and is not."""
    torch = pytest.importorskip("torch")
    apart = {}
    for rate in (0.5, 1.0):
        ends = []
        for bias in (-0.01, 0.01):
            given = real(1, 1, rate=0.5, criterion=torch.nn.MSELoss())
            with torch.no_grad():
                x, y = given["data_loader"].dataset[0]
                given["model"].weight.copy_(x[None] * (y - bias) / 2)
                given["model"].bias.copy_((y - bias) / 2)
            if rate > 0.5:
                with pytest.raises(NotProvable, match="above 2"):
                    private({**given, "optimizer": torch.optim.SGD(given["model"].parameters(), lr=rate)})
            _, made_private = private(given, noise=0.0)
            given["optimizer"].param_groups[0]["lr"] = rate
            made_private[1].attach_step_hook(lambda optimizer: None)
            before = weights(given["model"])
            loop(given, made_private)
            ends.append((before, weights(given["model"])))
        apart[rate] = np.linalg.norm(ends[1][1] - ends[0][1]) / np.linalg.norm(ends[1][0] - ends[0][0])
    assert apart[0.5] <= 1 + 1e-9 and apart[1.0] > 2


@pytest.mark.filterwarnings("ignore")
def test_real_engine_from_end_to_end(accountant_registry: None) -> None:
    given = real()
    engine, made_private = private(given)
    loop(given, made_private, epochs=5)
    assert len(engine.accountant) == 20
    epsilon = engine.get_epsilon(DELTA)
    assert epsilon == declared().iteration(20, 4.0).approx(DELTA).epsilon
    saved = io.BytesIO()
    engine.save_checkpoint(path=saved, module=made_private[0], optimizer=made_private[1])
    saved.seek(0)
    given = real()
    resumed, made_private = private(given)
    resumed.load_checkpoint(path=saved, module=made_private[0], optimizer=made_private[1])
    loop(given, made_private)
    assert len(resumed.accountant) == 24 and resumed.get_epsilon(DELTA) > epsilon


@pytest.fixture
def accountant_registry() -> Any:
    """Opacus' registry, as it was before afterwards."""
    registry = pytest.importorskip("opacus.accountants.registry")._ACCOUNTANTS
    before = dict(registry)
    yield
    registry.clear()
    registry.update(before)


@pytest.mark.filterwarnings("ignore")
def test_real_engine_finds_the_noise_for_a_target(accountant_registry: None) -> None:
    given = real()
    from opacus import PrivacyEngine

    room.LastIterateAccountant.for_training(**given, max_grad_norm=1.0, feature_norm=1.0).register()
    engine = PrivacyEngine(accountant="last_iterate")
    made_private = engine.make_private_with_epsilon(
        module=given["model"], optimizer=given["optimizer"], data_loader=given["data_loader"], target_epsilon=2.0,
        target_delta=DELTA, epochs=5, max_grad_norm=1.0, poisson_sampling=False,
    )  # fmt: skip
    loop(given, made_private, epochs=5)
    assert 1.98 <= engine.get_epsilon(DELTA) <= 2.0


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "how",
    [
        {"poisson_sampling": True},
        {"clipping": "per_layer", "max_grad_norm": [1.0, 1.0]},
        {"grad_sample_mode": "ghost"},
        {"max_grad_norm": 2.0},
        {"loss_reduction": "sum"},
    ],
)
def test_real_engine_used_otherwise_is_refused_before_the_weights_move(how: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    given = real(60, 30)
    _, made_private = private(given, **how)
    if how.get("grad_sample_mode") == "ghost":
        model, optimizer, given["criterion"], batches = made_private
        made_private = model, optimizer, batches
    before = weights(given["model"])
    with pytest.raises(NotProvable):
        loop(given, made_private)
    assert (weights(given["model"]) == before).all() or "poisson_sampling" in how


@pytest.mark.filterwarnings("ignore")
def test_real_virtual_steps_accumulation_and_schedules_are_refused() -> None:
    torch = pytest.importorskip("torch")
    from opacus.utils.batch_memory_manager import BatchMemoryManager

    given = real()
    _, (model, optimizer, batches) = private(given)
    manager = BatchMemoryManager(data_loader=batches, max_physical_batch_size=2, optimizer=optimizer)
    with manager as split, pytest.raises(NotProvable, match="virtual"):
        loop(given, (model, optimizer, split))
    given = real()
    _, (model, optimizer, batches) = private(given)
    for x, y in list(batches)[:2]:
        given["criterion"](model(x), y).backward()
    with pytest.raises(NotProvable, match="accumulation"):
        optimizer.step()
    given = real()
    _, made_private = private(given)
    schedule = torch.optim.lr_scheduler.ExponentialLR(made_private[1], 0.9)
    loop(given, made_private)
    schedule.step()
    with pytest.raises(NotProvable, match="learning_rate"):
        loop(given, made_private)
    with pytest.raises(NotProvable, match="known order"):
        private(real(shuffle=True))
