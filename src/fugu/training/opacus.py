"""An accountant for Opacus that counts what the last iterate of a linear model reveals, not every step of its
training."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass
from functools import cache
from types import new_class
from typing import Any

from fugu.errors import MissingExtra, NotProvable, UsageError
from fugu.priors.coupling import Independent
from fugu.training.accountant import NoisySGD, prior_from

# One step of Opacus' `DPOptimizer` around plain SGD (learning rate e, weight decay l, divisor k), written out:
#
#     W <- W - e ((1/k) sum_{j in batch} clip(g_j) + l W) + N(0, (e noise_multiplier max_grad_norm / k)^2 I).
#
# Opacus takes k = int(records * (1 / batches)), which is the batch size m only if m divides the number of records, and
# not always then (98 records in batches of 2: k = 1); with a summed loss k = 1. This is `NoisySGD` with learning rate
# e m / k and penalty (l k / m) |w|^2 / 2, where a changed record moves a step by at most 2 e max_grad_norm / k.
#
# The step contracts because the model is linear with one score u = <w, x>. There g = f'(u) x, and Opacus' clipping
# turns f'(u) into h(f'(u)), h(v) = v min(1, C / (|v| |x| + 10^-6)). h does not decrease and has slope at most 1 (where
# it clips, C 10^-6 / (|v| |x| + 10^-6)^2). So if f' does not decrease and has slope at most b, the clipped gradient is
# that of a convex function of smoothness b |x|^2. With several scores, or clipping by layer, this is false.
#
# What the accountant cannot see, and the training must keep to:
# - every row of features has norm at most `feature_norm`, whatever the data are (scale or clip each row by itself);
# - the loop is `criterion(model(x), y).backward(); optimizer.step(); optimizer.zero_grad()`, nothing else uses the
#   data,
#   and every epoch goes through the loader from its first batch to its last; only the last epoch may stop early;
# - first weights, number and order of the records are public, the noise is secret, and only the last model is
#   published:
#   no weights, losses or accuracies of earlier steps, no choice among several runs.
# Neighbours differ in the value of one record, and in what `prior` says moves with it. Arithmetic is taken as exact.
#
#     engine = PrivacyEngine(accountant="rdp")
#     engine.accountant = LastIterateAccountant.for_training(  # before make_private
#         model, criterion, optimizer, loader, max_grad_norm=1.0, feature_norm=1.0)
#     model, optimizer, loader = engine.make_private(module=model, optimizer=optimizer, data_loader=loader,
#         noise_multiplier=4.0, max_grad_norm=1.0, poisson_sampling=False)
#     engine.get_epsilon(1e-6)  # after the usual loop: of the model as it is now

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
            raise UsageError(f"this is not the state of a LastIterateAccountant: it needs {', '.join(mine)}")
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


# What is read off the objects of torch and Opacus: a training that the bound covers, or a refusal that says why.
#
# Only exact types are taken, as a subclass may do anything. `opacus.py` says what the bound needs of each of them.


def check_step(training: LinearTraining, optimizer: Any, step: int) -> None:
    """Refuse a step of Opacus' optimizer that is not the one declared."""
    flat = _kind(optimizer) == "opacus.optimizers.optimizer.DPOptimizer"
    only_if(flat, "only clipping='flat' with grad_sample_mode='hooks' on one machine is proved, no ghost clipping")
    rate, decay = learning(optimizer.original_optimizer)
    divisor = training.divided_by(optimizer.expected_batch_size)
    names = ("learning_rate", "weight_decay", "divisor", "max_grad_norm", "loss_reduction")
    found = (rate, decay, divisor, optimizer.max_grad_norm, optimizer.loss_reduction)
    changed = [name for name, value in zip(names, found, strict=True) if value != getattr(training, name)]
    only_if(not changed, f"{', '.join(changed)} must be as declared during the whole training")
    virtual = optimizer._is_last_step_skipped is not False
    only_if(not virtual, "virtual steps hide which batches were added up; train without BatchMemoryManager")
    size = min(training.batch_size, training.records - step % training.batches * training.batch_size)
    fits = optimizer.accumulated_iterations > 1 or len(optimizer.grad_samples[0]) == size
    only_if(fits, "a batch has not the size its place calls for: use poisson_sampling=False and whole epochs")


