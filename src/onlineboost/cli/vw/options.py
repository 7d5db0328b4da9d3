"""Options of Vowpal Wabbit: their values, the parser of its command line, and our counterparts."""

from __future__ import annotations

from onlineboost.errors import ConflictError

_SWITCHES = """
    OjaNewton active active_cover adaptive adax all_slots_loss audit baseline baseline_challenger_cb
    batch_sz_no_doubling bfgs binary cache cb_adf cb_discrete cb_dro cb_explore_adf cb_explore_pdf cb_force_legacy
    cb_sample cbify_cs cbify_ldf cbify_reg cbzo ccb_explore_adf ccb_no_slot_index chain_hash challenger_epsilon
    check_enabled coin compete compressed confidence confidence_after_training conjugate_gradient constant_epsilon
    cs_absolute_loss csa_debug csoaa_rank csv csv_no_file_header csv_trace daemon debug_reversed_learn direct
    dont_output_best_constant driver_output_off dropout dry_run dsjson
    dump_json_weights_include_extra_online_state_experimental dump_json_weights_include_feature_names_experimental
    elim emt epsilon_decay eval exclude_eval experimental_igl explore_eval first_only fixed_significance_level
    flatbuffer flip_loss_sign foreground freegrad ftrl get_pmf global_only graph_feedback greedify help hessian_on
    hexfloat_weights holdout_off inpass interaction_update invariant json kill_cache ksvm large_action_space
    las_hint_explicit_simd learn_at_leaf leave_duplicate_interactions lrqdropout meanfield metrics multitask
    no_bias_regularization no_daemon no_predict no_progress no_stdin noconstant node_only noop normal_weights
    normalized nounif oas online oracular para_active per_model_save_load permutations pistol
    plt_force_load_legacy_model pool_greedy predict_only_model preserve_performance_counters print probabilities
    project quiet random_weights randomized_routing rank_all regcb regcbopt restart reward_as_cost sample_pdf
    save_per_pass save_resume scores search_linear_ordering search_no_caching search_xv sgd sim_bandit simulation
    slates softmax sort_features sparse_weights squarecb stage_poly strict_parse svrg synthcover testonly
    truncated_normal_weights two_pass_svd unweighted_marginals update_before_learn verbose_metrics version
    warm_cb_cs warm_start_update
"""
_VALUES = """
    action_cache_slack affix alg alpha alpha_inverse audit_regressor autolink automl automl_significance_level bag
    bandwidth batch_sz bern_hyper beta_scale bit_precision block_size bonferroni_denominator boosting bootstrap
    bs_type cats cats_pdf cats_tree cb cb_c_alpha cb_c_tau cb_dro_alpha cb_dro_tau cb_dro_wmax cb_explore
    cb_max_cost cb_min_cost cb_to_cbadf cb_type cbify choices_lambda clip_p constant corrupt_prob_warm_start
    corrupt_type_warm_start cost_max cost_min cover cs_active csoaa csoaa_ldf csv_header csv_ns_value csv_separator
    data decay decay_learning_rate default_lease degree domination dream_at_update dream_repeats driver_output
    dump_json_weights_experimental early_terminate ect emt_initial emt_leaf emt_router emt_scorer emt_tree
    epoch_size epsilon epsilon_decay_audit epsilon_decay_significance_level error example_queue_limit examples
    expectile_q extra_metrics feature_mask fepsilon final_regressor first flipschitz_const ftrl_alpha ftrl_beta
    gamma gamma_exponent gamma_scale hash hash_seed holdout_after holdout_period id indexing initial_denominator
    initial_epsilon initial_numerator initial_pass_length initial_t initial_weight input_feature_regularizer
    interact interaction interaction_type invert_hash kary_tree kernel l1 l1_state l2 l2_state lambda lambda_scheme
    lda lda_D lda_alpha lda_epsilon lda_rho ldf_override leaf_example_multiplier learn learning_rate
    learning_rate_cnt limit_output link log_level log_multi log_output logistic_max logistic_min loss0 loss1
    loss_01_ratio loss_function loss_option loss_report lr_multiplier lrqfa marginal max_actions max_candidates
    max_depth max_labels max_number_of_labels max_prediction max_value mellowness mem memory_tree min_champ_examples
    min_labels min_prediction min_scope min_value minibatch model_count multilabel_oaa multiplier multiworld_test
    named_labels new_mf nn node normalize num_children oaa oaa_subsample opt_func oracle_type ot
    output_feature_regularizer_binary output_feature_regularizer_text overwrite_label passes pid_file plt pmf_to_pdf
    policy pool_size port port_file power_t predictions priority_challengers priority_type progress psi quantile_tau
    radius random_init random_seed range_c rank raw_predictions readable_model recall_tree replay_b replay_b_count
    replay_c replay_c_count replay_m replay_m_count reprocess ring_size rnd rnd_alpha rnd_invlambda sched_exponent
    search search_active_verify search_allowed_transitions search_alpha search_beta search_history_length
    search_interpolation search_metatask search_neighbor_features search_passes_per_policy search_perturb_oracle
    search_rollin search_rollout search_rollout_num_steps search_save_every_k_runs search_subsample_time search_task
    search_total_nb_policies search_trained_nb_policies sendto shift_model_bounds sketch_size span_server
    span_server_port spanner_c sparse_l2 stage_size subsample swap_resistance synthcoverpsi synthcoversize
    target_rate termination thread_pool_size threshold tol_x top top_K top_k total tree_bandwidth unique_id wap_ldf
    warm_cb warm_start
"""
_LISTS = """
    cache_file classweight cubic dictionary dictionary_path experimental_full_name_interactions feature_limit ignore
    ignore_features_dsjson_experimental ignore_linear initial_regressor interactions keep lrq ngram quadratic
    redefine skips spelling
"""
SWITCHES, VALUES, LISTS = (frozenset(names.split()) for names in (_SWITCHES, _VALUES, _LISTS))
SHORT = {
    "a": "audit",
    "b": "bit_precision",
    "C": "constant",
    "c": "cache",
    "d": "data",
    "f": "final_regressor",
    "h": "help",
    "i": "initial_regressor",
    "k": "kill_cache",
    "l": "learning_rate",
    "p": "predictions",
    "P": "progress",
    "q": "quadratic",
    "r": "raw_predictions",
    "t": "testonly",
}
_IGNORED = """
    cache cache_file compressed dont_output_best_constant driver_output driver_output_off dry_run
    example_queue_limit holdout_off kill_cache leave_duplicate_interactions limit_output log_level log_output
    no_daemon no_stdin per_model_save_load preserve_performance_counters ring_size save_resume sort_features
"""

