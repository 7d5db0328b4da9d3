# %% [markdown]
# # A booster of your own, against the theory
#
# Boosting makes a strong learner out of weak ones. How strong, is a theorem; whether your own idea for a booster
# is any good, is an experiment. In this example we write a booster in a dozen lines, run it on learners whose
# quality we choose, and compare it with what is possible at all, and then with real learners on real data.
#
# ## The booster
#
# The committee votes by majority. What is left to decide is the weight with which each learner learns an example:
# ours learns an example with a small weight if the learners before it get it right already, and with a large one
# if they do not. `s` is their lead. Two functions and a state are all that a booster consists of; they are
# compiled when the model first learns.

# %%
import math
from dataclasses import KW_ONLY, dataclass
from typing import Any, NamedTuple

import matplotlib.pyplot as plt

from onlineboost import OnlineBBM, Tree, theory
from onlineboost.datasets import load_letter
from onlineboost.evaluate import progressive_error
from onlineboost.extend import Booster


class State(NamedTuple):
    focus: float  # 0: all examples have the same weight


def vote(state, h):  # the votes h of the learners, -1 or 1
    return h.sum()


def round(state, h, y, p):  # the label y, and the weights p to be written
    s = 0.0
    for i in range(h.size):
        p[i] = 1 / (1 + math.exp(state.focus * s))
        s += y * h[i]


@dataclass(eq=False, repr=False)
class Focus(Booster, state=State, vote=vote, round=round):
    estimator: Any = None
    n_estimators: int = 21
    focus: float = 0.2
    _: KW_ONLY
    delivery: str = "auto"
    random_state: Any = None

    def initial_state(self, n_learners, sampled, seed):
        return State(float(self.focus))


# %% [markdown]
# ## Learners of known quality
#
# A weak learner with *edge* 0.1 is right in 60 % of the cases. `theory.Simulated` makes learners that are right
# exactly that often, independently of each other. Then the error of a majority of N of them is the tail of a
# binomial distribution, and no committee can do better.

# %%
EDGE, EXAMPLES = 0.1, 20_000
X, y = theory.simulated_stream(EXAMPLES)


def possible(n):
    """The probability that at most half of n learners are right."""
    right = 0.5 + EDGE
    return sum(math.comb(n, k) * right**k * (1 - right) ** (n - k) for k in range(n // 2 + 1))


numbers = [1, 3, 5, 11, 21, 31, 51, 71]
ours = [progressive_error(Focus(theory.Simulated([EDGE] * n), n), X, y) for n in numbers]
print("learners  measured  possible")
for n, error in zip(numbers, ours, strict=True):
    print(f"{n:>8} {error:9.3f} {possible(n):9.3f}")

# %%
figure, ax = plt.subplots()
every = range(1, 75, 2)
ax.plot(every, [math.exp(-2 * n * EDGE**2) for n in every], "--", color="#808080", label="guaranteed (Hoeffding)")
ax.plot(every, [possible(n) for n in every], color="#2a7fdb", label="best possible")
ax.plot(numbers, ours, "o", color="#e0702b", ms=8, label="our booster")
ax.set(xlabel="number of learners, each right in 60 % of the cases", ylim=(0, 0.5), title="Error of the committee")
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
ax.legend()

# %% [markdown]
# The points lie on the curve. But this test was too easy: coins do not care about weights, and any majority
# passes it, boosting or not.
#
# ## Learners that learn
#
# Small trees on the 20,000 letters that come with the package (A-M or N-Z?) are another matter: given the same
# examples they all make the same mistakes, and a plain majority of them gains little. Now the weights have to
# earn their keep.

# %%
X, y = load_letter()
tree = Tree(3)
committees = {
    "one tree": tree,
    "21 trees, equal weights": Focus(tree, focus=0, random_state=0),
    "21 trees, our weights": Focus(tree, random_state=0),
    "21 trees, too much focus": Focus(tree, focus=2.0, random_state=0),
    "Online BBM (optimal)": OnlineBBM(tree, gamma=0.1, random_state=0),
}
errors = {name: progressive_error(model, X, y) for name, model in committees.items()}
for name, error in errors.items():
    print(f"{name:>25}: {error:.3f}")

# %% [markdown]
# Every number is the share of mistakes over the whole stream, each example predicted before it is learned.
#
# ## What has it learned?
#
# `edges_` is the edge of each learner over guessing, on the examples as they were weighted for it (from 0 to 1:
# twice the edge of the theory). The first tree gets the whole problem; those behind it get what is left over, and
# it gets harder along the chain. That is boosting at work.

# %%
model = Focus(tree, random_state=0).fit(X, y)
for k in (0, 1, 2, 5, 10, 20):
    edge, weight = model.edges_[k], model.weight_sums_[k] / len(y)
    print(f"learner {k + 1:>2}: edge {edge:.2f}, average weight {weight:.2f}  {'#' * int(40 * edge)}")
needed = theory.n_learners(0.05, 0.1, coin="weight")
print(f"\nOnline BBM guarantees an error of 5 % with {needed} learners, if each keeps an edge of 0.1.")

# %% [markdown]
# ## Next
#
# - The contract of the two functions, threads, saving, and how the command line finds your booster: [write your
#   own booster](../../docs/write-your-own-booster.md).
# - What can be proved, with its code and its tests: [theory](../../docs/theory.md).
# - A booster proves itself on many streams, not on one: `onlineboost tune` and [`tune`](../../docs/tuning.md)
#   compare it with the others in one pass.
