"""What becomes of options of Vowpal Wabbit that are not settings of ``onlineboost train``."""

from __future__ import annotations

NOTHING_TO_DO = {
    "binary": "the column label of the answers.",
    "cache": "",
    "cache_file": "",
    "compressed": "",
    "dont_output_best_constant": "",
    "driver_output": "",
    "driver_output_off": "",
    "dry_run": "",
    "example_queue_limit": "",
    "hash": "names keep apart as they are: nothing to choose.",
    "holdout_off": "",
    "kill_cache": "",
    "leave_duplicate_interactions": "",
    "limit_output": "",
    "log_level": "",
    "log_output": "",
    "no_daemon": "",
    "no_stdin": "",
    "per_model_save_load": "",
    "predict_only_model": "a model file of ours can always go on learning.",
    "preserve_performance_counters": "",
    "probabilities": "the column probability of the answers.",
    "progress": "a line at every doubling, always.",
    "ring_size": "",
    "save_resume": "",
    "sort_features": "",
    "sparse_weights": "memory is taken for features that were met, always.",
    "strict_parse": "malformed lines are errors, always.",
}
"""Options that need no counterpart, with what is worth knowing."""

_BANDIT = "onlineboost learns labels, not the costs of actions: stay with vw."
_LINEAR_ONLY = "--learner linear is vw's default learner: adaptive, normalised, importance-invariant."
_TREES = "the default of onlineboost train, which has trees, or --learner tree."
_CLASSES = "leave it out: labels are classes, as many as come (docs/many-classes.md)."
_NUMBERS = "onlineboost train --task number, for labels that are numbers (docs/numbers.md)."
_TEXT = "make these features before, and write them into the file."
_OWN_FORMAT = "onlineboost train reads this format by rules of its own (docs/data.md)."
_RAY = "onlineboost train --jobs N, or --engine ray --address ADDRESS (docs/scale.md)."

INSTEAD = {
    "adax": _LINEAR_ONLY,
    "affix": _TEXT,
    "audit": "onlineboost predict MODEL FILE --explain 5 names the strongest features of each answer.",
    "bfgs": _LINEAR_ONLY,
    "coin": _LINEAR_ONLY,
    "conjugate_gradient": _LINEAR_ONLY,
    "constant": "there is always a constant, which begins at 0.",
    "csoaa": _CLASSES,
    "csv": _OWN_FORMAT,
    "cubic": _TREES,
    "daemon": "onlineboost predict MODEL - answers a pipe; in Python, predict_one and learn_one.",
    "decay_learning_rate": "the learning rate is the same in all passes.",
    "dictionary": _TEXT,
    "dsjson": _OWN_FORMAT,
    "early_terminate": "--holdout FILE tests the model at the end; no pass is left out.",
    "ect": _CLASSES,
    "examples": "head -n N FILE | onlineboost train - -f vw",
    "freegrad": _LINEAR_ONLY,
    "ftrl": _LINEAR_ONLY,
    "help": "onlineboost vw --help, alone.",
    "holdout_after": "put these examples into a file of their own, for --holdout FILE.",
    "holdout_period": "--holdout FILE tests the model at the end, on a file of its own.",
    "ignore": "cut the namespaces out of the file, or read a table with --drop COLUMN.",
    "ignore_linear": "cut the namespaces out of the file, or read a table with --drop COLUMN.",
    "initial_t": "t begins at 0, always; --power-t is vw's --power_t.",
    "json": _OWN_FORMAT,
    "keep": "cut the other namespaces out of the file, or read a table with --drop COLUMN.",
    "ksvm": _TREES,
    "l1": "there is no regularisation; standardising (leave out --no-standardize) bounds features.",
    "l2": "there is no regularisation; standardising (leave out --no-standardize) bounds features.",
    "log_multi": _CLASSES,
    "lrq": _TREES,
    "named_labels": "words as labels, in CSV or JSON lines.",
    "ngram": _TEXT,
    "nn": _TREES,
    "noconstant": "there is always a constant.",
    "node": _RAY,
    "OjaNewton": "--learner newton, for at most 256 features.",
    "oaa_subsample": _CLASSES,
    "pistol": _LINEAR_ONLY,
    "quantile_tau": _NUMBERS,
    "recall_tree": _CLASSES,
    "save_per_pass": "--checkpoint-every N saves the model after each N examples.",
    "sgd": _LINEAR_ONLY,
    "skips": _TEXT,
    "span_server": _RAY,
    "spelling": _TEXT,
    "total": _RAY,
    "unique_id": _RAY,
    "version": "onlineboost --version.",
}
"""Options without a counterpart, with the next best."""


def instead_of(name: str) -> str:
    """What to do about an option without a counterpart."""
    if name.startswith(("cb", "ccb", "cats", "slates", "squarecb", "explore", "warm_cb", "experimental_igl")):
        return _BANDIT
    return INSTEAD.get(name, "stay with vw for it.")