NOTHING_TO_DO = {
    **dict.fromkeys(_IGNORED.split(), ""),
    "binary": "the column label of the answers.",
    "hash": "names are kept apart without it.",
    "predict_only_model": "a model file can always continue training.",
    "probabilities": "the column probability of the answers.",
    "progress": "a line is printed at every doubling.",
    "sparse_weights": "memory is used only for features in the data.",
    "strict_parse": "malformed lines are always errors.",
}
"""Options that need no counterpart, with a note each."""

_ALIKE = {
    "adax bfgs coin conjugate_gradient freegrad ftrl pistol sgd": (
        "--learner linear is vw's default learner: adaptive, normalized, importance-invariant."
    ),
    "affix dictionary ngram skips spelling": "compute these features beforehand, and write them to the file.",
    "csoaa ect log_multi oaa_subsample recall_tree": ("leave it out: multiclass needs no option (docs/multiclass.md)."),
    "csv dsjson json": "onlineboost train reads this format by its own rules (docs/data.md).",
    "cubic ksvm lrq nn": "use the default of onlineboost train, which has trees, or --learner tree.",
    "ignore ignore_linear": "cut the namespaces out of the file, or read a table with --drop COLUMN.",
    "l1 l2": "no regularization; standardization (without --no-standardize) bounds features.",
    "node span_server total unique_id": (
        "onlineboost train --jobs N, or --engine ray --address ADDRESS (docs/scaling.md)."
    ),
    "quantile_tau": "onlineboost train --task number, for regression (docs/regression.md).",
}
INSTEAD = {name: instead for names, instead in _ALIKE.items() for name in names.split()} | {
    "audit": "onlineboost predict MODEL FILE --explain 5 names the strongest features of each answer.",
    "constant": "there is always a constant, starting at 0.",
    "daemon": "onlineboost predict MODEL - answers a pipe; in Python, predict_one and learn_one.",
    "decay_learning_rate": "the learning rate is the same in all passes.",
    "early_terminate": "--holdout FILE tests the model at the end; no pass is left out.",
    "examples": "head -n N FILE | onlineboost train - -f vw",
    "help": "onlineboost vw --help, alone.",
    "holdout_after": "put these examples into a file of their own, for --holdout FILE.",
    "holdout_period": "--holdout FILE tests the model at the end, on a file of its own.",
    "initial_t": "t always starts at 0; --power-t is vw's --power_t.",
    "keep": "cut the other namespaces out of the file, or read a table with --drop COLUMN.",
    "named_labels": "use words as labels, in CSV or JSON lines.",
    "noconstant": "there is always a constant.",
    "OjaNewton": "--learner newton, for at most 256 features.",
    "save_per_pass": "--checkpoint-every N saves the model after each N examples.",
    "version": "onlineboost --version.",
}
"""Options without a counterpart, with the closest alternative."""


