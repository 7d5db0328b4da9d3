"""Bodies of requests and answers, from which the OpenAPI document is made."""

from __future__ import annotations

from typing import Any

import msgspec

Label = str | int | float | bool


class Predict(msgspec.Struct, forbid_unknown_fields=True):
    """An example to answer; with a ticket or an id, its label can come later."""

    features: dict[str, Any]
    ticket: bool = False
    id: str | None = None
    defer: bool = False  # the ticket waits for its label from its activation on


class Activate(msgspec.Struct, forbid_unknown_fields=True):
    """A deferred ticket that waits for its label from now on."""

    id: str


class Learn(msgspec.Struct, forbid_unknown_fields=True):
    """An example with its label; with an id, it is learned once however often it is sent."""

    features: dict[str, Any]
    label: Label
    weight: float = 1.0
    id: str | None = None


class GiveLabel(msgspec.Struct, forbid_unknown_fields=True):
    """The label of an example that was answered with an id."""

    id: str
    label: Label
    weight: float = 1.0


class Explain(msgspec.Struct, forbid_unknown_fields=True):
    """An example to explain by its strongest features."""

    features: dict[str, Any]
    top: int = 10


class NewModel(msgspec.Struct, forbid_unknown_fields=True):
    """A new model: the default for a task, or any class of onlineboost with its parameters."""

    task: str | None = None
    model: str | dict[str, Any] | None = None
    params: dict[str, Any] = msgspec.field(default_factory=dict)


class NewCheckpoint(msgspec.Struct, forbid_unknown_fields=True):
    """The name of a checkpoint."""

    name: str


class Fence(msgspec.Struct, forbid_unknown_fields=True):
    """The epoch that another leader has begun, and its address."""

    epoch: int
    leader: str | None = None


class Prediction(msgspec.Struct, omit_defaults=True):
    """The predicted label with the probability of each, or the number with the bounds of 90 %."""

    prediction: Any
    probabilities: dict[str, float] | None = None
    interval: list[float | None] | None = None
    id: str | None = None


class Learned(msgspec.Struct, omit_defaults=True):
    """An example that was learned, and its prediction before that; ``again``: it was learned before, by its id."""

    seq: int | None = None
    learned: bool | int = True
    again: bool = False
    id: str | None = None
    prediction: Any = None
    probabilities: dict[str, float] | None = None


class Activated(msgspec.Struct, omit_defaults=True):
    """A ticket that waits now; ``again``: it was no longer deferred."""

    id: str
    activated: bool
    again: bool = False
    seq: int | None = None


class Labeled(msgspec.Struct, omit_defaults=True):
    """A label that was learned."""

    id: str
    status: int
    learned: bool = False
    again: bool = False
    seq: int | None = None


class Fault(msgspec.Struct):
    """A message and the next step."""

    message: str
    next: str


class Error(msgspec.Struct):
    """Anything that went wrong."""

    error: Fault


class InferInput(msgspec.Struct):
    """A tensor of the Open Inference Protocol."""

    name: str
    shape: list[int]
    datatype: str
    data: list[Any]
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)


class InferRequest(msgspec.Struct):
    """A request of the Open Inference Protocol."""

    inputs: list[InferInput]
    id: str | None = None
    parameters: dict[str, Any] = msgspec.field(default_factory=dict)
    outputs: list[Any] = msgspec.field(default_factory=list)
