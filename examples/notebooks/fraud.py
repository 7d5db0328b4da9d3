# %% [markdown]
# # Fraud: rare and delayed labels
#
# One payment in forty is a fraud, and you learn which one weeks later, when the card holder complains. Nobody
# reports a payment that was fine: silence is the label. This example scores payments as they come, learns from
# labels that are two weeks late, and measures the model by the question that a fraud team asks: *if we can check
# five payments a day, how many frauds do we stop?*
#
# ## The data
#
# The payments are generated: 120 days of card payments, with rules that make some of them risky. From day 75 on
# there is a new scam: small purchases of gift cards from new devices.

# %%
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from onlineboost import OnlineBoost, Pending
from onlineboost.evaluate import progressive_error

# %% tags=["setup"]
DAYS, PER_DAY, NEW_SCAM = 120, 100, 75


def payments(seed=0):
    rng = np.random.default_rng(seed)
    n = DAYS * PER_DAY
    day = np.repeat(np.arange(DAYS), PER_DAY)
    usual = {"groceries": 40, "restaurant": 35, "fuel": 60, "electronics": 180, "travel": 300, "gift cards": 50}
    shop = rng.choice([*usual], n, p=[0.34, 0.25, 0.16, 0.12, 0.08, 0.05])
    amount = np.array([usual[one] for one in shop]) * rng.lognormal(0, 0.6, n)
    frame = pd.DataFrame({"amount": amount.round(2), "shop": shop})
    frame["country"] = rng.choice(["IT", "FR", "DE", "ES", "US"], n, p=[0.55, 0.15, 0.14, 0.1, 0.06])
    frame["hour"] = (rng.normal(14, 5, n) % 24).astype(int)
    frame["card_age"] = rng.exponential(400, n).astype(int)
    frame["new_device"] = rng.random(n) < 0.15
    night, costly = frame["hour"] < 6, (shop == "electronics") & (amount > 250)
    risk = -5.4 + 2.2 * frame["new_device"] * night + 2.5 * costly + 1.5 * frame["new_device"] + 1.2 * night
    risk += 1.5 * (frame["country"] == "US") + 1.0 * (frame["card_age"] < 30)
    risk += 6.0 * ((day >= NEW_SCAM) & (shop == "gift cards") & (amount < 60) & frame["new_device"])
    fraud = rng.random(n) < 1 / (1 + np.exp(-risk))
    return frame, fraud.to_numpy(), day


# %%
X, fraud, day = payments()
print(X.assign(fraud=fraud).iloc[:5].to_string(index=False))
print(f"\n{len(X):,} payments, {fraud.mean():.1%} of them frauds")

# %% [markdown]
# ## Accuracy is the wrong number
#
# Suppose for a moment that every label came at once. A model that never says "fraud" is right almost always, so
# its error says nothing. PR-AUC (average precision) looks at the frauds only: 1 is perfect, and guessing gets the
# share of frauds.

# %%
for metric in ("error", "pr-auc"):
    found = progressive_error(OnlineBoost("low", random_state=0), X, fraud, metric)
    print(f"{metric:>6}: {found:.3f} (never 'fraud': {fraud.mean():.3f})")

# %% [markdown]
# ## Predict now, learn later
#
# The first month is history, and all its labels are known: the model learns it. The next two weeks are left out,
# since their labels are not complete on the day we start. Then `ask` scores each payment and returns a ticket,
# and two weeks later the ticket is labelled: `tell` learns it as a fraud if somebody has complained; otherwise it
# *expires*, and `Pending` learns it as "not a fraud".

# %%
HISTORY, WAIT = 30, 14
START = HISTORY + WAIT

model = OnlineBoost("low", random_state=0).fit(X[day < HISTORY], fraud[day < HISTORY])
model.pending = Pending(max_age=WAIT - 1, on_expire=("label", False))
tickets, late = {}, np.zeros(len(X))
for today in range(START, DAYS):
    complaints = np.flatnonzero(fraud & (day == today - WAIT) & (day >= START))
    model.tell([tickets[k] for k in complaints], [True] * len(complaints))
    rows = np.flatnonzero(day == today)
    asked = model.ask(X.iloc[rows], time=today)  # tickets that are too old are learned as False
    tickets |= zip(rows, asked, strict=True)
    late[rows] = [ticket.probability for ticket in asked]
print(f"{model.n_seen_:,} payments learned, {len(model.pending):,} tickets wait for their label")

# %% [markdown]
# ## What does the delay cost?
#
# The team has time for five payments a day. Which share of the frauds is among the five with the highest
# probability? Compare with a rule (the five largest amounts) and with a model that gets every label at the end of
# the day, which no real model can.