def instead_of(name: str) -> str:
    """The advice for an option without a counterpart."""
    if name.startswith(("cb", "ccb", "cats", "slates", "squarecb", "explore", "warm_cb", "experimental_igl")):
        return "onlineboost learns labels, not the costs of actions: stay with vw."
    return INSTEAD.get(name, "stay with vw for it.")


def parse(arguments: list[str]) -> dict[str, list[str]]:
    """The values of each option, in the order in which options are first given; a switch has none.

    As ``vw`` does: values follow, or come after ``=``, or behind a letter; a list takes all words up to the next
    option; a word on its own is the data. As ``vw`` did before version 9: a long name may be cut, if only one begins
    so.

    >>> parse(["-d", "day.vw", "-b22", "--loss_function=logistic", "-q", "ab", "cd", "-c"])
    {'data': ['day.vw'], 'bit_precision': ['22'], 'loss_function': ['logistic'], 'quadratic': ['ab', 'cd'], 'cache': []}
    """
    found: dict[str, list[str]] = {}
    words = list(arguments)
    if words[:1] == ["vw"]:
        raise ConflictError("vw vw: expected the options of vw: leave out the second vw.")
    if len(words) == 1 and " -" in words[0]:
        raise ConflictError("vw: the command is one word: leave out the quotes around it.")
    while words:
        word = words.pop(0)
        if not _is_option(word):
            found.setdefault("data", []).append(word)
            continue
        flag, name, values = _split(word)
        if name in SWITCHES and values:
            raise ConflictError(f"vw {flag}: expected no value, found {values[0]!r}.")
        if name not in SWITCHES and not values:
            if not words:
                raise ConflictError(f"vw {flag}: expected a value, found the end of the command.")
            values = [words.pop(0)]
        while name in LISTS and words and not _is_option(words[0]):
            values.append(words.pop(0))
        found.setdefault(name, []).extend(values)
    for name, values in found.items():
        if name in VALUES and len(set(values)) > 1:
            raise ConflictError(f"vw --{name}: expected one value, found {' and '.join(values)}.")
    return found


def _is_option(word: str) -> bool:
    return len(word) > 1 and word[0] == "-" and not word[1].isdigit()


def _split(word: str) -> tuple[str, str, list[str]]:
    """The option as typed, its name, and the value that is part of the word."""
    if not word.startswith("--"):
        flag = word[:2]
        if flag[1] not in SHORT:
            raise ConflictError(f"vw {flag}: expected an option of Vowpal Wabbit; see vw --help.")
        return flag, SHORT[flag[1]], [word[2:]] if word[2:] else []
    flag, equals, value = word.partition("=")
    return flag, _full(flag), [value] if equals else []


def _full(flag: str) -> str:
    """The name of a long option."""
    name, known = flag[2:].replace("-", "_"), SWITCHES | VALUES | LISTS
    if name in known:
        return name
    begin = sorted(each for each in known if name and each.startswith(name))
    if len(begin) == 1:
        return begin[0]
    several = f" Several begin so: {', '.join(f'--{each}' for each in begin[:5])}." if begin else ""
    raise ConflictError(f"vw {flag}: expected an option of Vowpal Wabbit; see vw --help.{several}")