def learning(optimizer: Any) -> tuple[float, float]:
    """Learning rate and weight decay of plain SGD."""
    plain = _kind(optimizer) == "torch.optim.sgd.SGD"
    only_if(plain, "only torch.optim.SGD, given before make_private, takes the step that the bound is about")
    odd = [group[name] for group in optimizer.param_groups for name in ("momentum", "nesterov", "maximize")]
    odd += [optimizer._optimizer_step_pre_hooks, optimizer._optimizer_step_post_hooks]
    only_if(not any(odd), "momentum, nesterov, maximize and hooks make other steps; leave them out")
    found = {(float(group["lr"]), float(group["weight_decay"])) for group in optimizer.param_groups}
    only_if(len(found) == 1, "all parameters need the same learning rate and the same weight decay")
    return found.pop()


def check_model(model: Any, optimizer: Any) -> None:
    """Refuse a model that is not one linear score, trained as a whole."""
    linear = _kind(model) == "torch.nn.modules.linear.Linear" and model.out_features == 1
    only_if(linear, "only a linear model with one score is proved: torch.nn.Linear(features, 1), not wrapped")
    hooks = (model._forward_hooks, model._forward_pre_hooks, model._backward_hooks, model._backward_pre_hooks)
    only_if(not any(hooks), "the model has hooks; give it before make_private")
    trained, wanted = [p for group in optimizer.param_groups for p in group["params"]], list(model.parameters())
    same = {id(p) for p in trained} == {id(p) for p in wanted} and all(p.requires_grad for p in wanted)
    only_if(same, "the optimizer must train all parameters of the model and no others")


def curvature_of(criterion: Any) -> float:
    """The largest slope of the derivative in the score, whatever the target: (u - y)^2 has slope 2, Huber's loss 1."""
    beta = getattr(criterion, "beta", None) or math.nan
    known = {"BCEWithLogitsLoss": 0.25, "MSELoss": 2.0, "HuberLoss": 1.0, "SmoothL1Loss": 1 / beta}
    slope = {f"torch.nn.modules.loss.{name}": value for name, value in known.items()}.get(_kind(criterion), math.nan)
    weighted = any(getattr(criterion, name, None) is not None for name in ("weight", "pos_weight"))
    only_if(slope > 0 and not weighted, f"only {', '.join(known)} are proved, without weights and with beta above 0")
    return slope


def read_loader(loader: Any, features: int) -> tuple[int, int]:
    """Number of records and batch size of a loader that keeps the order of the data set."""
    batches: Any = getattr(loader, "batch_sampler", None)
    kinds = [_kind(part) for part in (loader, batches, getattr(batches, "sampler", None))]
    wanted = ["dataloader.DataLoader", "sampler.BatchSampler", "sampler.SequentialSampler"]
    fixed = kinds == [f"torch.utils.data.{name}" for name in wanted] and getattr(loader, "in_order", True)
    plain = fixed and loader.collate_fn.__name__ == "default_collate" and batches.sampler.data_source is loader.dataset
    only_if(plain, "only a DataLoader with shuffle=False, no collate_fn, given before make_private, has a known order")
    records, size = len(loader.dataset), batches.batch_size
    only_if(not (batches.drop_last and records % size), "drop_last leaves records out; train on a Subset without them")
    if [tuple(getattr(part, "shape", ())) for part in loader.dataset[0]] != [(features,), (1,)]:
        spread = "other targets torch spreads over the batch, and every gradient sees every record"
        raise UsageError(f"each item needs {features} features and a target of shape (1,), as the score has: {spread}")
    return records, min(size, records)


def only_if(proved: bool, why: str) -> None:
    """Refuse, saying why, what is not proved."""
    if not proved:
        raise NotProvable(why)


def _kind(thing: Any) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"  # the exact type: a subclass may do anything
