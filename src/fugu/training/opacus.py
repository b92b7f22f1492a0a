"""An accountant for Opacus that counts what the last iterate of a linear model reveals, not every step of its training.

One step of Opacus' `DPOptimizer` around plain SGD (learning rate e, weight decay l, divisor k), written out:

    W <- W - e ((1/k) sum_{j in batch} clip(g_j) + l W) + N(0, (e noise_multiplier max_grad_norm / k)^2 I).

Opacus takes k = int(records * (1 / batches)), which is the batch size m only if m divides the number of records, and
not always then (98 records in batches of 2: k = 1); with a summed loss k = 1. This is `NoisySGD` with learning rate
e m / k and penalty (l k / m) |w|^2 / 2, where a changed record moves a step by at most 2 e max_grad_norm / k.

The step contracts because the model is linear with one score u = <w, x>. There g = f'(u) x, and Opacus' clipping turns
f'(u) into h(f'(u)), h(v) = v min(1, C / (|v| |x| + 10^-6)). h does not decrease and has slope at most 1 (where it
clips, C 10^-6 / (|v| |x| + 10^-6)^2). So if f' does not decrease and has slope at most b, the clipped gradient is that
of a convex function of smoothness b |x|^2. With several scores, or clipping by layer, this is false.

What the accountant cannot see, and the training must keep to:
- every row of features has norm at most `feature_norm`, whatever the data are (scale or clip each row by itself);
- the loop is `criterion(model(x), y).backward(); optimizer.step(); optimizer.zero_grad()`, nothing else uses the data,
  and every epoch goes through the loader from its first batch to its last; only the last epoch may stop early;
- first weights, number and order of the records are public, the noise is secret, and only the last model is published:
  no weights, losses or accuracies of earlier steps, no choice among several runs.
Neighbours differ in the value of one record, and in what `prior` says moves with it. Arithmetic is taken as exact.

    engine = PrivacyEngine(accountant="rdp")
    engine.accountant = LastIterateAccountant.for_training(  # before make_private
        model, criterion, optimizer, loader, max_grad_norm=1.0, feature_norm=1.0)
    model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader,
        noise_multiplier=4.0, max_grad_norm=1.0, poisson_sampling=False)
    engine.get_epsilon(1e-6)  # after the usual loop: of the model as it is now
"""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import cache
from types import new_class
from typing import Any

from fugu.errors import MissingExtra, UsageError
from fugu.priors.groups import Independent
from fugu.training.accountant import NoisySGD
from fugu.training.reading import prior_from
from fugu.training.torch_objects import check_model, check_step, curvature_of, learning, only_if, read_loader

_ROUNDING = 1e-9  # the noise is counted this much smaller: more than the rounding of the numbers handed on
REDUCTIONS = ("mean", "sum")
"""What Opacus makes of the losses of a batch."""


