"""The tables of ``tables.py``: made from a seed, as files like those that people have.

Every table is written as train.csv and test.csv, and once more with its first rows only, in the folder ``few``. Effects
that belong to names (sites, ads, users, zip codes) are the same for every seed, so that figures can be compared.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

FEW = 600  # rows to compile with
_NAMES_SEED = {"clicks": 3, "house": 7}
_QUEUES = {
    "billing": (0.15, "invoice charge bill amount overcharged statement"),
    "login": (0.14, "password login reset locked signin twofactor"),
    "shipping": (0.12, "delivery parcel late tracking courier package"),
    "refund": (0.10, "refund return money back cancel order"),
    "bug": (0.10, "crash error exception freeze broken screen"),
    "feature": (0.08, "wish add support dark mode request"),
    "account": (0.08, "profile email change delete username settings"),
    "payment": (0.07, "card declined payment visa paypal transfer"),
    "hardware": (0.06, "laptop battery keyboard monitor cable printer"),
    "network": (0.05, "wifi vpn slow connection dns router"),
    "legal": (0.02, "gdpr contract terms data privacy lawyer"),
    "other": (0.03, "hello question thanks info office hours"),
}
_COMMON = "the a to my is not i please can you help with since yesterday again when it on for of and we have still"


def tickets(rng: Any, n: int = 20_000) -> pd.DataFrame:
    """Twelve queues; only the text tells them, in words of the queue, of another one, and of none."""
    queues, words = list(_QUEUES), {queue: text.split() for queue, (_, text) in _QUEUES.items()}
    label = rng.choice(queues, n, p=[share for share, _ in _QUEUES.values()])

    def text(queue: str) -> str:
        kinds, found = rng.random(rng.integers(5, 18)), []
        for kind in kinds:
            other = rng.choice(queues) if 0.22 <= kind < 0.30 else queue
            found.append(rng.choice(words[other] if kind < 0.30 else _COMMON.split()))
        return " ".join(found).capitalize() + (", thanks!" if rng.random() < 0.2 else "")

    channel, product = rng.choice(["email", "web", "phone", "chat"], n), rng.choice(["A1", "B2", "C3", "D4", "E5"], n)
    product = np.where((label == "hardware") & (rng.random(n) < 0.5), "E5", product)
    channel = np.where((label == "network") & (rng.random(n) < 0.4), "phone", channel)
    priority, age = rng.choice(["low", "normal", "high"], n, p=[0.3, 0.5, 0.2]), rng.integers(0, 2000, n)
    columns = {"ticket": [f"T{k}" for k in range(n)], "channel": channel, "product": product, "priority": priority}
    return pd.DataFrame(columns | {"customer_age_days": age, "text": [text(one) for one in label], "label": label})


def churn(rng: Any, n: int = 30_000) -> pd.DataFrame:
    """Few positives, dates in two formats, words in several spellings, gaps."""
    now = pd.Timestamp("2025-01-01")
    signup = pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 1400, n), unit="D")
    away = rng.exponential(30, n).astype(int)
    plans, countries = (
        ["Basic", "Plus", "Premium", "basic ", "Family"],
        ["DE", "FR", "IT", "ES", "PL", "NL", "SE", "AT", "CH", "UK"],
    )
    table = pd.DataFrame(
        {
            "customer_id": [f"C-{k:06d}" for k in rng.permutation(n) + 100_000],
            "signup_date": signup.strftime("%d/%m/%Y"),
            "last_login": (now - pd.to_timedelta(away, unit="D")).strftime("%Y-%m-%d"),
            "plan": rng.choice(plans, n, p=[0.4, 0.3, 0.15, 0.05, 0.1]),
            "country": rng.choice(countries, n),
            "monthly_charge": np.round(rng.gamma(4, 12, n), 2),
            "tenure_months": (now - signup).days // 30,
            "support_calls": rng.poisson(0.8, n),
            "paperless": rng.choice(["Yes", "No", "yes", "N/A"], n, p=[0.5, 0.35, 0.1, 0.05]),
            "payment": rng.choice(["card", "sepa", "paypal", "invoice"], n),
            "usage_gb": np.round(rng.lognormal(2, 1, n), 2),
            "nps": rng.integers(0, 11, n).astype(float),
        }
    )
    t = table
    z = -4.2 + 0.6 * (t.support_calls >= 2) + 0.9 * (t.support_calls >= 3) + 0.02 * away - 0.01 * t.tenure_months
    z += 1.2 * ((t.plan == "Premium") & (t.monthly_charge > 60)) - 0.15 * (t.nps - 5) + 0.8 * (t.payment == "invoice")
    z += 0.03 * (t.monthly_charge - 48) * (t.usage_gb < 4) + 0.5 * (t.country == "UK")
    table["label"] = np.where(rng.random(n) < _logistic(z), "yes", "no")
    return _with_gaps(table, rng, nps=0.4, usage_gb=0.08, last_login=0.03, plan=0.02, monthly_charge=0.03)


def house(rng: Any, n: int = 25_000) -> pd.DataFrame:
    """Prices over several orders of magnitude, which rise with time."""
    zips = np.random.default_rng(_NAMES_SEED["house"]).normal(0, 0.35, 80)
    day, place = np.sort(rng.integers(0, 3300, n)), rng.integers(0, 80, n)
    table = pd.DataFrame(
        {
            "listing_id": np.arange(n) + 900_000,
            "sold": (pd.Timestamp("2015-01-01") + pd.to_timedelta(day, unit="D")).strftime("%Y-%m-%d"),
            "zip": 10_000 + place,
            "area_m2": np.round(rng.lognormal(4.6, 0.4, n), 1),
            "rooms": 0.0,
            "year_built": rng.integers(1890, 2024, n).astype(float),
            "type": rng.choice(["flat", "house", "villa", "studio"], n, p=[0.6, 0.3, 0.03, 0.07]),
            "condition": rng.choice(["poor", "fair", "good", "excellent"], n, p=[0.1, 0.3, 0.4, 0.2]),
            "garage": rng.choice(["true", "false"], n),
            "lat": np.round(48 + rng.random(n), 4),
            "lon": np.round(11 + rng.random(n), 4),
        }
    )
    t = table
    t["rooms"] = np.clip((t.area_m2 / 25 + rng.normal(0, 1, n)).round(), 1, 12)
    state = t.condition.map({"poor": -0.3, "fair": -0.1, "good": 0.05, "excellent": 0.2})
    z = 8.2 + 0.95 * np.log(t.area_m2) + zips[place] + 0.06 * day / 365 + 0.25 * (t.type == "house")
    z += 0.7 * (t.type == "villa") + state + 0.08 * (t.garage == "true") - 0.3 * np.hypot(t.lat - 48.5, t.lon - 11.5)
    z += 0.1 * (t.year_built > 2005) - 0.1 * t.year_built.between(1946, 1969)
    table["label"] = np.round(np.exp(z + rng.normal(0, 0.15, n)), -2).astype(int)
    return _with_gaps(table, rng, year_built=0.15, rooms=0.05, condition=0.1)


def clicks(rng: Any, n: int = 1_200_000) -> pd.DataFrame:
    """A log of few clicks: names with many values, and the device's own hours."""
    names = np.random.default_rng(_NAMES_SEED["clicks"])
    _shown(names, n)
    of_site, of_ad, of_user = names.normal(0, 0.8, 20_000), names.normal(0, 0.9, 50_000), names.normal(0, 0.5, 300_000)
    of_device, of_hour = names.normal(0, 0.5, 6), names.normal(0, 0.7, (6, 24))
    site, ad, user, device, position, price = _shown(rng, n)
    hour = (np.arange(n) * 24 // n * 3) % 24
    z = -3.3 + of_site[site] + of_ad[ad] + of_user[user] + of_device[device] + of_hour[device, hour]
    z += -0.2 * (position - 1) + 0.3 * np.log(price + 0.01)
    devices = np.array(["ios", "android", "web", "tv", "tablet", "other"])
    columns = {"site": _named("s", site), "ad": _named("a", ad), "user": _named("u", user), "device": devices[device]}
    label = (rng.random(n) < _logistic(z)).astype(int)
    return pd.DataFrame(columns | {"hour": hour, "position": position, "price": price, "label": label})


def _shown(rng: Any, n: int) -> tuple[Any, ...]:
    """Who saw what: sites, ads, users, devices, positions and prices."""
    site, ad, user = rng.zipf(1.3, n) % 20_000, rng.zipf(1.2, n) % 50_000, rng.integers(0, 300_000, n)
    return site, ad, user, rng.integers(0, 6, n), rng.integers(1, 8, n), np.round(rng.gamma(2, 0.5, n), 3)


def cells(rng: Any, n: int = 20_000) -> pd.DataFrame:
    """Numbers as people write them; the columns that end in ``_plain`` have the same without ornament."""
    day = rng.integers(0, 1400, n)
    date = pd.Timestamp("2021-01-01") + pd.to_timedelta(day, unit="D")
    discount, amount = rng.integers(0, 60, n), np.round(rng.lognormal(6, 1.5, n), 2)
    z = 0.002 * (day - 700) - 0.05 * (discount - 30) + 0.8 * (np.log(amount) - 6)
    label = np.where(rng.random(n) < _logistic(z), "Yes", "No")
    known = rng.random(n) < 0.95
    table = pd.DataFrame(
        {
            "date": date.strftime("%d/%m/%Y"),
            "discount": [f"{k}%" for k in discount],
            "amount": [f"${value:,.2f}" if there else "NA" for value, there in zip(amount, known, strict=True)],
            "date_plain": date.strftime("%Y-%m-%d"),
            "discount_plain": discount,
            "amount_plain": np.where(known, amount, np.nan),
        }
    )
    return table.assign(label=np.where(rng.random(n) < 0.1, np.char.lower(label), label))


def classes(rng: Any, n: int = 10_000) -> pd.DataFrame:
    """Twelve classes on 109 numbers: one cloud for each class."""
    label = rng.integers(0, 12, n)
    X = rng.normal(size=(n, 109)) + rng.normal(0, 0.45, (12, 109))[label]
    table = pd.DataFrame(np.round(X, 4), columns=[f"f{k}" for k in range(109)])
    return table.assign(label=[f"class{k}" for k in label])


def write(name: str, seed: int, folder: Path) -> None:
    """The files of a table; its first half is for training, of clicks the first five sixths."""
    rng = np.random.default_rng(seed)
    table = TABLES[name](rng)
    if name == "house":
        table = table.sample(frac=1, random_state=seed)
    cut = len(table) * (5 if name == "clicks" else 3) // 6
    for place, train, test in ((folder, table[:cut], table[cut:]), (folder / "few", table[:FEW], table[:FEW])):
        place.mkdir(parents=True, exist_ok=True)
        for part, rows in (("train", train), ("test", test)):
            rows.to_csv(place / f"{part}.csv", index=False)
            if name == "clicks":
                _write_vw(rows, place / f"{part}.vw")


def _write_vw(table: pd.DataFrame, path: Path) -> None:
    columns = (
        table[name].to_numpy() for name in ("label", "site", "ad", "user", "device", "hour", "position", "price")
    )
    with path.open("w") as file:
        for y, site, ad, user, device, hour, position, price in zip(*columns, strict=True):
            names = f"|s site={site} |a ad={ad} |u user={user} |d device={device}"
            file.write(f"{2 * y - 1} {names} |o hour={hour} position={position} price:{price}\n")


def _logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def _named(letter: str, numbers: Any) -> Any:
    return [f"{letter}{number:x}" for number in numbers.tolist()]


def _with_gaps(table: pd.DataFrame, rng: Any, **shares: float) -> pd.DataFrame:
    for name, share in shares.items():
        table[name] = table[name].mask(rng.random(len(table)) < share)
    return table


TABLES: dict[str, Callable[..., pd.DataFrame]] = {
    "tickets": tickets,
    "clicks": clicks,
    "house": house,
    "house in time order": house,
    "churn": churn,
    "cells": cells,
    "classes": classes,
}
