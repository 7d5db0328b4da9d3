# %% [markdown]
# # Routing tickets: text and many classes
#
# A help desk sorts messages into a dozen queues. A wrong queue costs a day, so the question is not only how often
# the model is right, but for which messages it may decide alone. And one morning there is a queue that did not
# exist before.
#
# ## The data
#
# The messages are generated: each mixes a few words of its queue with everyday words, typing errors and words of
# other queues, and every thirtieth was put into a wrong queue by hand. Real messages have grammar and more
# variety; the steps are the same. From message 2,500 on there is a thirteenth queue, a product recall.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from onlineboost import OnlineBoost

# %% tags=["setup"]
ROWS, RECALL = 4000, 2500
QUEUES = {
    "billing": "invoice charged twice amount bill receipt vat",
    "refunds": "refund money back return paid credit",
    "delivery": "parcel late tracking courier arrived package",
    "address": "moved address street change postcode wrong",
    "login": "password login locked account reset code",
    "app": "app crashes update phone screen freezes",
    "warranty": "broken repair warranty stopped working defect",
    "returns": "return label size exchange box back",
    "stock": "available again sold out stock when",
    "orders": "order cancel item ordered wrong missing",
    "privacy": "data delete privacy newsletter unsubscribe email",
    "praise": "thanks great friendly happy service wonderful",
    "recall": "recall battery hot serial dangerous overheats",
}
COMMON = (
    "hello please i my the a is was not since yesterday can you help with it for me and to we have no still again why"
)


def messages(seed=0):
    rng = np.random.default_rng(seed)
    names, common = [*QUEUES], COMMON.split()
    popular = rng.dirichlet(np.full(len(names) - 1, 3.0))
    rows = []
    for k in range(ROWS):
        late = k >= RECALL and rng.random() < 0.15
        queue = "recall" if late else names[rng.choice(len(names) - 1, p=popular)]
        own, other = QUEUES[queue].split(), QUEUES[names[rng.integers(len(names))]].split()
        words = [
            *rng.choice(own, 1 + rng.integers(3)),
            *rng.choice(other, rng.integers(3)),
            *rng.choice(common, 4 + rng.integers(6)),
        ]
        words = [word[:-1] if rng.random() < 0.08 else word for word in rng.permutation(words)]
        label = names[rng.integers(len(names) - 1)] if rng.random() < 1 / 30 else queue
        channel = rng.choice(["app", "mail"], p=[0.8, 0.2] if queue in ("app", "login") else [0.2, 0.8])
        rows.append((" ".join(words), channel, label))
    frame = pd.DataFrame(rows, columns=["message", "channel", "queue"])
    return frame[["message", "channel"]], frame["queue"].to_numpy(object)


# %%
X, queue = messages()
for message, label in zip(X["message"][:5], queue[:5], strict=True):
    print(f"{label:>9}: {message}")

# %% [markdown]
# ## Predict a morning, then learn it
#
# Two hundred messages come every morning; by the evening people have put them into their queues. A column with
# many different texts is read as words, without any setting, and a new queue needs none either: the model has a
# new class as soon as it learns the first message of it.

# %%
model = OnlineBoost("low", random_state=0)
right, among_three, confidence = (np.full(ROWS, np.nan) for _ in range(3))
for first in range(0, ROWS, 200):
    rows = slice(first, first + 200)
    if first > 0:
        probabilities = model.predict_proba(X[rows])
        best = model.classes_[np.argsort(-probabilities, axis=1)]
        right[rows] = best[:, 0] == queue[rows]
        among_three[rows] = (best[:, :3] == queue[rows][:, None]).any(axis=1)
        confidence[rows] = probabilities.max(axis=1)
    model.partial_fit(X[rows], queue[rows])

print("messages      right   among the first three   of the recall")
for first in (200, 1000, 2000, 2500, 2700, 3500):
    rows = slice(first, first + 200)
    recall = queue[rows] == "recall"
    told = f"{right[rows][recall].mean():.0%}" if recall.any() else "-"
    print(f"{first:>5,}-{first + 199:<5,} {right[rows].mean():6.0%} {among_three[rows].mean():14.0%} {told:>19}")

# %% [markdown]
# The first morning of the recall goes wrong, as it must: nobody had told the model. The next day it knows the
# queue.
#
# ## How much may it decide alone?
#
# Route a message automatically if the model is sure enough, and leave the others to people. Each point of the
# curve is a threshold; the sales pitch of a help desk is where you want to be on it.

# %%
seen = np.flatnonzero(~np.isnan(confidence) & (np.arange(ROWS) >= 1000))
order = seen[np.argsort(-confidence[seen])]
share = np.arange(1, order.size + 1) / order.size
accuracy = np.cumsum(right[order]) / np.arange(1, order.size + 1)
figure, ax = plt.subplots()
ax.plot(share[50:], accuracy[50:], color="#2a7fdb")
for threshold in (0.95, 0.8, 0.5):
    k = int(np.sum(confidence[order] > threshold)) - 1
    ax.plot(share[k], accuracy[k], "o", color="#e0702b", ms=8)
    ax.annotate(
        f"surer than {threshold:.0%} ",
        (share[k], accuracy[k]),
        xytext=(-8, -14),
        textcoords="offset points",
        ha="right",
    )
    print(f"surer than {threshold:.0%}: {share[k]:.0%} of the messages, {accuracy[k]:.1%} of them right")
ax.set(xlabel="share of messages routed automatically", ylabel="share of them that is right", xlim=(0, 1.02))
ax.set_yticks(np.arange(0.75, 1.01, 0.05))
ax.set_title("Few and safe, or many and less so")
ax.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")

# %% [markdown]
# ## What has it learned?
#
# Which queues does it confuse, and what does it make of single words?

# %%
guess = model.predict(X[-1000:])  # these messages are learned already: a look at the model, not a score
pairs = pd.DataFrame({"queue": queue[-1000:], "predicted": guess})
confused = pairs[pairs["queue"] != pairs["predicted"]].value_counts()
for (label, predicted), n in confused.head(3).items():
    print(f"{n:>2} messages of {label!r} look like {predicted!r}")
print()
for word in ("invoice", "refund", "battery", "back", "please"):
    message = {"message": word, "channel": "mail"}
    (label, probability), *_ = sorted(model.predict_proba_one(message).items(), key=lambda one: -one[1])
    print(f"{word:>8} alone: {label!r} with probability {probability:.0%}")

# %% [markdown]
# Words that belong to one queue decide alone; "back" belongs to refunds and to returns, and "please" to nobody.
#
# ## Next
#
# - **What people correct is a label.** Ask with `ask`, and `tell` when the message has been moved or closed
#   ([delayed labels](../../docs/delayed-labels.md)).
# - **Queues that may come** need no announcement; more than a hundred do: `max_classes` ([multiclass
#   classification](../../docs/multiclass.md)).
# - **Every cell of your export** may be a text, a number, a date or missing: `onlineboost train tickets.csv
#   --label queue` says how it read each column ([data](../../docs/data.md#text)).
# - **Long texts, other languages, meaning**: put the embeddings of a language model into columns beside the
#   words.
