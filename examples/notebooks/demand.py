# %% [markdown]
# # Demand with prediction intervals
#
# A bakery wants to know how many loaves it will sell in each hour. One number is not enough to bake by: too few,
# and customers leave; too many, and bread is thrown away. So the model predicts an interval, and the bakery
# chooses how careful to be.
#
# ## The data
#
# The sales are generated: one and a half years of opening hours, in which sales depend on the hour, the weekday,
# the weather, promotions and holidays, grow slowly, and fall when a competitor opens across the street.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from onlineboost import OnlineBoostRegressor

# %% tags=["setup"]
DAYS, COMPETITOR = 540, 400
HOURS = range(7, 19)


def sales(seed=0):
    rng = np.random.default_rng(seed)
    time = pd.to_datetime("2025-01-01") + pd.to_timedelta(np.repeat(np.arange(DAYS), len(HOURS)), "D")
    time += pd.to_timedelta(np.tile(HOURS, DAYS), "h")
    day = np.repeat(np.arange(DAYS), len(HOURS))
    frame = pd.DataFrame({"time": time})
    season = 12 - 9 * np.cos(2 * np.pi * day / 365)
    frame["temperature"] = (season + np.repeat(rng.normal(0, 3, DAYS), len(HOURS))).round(1)
    frame["rain"] = np.repeat(rng.random(DAYS) < 0.3, len(HOURS))
    frame["promotion"] = np.repeat(rng.random(DAYS) < 0.1, len(HOURS))
    frame["holiday"] = np.repeat(rng.random(DAYS) < 0.03, len(HOURS))
    hour, weekend = time.hour.to_numpy(), time.weekday.to_numpy() >= 5
    shape = np.exp(-(((hour - np.where(weekend, 10, 8)) / 2.5) ** 2)) + 0.7 * np.exp(-(((hour - 17) / 1.5) ** 2))
    level = np.log(60) + 0.0004 * day - 0.35 * (day >= COMPETITOR)
    level += 0.35 * frame["promotion"] + 0.25 * weekend - 0.2 * frame["rain"] - 0.6 * frame["holiday"]
    level -= 0.015 * (frame["temperature"] - 12)
    mean = np.exp(level) * (0.25 + shape)
    return frame, rng.poisson(mean * rng.gamma(40, 1 / 40, len(frame))).astype(float)


# %%
X, sold = sales()
day = (X["time"].dt.normalize() - X["time"].dt.normalize().iloc[0]).dt.days.to_numpy()
print(X.assign(sold=sold).iloc[[0, 1, 2, -2, -1]].to_string(index=False))

# %% [markdown]
# ## Predict a week, then learn it
#
# Every Sunday evening the bakery plans its week; a week later it knows what was sold. The loop does the same,
# with 84 hours at a time. The time needs no preparation: year, month, weekday and hour become features by
# themselves.

# %%
model = OnlineBoostRegressor()
expected, low, high, upper_quartile = (np.full(len(X), np.nan) for _ in range(4))
for first in range(0, DAYS, 7):
    week = (day >= first) & (day < first + 7)
    if first > 0:
        expected[week] = model.predict(X[week])
        low[week], high[week] = model.predict_interval(X[week], coverage=0.9)
        _, upper_quartile[week] = model.predict_interval(X[week], coverage=0.5)
    model.partial_fit(X[week], sold[week])

# %% [markdown]
# ## Two numbers to look at
#
# The mean absolute error says how good the prediction is; compare it with something simple, here the sales of the
# same hour a week ago. The coverage says whether the interval is honest: 90 % of the hours should lie in it, no
# more and no less.

# %%
last_week = np.concatenate([np.full(7 * len(HOURS), np.nan), sold[: -7 * len(HOURS)]])
inside = (low <= sold) & (sold <= high)
print("days      last week   model   in the 90 % interval")
for first in range(60, DAYS, 120):
    rows = (day >= first) & (day < first + 120)
    errors = [np.abs(one - sold)[rows].mean() for one in (last_week, expected)]
    print(f"{first:>3}-{first + 119:<3} {errors[0]:12.1f} {errors[1]:7.1f} {inside[rows].mean():14.0%}")

# %%
rows = (day >= COMPETITOR - 3) & (day < COMPETITOR + 7)
hours = np.arange(rows.sum()) / len(HOURS) - 3
figure, ax = plt.subplots()
ax.fill_between(hours, low[rows], high[rows], color="#2a7fdb", alpha=0.35, lw=0, label="90 % interval")
ax.plot(hours, expected[rows], color="#2a7fdb", lw=1.5, label="predicted")
ax.plot(hours, sold[rows], ".", color="#e0702b", ms=5, label="sold")
ax.axvline(0, color="#808080", ls=":", lw=1.5)
ax.text(0.1, high[rows].max(), "a competitor opens", va="top")
ax.set(xlabel="days", ylabel="loaves per hour", ylim=(0, None), title="Ten days of sales, planned a week ahead")
figure.legend(loc="outside lower center", ncols=3)
print(f"week before: {inside[(day >= 392) & (day < 399)].mean():.0%} in the interval, ", end="")
print(f"week of the opening: {inside[(day >= 400) & (day < 406)].mean():.0%}, later: {inside[day >= 406].mean():.0%}")

# %% [markdown]
# In the week of the opening the plan was made without knowing of it, and too many hours fall below the interval.
# A week later the model has learned the new level.
#
# ## From an interval to a decision
#
# A missed sale costs 2.00, a loaf left over 0.70. Then the best number to bake is not the expected one, but the
# one that is enough in 2.00 / 2.70 = 74 % of the hours: about the upper end of the 50 % interval, which is
# exceeded by a quarter of them.

# %%
planned = day >= 60
for name, baked in {"expected sales": expected, "upper quartile": upper_quartile, "last week": last_week}.items():
    missed, left = np.maximum(sold - baked, 0)[planned], np.maximum(baked - sold, 0)[planned]
    print(f"bake {name:>14}: costs {2.0 * missed.mean() + 0.7 * left.mean():5.2f} an hour, ", end="")
    print(f"enough in {np.mean(missed == 0):.0%} of the hours")

# %% [markdown]
# ## What has it learned?

# %%
for name, share in model.importances().items():
    print(f"{name:>12} {share:6.1%}")
saturday = pd.DataFrame([{"time": pd.Timestamp("2026-06-27 10:00"), "temperature": 18.0, "rain": False}]).assign(
    promotion=[True], holiday=[False]
)
for name, loaves in [*model.explain(saturday)[0].items()][:3]:
    print(f"Saturday at ten with a promotion: {name} {loaves:+.0f} loaves")

# %% [markdown]
# ## Next
#
# - **Keep learning.** Intervals are honest because labels keep coming; a model that is left alone keeps the
#   margins and the level of its last week ([predictions without new
#   labels](../../docs/regression.md#predictions-without-new-labels)).
# - **Yesterday's sales as a feature**, if you plan an hour ahead rather than a week:
#   `OnlineBoostRegressor(lag=1)` ([lagged labels](../../docs/lagged-labels.md)).
# - **Your own file**: `onlineboost train sales.csv --label sold -o sales.model`, then `onlineboost predict`
#   writes the prediction and both ends of the interval.
