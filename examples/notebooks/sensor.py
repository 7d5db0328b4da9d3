# %% [markdown]
# # A drifting sensor
#
# A gas detector has four cheap sensors. They age, one of them is replaced, and a model that was perfect in
# January is wrong in June, without any error message. This example watches that happen, lets the model follow,
# and asks how many reference measurements that takes.
#
# ## The data
#
# The readings are generated: 12,000 readings of four sensors and a thermometer. Every sensor has its own response
# to the gas, loses sensitivity as it ages, and reacts to temperature. At reading 7,000 the best sensor is
# replaced by one of another make, which reads the other way round. The label is whether the true concentration,
# from a reference instrument, is above the limit.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from onlineboost import OnlineBoost

# %% tags=["setup"]
ROWS, REPLACED = 12_000, 7_000


def readings(seed=0):
    rng = np.random.default_rng(seed)
    time = np.arange(ROWS)
    gas = np.exp(rng.normal(0, 0.7, ROWS))
    temperature = 15 + 10 * np.sin(2 * np.pi * time / 4000) + rng.normal(0, 2, ROWS)
    frame = pd.DataFrame({"temperature": temperature})
    response = np.log1p(gas)
    for k, ageing in enumerate((0.2, 0.5, 0.7, 0.9), 1):
        gain = 1 - ageing * time / ROWS
        noise = rng.normal(0, 0.1 + 0.1 * k, ROWS)
        frame[f"sensor{k}"] = gain * (2 + 2 * response) + 0.03 * temperature + noise
    rising = frame["sensor1"]
    frame["sensor1"] = np.where(time < REPLACED, 10 - rising, rising)  # the new make reads the other way round
    return frame.round(3), gas > 1.5


# %%
X, alarm = readings()
print(X.assign(above_limit=alarm).iloc[[0, 1, 6999, 7000, 11999]].to_string())

# %% [markdown]
# ## Trained once, or learning on
#
# Both models learn the first 2,000 readings. One is then left alone, as models usually are. The other goes on:
# predict, then learn. `progressive_fit` returns each score from before its label was used, so its mistakes are
# honest. `on_drift` is called when a member of the ensemble is reset because its error has risen.

# %%
START = 2000
drifts = []
frozen = OnlineBoost("low", random_state=0).fit(X[:START], alarm[:START])
model = OnlineBoost("low", random_state=0, on_drift=drifts.append).fit(X[:START], alarm[:START])

wrong = {
    "trained once": frozen.predict(X[START:]) != alarm[START:],
    "learning on": (model.progressive_fit(X[START:], alarm[START:]) > 0) != alarm[START:],
}
print("mistakes    " + "".join(f"{name:>14}" for name in wrong))
for first in (2000, 6000, 7000, 11_000):
    part = slice(first - START, first - START + 1000)
    shares = "".join(f"{mistakes[part].mean():14.1%}" for mistakes in wrong.values())
    print(f"{first:>6,}-{first + 999:<6,}{shares}")
print("drift found at reading", *(f"{drift.example:,}" for drift in drifts))

# %%
figure, ax = plt.subplots()
for (name, mistakes), colour in zip(wrong.items(), ("#808080", "#2a7fdb"), strict=True):
    running = pd.Series(mistakes).rolling(400).mean()
    ax.plot(np.arange(START, ROWS) / 1000, running, color=colour, label=name)
ax.axvline(REPLACED / 1000, color="#808080", ls=":", lw=1.5)
ax.text(REPLACED / 1000 - 0.1, 0.375, "sensor 1\nreplaced", ha="right", va="top")
for k, drift in enumerate(drifts):
    ax.plot(drift.example / 1000, 0.01, "^", color="#e0702b", ms=10, label="drift found" if k == 0 else None)
ax.set(xlabel="thousand readings", ylim=(0, 0.38), title="Share of mistakes among the last 400 readings")
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
figure.legend(loc="outside lower center", ncols=3)

# %% [markdown]
# Ageing is slow, and the model follows it without any alarm. The replacement is sudden: mistakes jump, the drift
# detector ADWIN notices some hundred readings later, and the members that have become wrong start over.
#
# ## What has it learned?
#
# Importances are shares of the influence on the predictions. After the replacement the model has to find out anew
# which sensors to trust.

# %%
for name, share in model.importances().items():
    print(f"{name:>12}  trained once {frozen.importances()[name]:6.1%}   learning on {share:6.1%}")

# %% [markdown]
# ## How many reference measurements does it take?
#
# A reference measurement costs money. Suppose that only every tenth reading has one, or every fiftieth. The model
# predicts all readings and learns the measured ones.

# %%
for every in (1, 10, 50):
    sparing = OnlineBoost("low", random_state=0).fit(X[:START], alarm[:START])
    mistakes = []
    for first in range(START, ROWS, 100):
        rows = slice(first, first + 100)
        mistakes.append(sparing.predict(X[rows]) != alarm[rows])
        sparing.partial_fit(X[rows][::every], alarm[rows][::every])
    print(f"one label in {every:>2}: {np.mean(mistakes):.1%} wrong")
print(f"no labels      : {wrong['trained once'].mean():.1%} wrong")

# %% [markdown]
# ## Next
#
# - **Watch the error, not only the alarm.** `model.metrics_.last` is the error of the last 1,000 labelled
#   readings, at any time ([monitoring](../../docs/deployment.md#monitor)).
# - **Any other classifier** follows drift in the same way inside `Adaptive(model)` ([concept
#   drift](../../docs/concept-drift.md)).
# - **The concentration itself** instead of a limit: `OnlineBoostRegressor`, as in [demand and its
#   intervals](demand.py).
# - **In production**: [`onlineboost serve`](../../docs/serving.md) predicts, learns labels when they come, and
#   reports drift to your alerts.
