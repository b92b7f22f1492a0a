"""What is read off the objects of torch and Opacus: a training that the bound covers, or a refusal that says why.

Only exact types are taken, as a subclass may do anything. `opacus.py` says what the bound needs of each of them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from fugu.errors import NotProvable, UsageError

if TYPE_CHECKING:
    from fugu.training.opacus import LinearTraining


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