@dataclass(frozen=True)
class LinearTraining:
    """The training the bound is for, in numbers; `curvature`: the largest slope of the derivative of the loss.

    `fixed_order=True` declares that records come in the order of the data set in every epoch, neither shuffled nor
    sampled. `feature_norm` leaves out the bias, which counts as one more feature of value 1.

    >>> training = LinearTraining(100, 30, 0.5, 0.25, feature_norm=1, max_grad_norm=1, fixed_order=True)
    >>> training.batches, training.divisor  # Opacus divides by 25, although batches have 30 records
    (4, 25)
    """

    records: int
    batch_size: int
    learning_rate: float
    curvature: float
    feature_norm: float
    max_grad_norm: float
    weight_decay: float = 0.0
    bias: bool = True
    loss_reduction: str = "mean"
    prior: Any = "independent"
    fixed_order: bool = False

    def __post_init__(self) -> None:
        for name in ("learning_rate", "curvature", "feature_norm", "max_grad_norm", "weight_decay"):
            value = getattr(self, name)
            if not (math.isfinite(value) and (value > 0 or (value == 0 and name == "weight_decay"))):
                raise UsageError(f"{name} must be a finite number above 0 (weight_decay may be 0)")
        if not (type(self.records) is type(self.batch_size) is int and 1 <= self.batch_size <= self.records):
            raise UsageError("records and batch_size must be whole numbers, with 1 <= batch_size <= records")
        if self.loss_reduction not in REDUCTIONS:
            raise UsageError("loss_reduction must be 'mean' or 'sum': Opacus knows no other")
        if self.divisor < 1:
            raise UsageError("Opacus would divide by an expected batch size of 0; change batch_size")
        order = "one public order of the records in all epochs, shuffle=False and poisson_sampling=False"
        only_if(self.fixed_order is True, f"the bound needs {order}; declare it with fixed_order=True")
        object.__setattr__(self, "prior", prior_from(self.prior))
        only_if(not self.prior.gaussian, "normal priors need bounded weights, which SGD has not; use another prior")
        self.iteration(self.batches, 1.0)

    @property
    def batches(self) -> int:
        """Batches in one epoch, the length of the loader."""
        return -(-self.records // self.batch_size)

    @property
    def divisor(self) -> int:
        """What Opacus divides the noisy sum by: `expected_batch_size`, computed (and rounded) as Opacus does."""
        return self.divided_by(int(self.records * (1 / self.batches)))

    def divided_by(self, size: int) -> int:
        """The expected batch size for a mean of losses, 1 for their sum."""
        return size if self.loss_reduction == REDUCTIONS[0] else 1

    def iteration(self, steps: int, noise_multiplier: float) -> NoisySGD:
        """The same training as `NoisySGD`, whose division is always by the batch size.

        With independent records an epoch that stopped early costs what it costs at its end: the record used last, the
        worst, has the same uses counted from the end, and steps before its first use do not matter."""
        if isinstance(self.prior, Independent):
            steps = -(-steps // self.batches) * self.batches
        size, clip, rate = self.batch_size, self.max_grad_norm, self.learning_rate / self.divisor
        decay, smoothness = self.weight_decay * self.divisor / size, self.curvature * (self.feature_norm**2 + self.bias)
        pull = rate * size * (smoothness + decay)
        only_if(pull <= 2, f"learning rate x smoothness is {pull:.6g}: above 2, steps move apart; lower the rate")
        noise = rate * noise_multiplier * clip * (1 - _ROUNDING)
        numbers = (steps, rate * size, clip, smoothness + decay, decay, noise)
        return NoisySGD(*numbers, records=self.records, batch_size=size, prior=self.prior)


class _LastIterate:
    """All of the accountant that needs no Opacus; `LastIterateAccountant` joins it with Opacus' `IAccountant`."""

    def __init__(self, training: LinearTraining) -> None:
        self.training = training
        self.history: list[tuple[float, float, int]] = []
        self._hook: object = None

    @classmethod
    def for_training(
        cls,
        model: Any,
        criterion: Any,
        optimizer: Any,
        data_loader: Any,
        max_grad_norm: float,
        feature_norm: float,
        prior: Any = "independent",
    ) -> Any:
        """Read the training off the plain torch objects, before `make_private`; what is not proved is refused."""
        check_model(model, optimizer)
        records, size = read_loader(data_loader, model.in_features)
        rate, decay = learning(optimizer)
        numbers = (records, size, rate, curvature_of(criterion), feature_norm, max_grad_norm, decay)
        return cls(LinearTraining(*numbers, model.bias is not None, criterion.reduction, prior, fixed_order=True))

    @classmethod
    def mechanism(cls) -> str:
        """The name under which `register` makes the accountant known to Opacus."""
        return "last_iterate"

    def register(self) -> None:
        """Let `PrivacyEngine(accountant="last_iterate")` and `make_private_with_epsilon` account for this training."""
        _accountants().register_accountant(self.mechanism(), lambda: type(self)(self.training), force=True)

    def __len__(self) -> int:
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Count one step. All steps must have the same noise and use one batch each."""
        noise, steps = self._run([*self.history, (noise_multiplier, sample_rate, 1)])
        self.history = [(noise, sample_rate, steps)]

    def get_epsilon(self, delta: float) -> float:
        """The least proved epsilon at `delta` if the model as it is now is published, and nothing before it."""
        noise, steps = self._run(self.history)
        if steps == 0 or noise == 0:
            return math.inf if steps else 0.0
        return float(self.training.iteration(steps, noise).approx(delta).epsilon)

    def _run(self, history: list[tuple[float, float, int]]) -> tuple[float, int]:
        """Noise multiplier and number of steps of a history, which Opacus also sets from outside."""
        noises, rates = {noise for noise, _, _ in history}, {rate for _, rate, _ in history}
        batches = self.training.batches
        only_if(rates <= {1 / batches}, f"a step must use one of {batches} batches; no accumulation, no other loader")
        only_if(len(noises) <= 1, "the noise multiplier changed during training; use one for all steps")
        return max(noises, default=0.0), sum(steps for _, _, steps in history)

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """What Opacus calls between adding the noise and moving the weights: a refusal leaves the weights alone."""
        again = "one accountant accounts for one training; make another one for another model"
        only_if(self._hook is None or not len(self), again)
        self._run([(0.0, sample_rate, 0)])

        def hook(optimizer: Any) -> None:
            only_if(self._hook is hook, again)
            check_step(self.training, optimizer, len(self))
            rate = sample_rate * optimizer.accumulated_iterations
            self.step(noise_multiplier=float(optimizer.noise_multiplier), sample_rate=rate)

        self._hook = hook
        return hook

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """History and training for a checkpoint. The prior is a belief about the data, not a part of the training."""
        found: MutableMapping[str, Any] = {} if destination is None else destination
        numbers = {name: value for name, value in vars(self.training).items() if name != "prior"}
        found.update(history=list(self.history), mechanism=self.mechanism(), training=numbers)
        return found

    def load_state_dict(self, state_dict: MutableMapping[str, Any]) -> None:
        """Go on from a checkpoint of the same training, taken between epochs: loaders start at the first batch."""
        mine = self.state_dict()
        if not state_dict or not set(mine) <= set(state_dict):
            raise UsageError(f"this is no state of a LastIterateAccountant: it needs {', '.join(mine)}")
        same = all(state_dict[key] == mine[key] for key in ("mechanism", "training"))
        only_if(same, "the checkpoint is of another training; every number of the training must be the same")
        history = [(float(noise), float(rate), int(steps)) for noise, rate, steps in state_dict["history"]]
        whole = self._run(history)[1] % self.training.batches == 0
        only_if(whole, "the checkpoint was taken within an epoch; go on from one taken at the end of an epoch")
        self.history = history


def _accountants() -> Any:
    try:
        return importlib.import_module("opacus.accountants")
    except ImportError:
        raise MissingExtra("accounting for Opacus needs opacus and torch; install fugu-privacy[torch]") from None


@cache
def _joined(base: type) -> type:
    return new_class("LastIterateAccountant", (_LastIterate, base), {}, lambda body: body.update(__module__=__name__))


def __getattr__(name: str) -> Any:
    """`LastIterateAccountant` is made at its first use, because its base class is Opacus'."""
    if name != "LastIterateAccountant":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return _joined(_accountants().IAccountant)
