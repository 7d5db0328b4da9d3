"""Boosting algorithms of the paper and its successors: one file each, registered on import."""

from onlineboost.boosters.adaboost_ol import AdaBoostOL
from onlineboost.boosters.adaboost_ol_plus import AdaBoostOLPlus
from onlineboost.boosters.adaboost_olm import AdaBoostOLM
from onlineboost.boosters.base import Booster
from onlineboost.boosters.defensive import DefensiveBoost
from onlineboost.boosters.gradient import OnlineGradientBoost
from onlineboost.boosters.online_bbm import OnlineBBM
from onlineboost.boosters.online_mbbm import OnlineMBBM
from onlineboost.boosters.osboost import OSBoost
from onlineboost.boosters.osboost_ocp import OSBoostOCP
from onlineboost.boosters.potential import PotentialBoost
from onlineboost.boosters.safe import SafeBoost
from onlineboost.registry import import_modules

import_modules(__name__, __path__)

__all__ = [
    "AdaBoostOL",
    "AdaBoostOLM",
    "AdaBoostOLPlus",
    "Booster",
    "DefensiveBoost",
    "OSBoost",
    "OSBoostOCP",
    "OnlineBBM",
    "OnlineGradientBoost",
    "OnlineMBBM",
    "PotentialBoost",
    "SafeBoost",
]