# %%
def caught(score, checked=5):
    """Whether each payment is among those that are checked on its day."""
    rank = pd.Series(score).groupby(day).rank(ascending=False, method="first")
    return (rank <= checked).to_numpy()


instant_model, instant = OnlineBoost("low", random_state=0), np.zeros(len(X))
instant_model.fit(X[day < START], fraud[day < START])
for today in range(START, DAYS):
    rows = day == today
    instant[rows] = instant_model.predict_proba(X[rows])[:, 1]
    instant_model.partial_fit(X[rows], fraud[rows])

scores = {"labels at once": instant, "labels after two weeks": late, "largest amounts": X["amount"].to_numpy()}
live = fraud & (day >= START)
for name, score in scores.items():
    print(f"{name:>22}: {caught(score)[live].mean():.0%} of {live.sum()} frauds are checked")

# %%
week = (day - START) // 7
weeks = np.arange(week.max() + 1)
figure, ax = plt.subplots()
for (name, score), colour in zip(scores.items(), ("#2a7fdb", "#e0702b", "#808080"), strict=True):
    ax.plot(weeks, [caught(score)[live & (week == k)].mean() for k in weeks], color=colour, label=name)
new, learned = (NEW_SCAM - START) / 7, (NEW_SCAM + WAIT - START) / 7
ax.axvspan(new, learned, color="#808080", alpha=0.25, lw=0)
ax.text((new + learned) / 2, 0.98, "new scam,\nno labels yet", ha="center", va="top")
ax.set(xlabel="week", ylim=(0, 1), title="Share of frauds among five checked payments a day")
ax.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
figure.legend(loc="outside lower center", ncols=3)

# %% [markdown]
# The grey band is the blind spot: the scam is there and its first labels are not. No model can be better
# informed; a rule by hand may have to help out for two weeks.
#
# ## A trap: telling frauds early
#
# Complaints come within days, so why not tell each fraud at once, and only the silent payments after two weeks?
# Because the model then hears of nothing but frauds for its first two weeks:

# %%
eager = OnlineBoost("low", random_state=0).fit(X[day < HISTORY], fraud[day < HISTORY])
for today in range(START, START + 3 * WAIT):
    rows = (fraud & (day == today - 3)) | (~fraud & (day == today - WAIT))
    rows &= day >= START
    if today % 7 == 0:
        average = eager.predict_proba(X[day == today])[:, 1].mean()
        print(f"day {today - START:>2}: it expects {average:.1%} frauds, there are {fraud[day == today].mean():.1%}")
    if rows.any():
        eager.partial_fit(X[rows], fraud[rows])

# %% [markdown]
# Label every payment at the same age, and the model keeps the right sense of how rare frauds are.
#
# ## What has it learned?
#
# Which columns matter overall, and why does one payment look suspicious? The contributions add up to the score,
# in log odds.

# %%
for name, share in model.importances().items():
    print(f"{name:>10} {share:6.1%}")
worst = int(np.argmax(np.where(day == DAYS - 1, late, 0)))
print(f"\n{X.iloc[worst].to_dict()}\nprobability of fraud {late[worst]:.0%}, because:")
for name, contribution in [*model.explain(X.iloc[[worst]])[0].items()][:4]:
    print(f"{name:>12} {contribution:+.2f}")

# %% [markdown]
# ## Which payments to stop
#
# A probability is only half of a decision. With a stopped honest payment costing 5 and a missed fraud costing its
# amount, stop a payment when the expected loss is larger than the cost of a false alarm. No threshold has to be
# tuned.

# %%
COST = 5.0
stop = (day >= START) & (late * X["amount"] > COST * (1 - late))
lost = X["amount"].where(live & ~stop, 0).sum() + COST * (stop & ~fraud).sum()
print(f"without the model: {X['amount'][live].sum():,.0f} lost;  with it: {lost:,.0f}, alarms included")

# %% [markdown]
# ## Next
#
# - Tickets survive restarts: keep `bytes(ticket)` in your database, or let `model.save` keep them ([delayed
#   labels](../../docs/delayed-labels.md)).
# - A fixed recall or a cost per mistake, on the command line: `train --threshold recall=0.9` ([imbalanced
#   data](../../docs/imbalanced-data.md)).
# - `ask` and `tell` over HTTP, with a journal that loses nothing: [`onlineboost serve`](../../docs/serving.md).
# - Your own file: `onlineboost train payments.csv --label fraud --delay-column time --delay 14` measures what the
#   delay costs you.
