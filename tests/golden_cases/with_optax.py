"""optax, unmodified, on top of jax or tinyjax: every function that it exports, in a process of its own.

    python tests/golden_cases/with_optax.py tinyjax    # or: jax

prints {call: what it gives} as JSON, results as codec.py writes them."""

import ast
import importlib
import inspect
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

# Parameters after ten steps of a small regression; `trained` says what an optimiser gets to see.
OPTIMIZERS = """
adabelief(0.05)
adadelta(1.0), adadelta(0.5, weight_decay=0.1)
adafactor(0.05), adafactor(0.05, min_dim_size_to_factor=2, momentum=0.5)
adagrad(0.3)
adam(0.05), adam(0.05, nesterov=True, eps_root=1e-4), adam(0.05, mu_dtype='bfloat16')
adamax(0.05)
adamaxw(0.05)
adamw(0.05), adamw(0.05, weight_decay=0.1, mask=only_w)
adan(0.05), adan(0.05, weight_decay=0.1)
amsgrad(0.05)
fromage(0.05)
lamb(0.05)
lars(0.5)
lbfgs(), lbfgs(0.1, linesearch=None), lbfgs(memory_size=2)
lbfgs(linesearch=optax.scale_by_backtracking_linesearch(10))
lion(0.02)
nadam(0.05)
nadamw(0.05)
noisy_sgd(0.1, key=3)
novograd(0.05)
optimistic_adam(0.05)
optimistic_adam_v2(0.05)
optimistic_gradient_descent(0.1)
polyak_sgd(), polyak_sgd(0.5, variant='sps+')
radam(0.1), radam(0.1, threshold=1.0)
rmsprop(0.02), rmsprop(0.02, momentum=0.5, nesterov=True, centered=True)
rprop(0.05)
sgd(0.1), sgd(0.1, momentum=0.9), sgd(0.1, momentum=0.9, nesterov=True)
sgd(optax.exponential_decay(0.2, 2, 0.5))
sign_sgd(0.02)
signum(0.02)
sm3(0.3)
yogi(0.05)
contrib.acprop(0.05)
contrib.ademamix(0.05)
contrib.adopt(0.05)
contrib.cocob()
contrib.dadapt_adamw(0.5)
contrib.dog(1.0)
contrib.dowg(1.0)
contrib.galore(0.05, rank=1)
contrib.madgrad(0.05)
contrib.mechanize(optax.adam(0.1))
contrib.momo(0.1)
contrib.momo_adam(0.1)
contrib.muon(0.05)
contrib.prodigy(1.0)
contrib.schedule_free(optax.sgd(0.1), 0.1)
contrib.schedule_free_adamw(0.05)
contrib.schedule_free_sgd(0.1)
contrib.simplified_ademamix(0.01)
contrib.split_real_and_imaginary(optax.adam(0.1))
"""

# What changes gradients into updates: what is left of them after three steps, put to `updates_of`.
TRANSFORMS = """
adaptive_grad_clip(0.01)
add_decayed_weights(0.1), add_decayed_weights(0.1, mask=only_w)
add_noise(0.1, 0.55, key=1)
apply_every(2)
apply_if_finite(optax.sgd(0.1), 2)
centralize()
chain(optax.clip(0.5), optax.scale(-0.1)), named_chain(('a', optax.clip(0.5)), ('b', optax.scale(2.)))
clip(0.1)
clip_by_block_rms(0.1)
clip_by_global_norm(0.1)
conditionally_mask(optax.scale(2.), lambda step: step < 2)
conditionally_transform(optax.scale(2.), lambda step: step < 2)
ema(0.9), ema(0.9, debias=False)
flatten(optax.adam(0.1))
freeze({'w': True, 'b': False})
identity(), set_to_zero(), scale(0.5)
inject_hyperparams(optax.adam)(0.1, b1=optax.linear_schedule(0.9, 0.5, 3))
inject_stateful_hyperparams(optax.sgd)(0.1)
keep_params_nonnegative()
masked(optax.adam(0.1), only_w)
multi_transform({'w': optax.adam(0.1), 'b': optax.set_to_zero()}, {'w': 'w', 'b': 'b'})
partition({'w': optax.sgd(0.1, momentum=0.9), 'b': optax.adam(0.1)}, lambda p: {k: k for k in p})
normalize_by_update_norm()
scale_by_adadelta()
scale_by_adam()
scale_by_adamax()
scale_by_adan()
scale_by_amsgrad()
scale_by_belief()
scale_by_distance_over_gradients()
scale_by_factored_rms(min_dim_size_to_factor=2)
scale_by_learning_rate(0.1)
scale_by_lbfgs()
scale_by_lion()
scale_by_novograd()
scale_by_optimistic_gradient()
scale_by_param_block_norm()
scale_by_param_block_rms()
scale_by_polyak()
scale_by_backtracking_linesearch(5)
scale_by_radam()
scale_by_rms()
scale_by_rprop(0.1)
scale_by_rss()
scale_by_schedule(lambda step: 0.1 * step)
scale_by_sign()
scale_by_sm3()
scale_by_stddev()
scale_by_trust_ratio()
scale_by_yogi()
selective_transform(optax.adam(0.1), freeze_mask={'w': True, 'b': False})
stateless(lambda updates, params: optax.tree.add(updates, params))
stateless_with_tree_map(lambda g, p: g * p)
trace(0.9), trace(0.9, nesterov=True)
monitor({'norm': optax.global_norm, 'mean': optax.measure_with_ema(optax.global_norm, 0.9)})
snapshot('norm', optax.global_norm)
with_extra_args_support(optax.scale(2.))
zero_nans()
contrib.normalize()
contrib.reduce_on_plateau(patience=1)
contrib.scale_by_acprop()
contrib.scale_by_ademamix()
contrib.scale_by_simplified_ademamix()
contrib.scale_by_adopt()
contrib.scale_by_cocob()
contrib.scale_by_galore(rank=1)
contrib.scale_by_madgrad(0.1)
"""

# At steps 0, 1, 5, 10 and 30.
SCHEDULES = """
constant_schedule(0.1)
cosine_decay_schedule(1.0, 20), cosine_decay_schedule(1.0, 20, alpha=0.1, exponent=2.0)
cosine_onecycle_schedule(20, 1.0)
exponential_decay(1.0, 5, 0.5), exponential_decay(1.0, 5, 0.5, 2, staircase=True, end_value=0.1)
join_schedules([optax.constant_schedule(0.1), optax.linear_schedule(1.0, 0.0, 10)], [5])
linear_onecycle_schedule(20, 1.0)
linear_schedule(1.0, 0.0, 10), linear_schedule(1.0, 0.0, 10, transition_begin=5)
piecewise_constant_schedule(1.0, {5: 0.5, 10: 0.1})
piecewise_interpolate_schedule('linear', 1.0, {5: 0.5, 10: 0.1})
piecewise_interpolate_schedule('cosine', 1.0, {5: 0.5, 10: 0.1})
polynomial_schedule(1.0, 0.1, 2, 10)
sgdr_schedule([dict(init_value=0.0, peak_value=1.0, decay_steps=10, warmup_steps=2)] * 2)
warmup_constant_schedule(0.0, 1.0, 5)
warmup_cosine_decay_schedule(0.0, 1.0, 5, 20), warmup_cosine_decay_schedule(0.0, 1.0, 5, 20, 0.1, 2.0)
warmup_exponential_decay_schedule(0.0, 1.0, 5, 5, 0.5)
"""

# `both` gives value and gradient by the first argument, of the sum.
LOSSES = """
both(optax.l2_loss, v, u)
both(optax.squared_error, v, u), both(optax.squared_error, v)
both(optax.huber_loss, v, u, delta=0.5)
both(optax.log_cosh, v, u)
both(optax.cosine_similarity, m, m[::-1], epsilon=1e-3)
both(optax.cosine_distance, m, m[::-1], epsilon=1e-3)
both(optax.hinge_loss, v, signs)
both(optax.losses.perceptron_loss, v, signs)
both(optax.sigmoid_binary_cross_entropy, v, unit)
both(optax.sigmoid_focal_loss, v, unit), both(optax.sigmoid_focal_loss, v, unit, alpha=0.3)
both(optax.softmax_cross_entropy, m, shares), both(optax.softmax_cross_entropy, m, shares, axis=0)
both(optax.safe_softmax_cross_entropy, m, shares)
both(optax.softmax_cross_entropy_with_integer_labels, m, classes)
both(optax.softmax_cross_entropy_with_integer_labels, m, classes, where=m > 0)
both(optax.losses.poly_loss_cross_entropy, m, shares)
both(optax.losses.multiclass_hinge_loss, m, classes)
both(optax.losses.multiclass_perceptron_loss, m, classes)
both(optax.losses.multiclass_sparsemax_loss, m, classes)
both(optax.losses.sparsemax_loss, v, unit > 0.5)
both(optax.kl_divergence, jax.nn.log_softmax(m), shares)
both(optax.losses.kl_divergence_with_log_targets, jax.nn.log_softmax(m), jnp.log(shares))
both(optax.convex_kl_divergence, jax.nn.log_softmax(m), shares)
both(optax.generalized_kl_divergence, m, shares)
both(optax.losses.ranking_softmax_loss, m, shares)
both(optax.losses.ranking_softmax_loss, m, shares, where=m > 0)
both(optax.losses.binary_dice_loss, m, shares > 0.2)
both(optax.losses.dice_loss, m, shares)
optax.losses.dice_loss(shares, shares[::-1], apply_softmax=False)
both(optax.losses.multiclass_generalized_dice_loss, m, shares)
both(optax.losses.triplet_margin_loss, m, m + 0.1, m[::-1])
both(optax.ntxent, m, jnp.array([0, 0, 1, 1]))
both(optax.losses.make_fenchel_young_loss(jax.scipy.special.logsumexp), v, unit)
both(optax.ctc_loss, logits, jnp.zeros((2, 6)), labels, label_paddings)
optax.ctc_loss_with_forward_probs(logits, jnp.zeros((2, 6)), labels, label_paddings)
optax.smooth_labels(shares, 0.1)
optax.losses.smooth_labels(jax.nn.one_hot(classes, 3), 0.2)
"""

PROJECTIONS = """
projection_box(v, -0.5, 0.5)
projection_halfspace(v, u, 0.5)
projection_hypercube(v, 0.5)
projection_hyperplane(v, u, 0.5)
projection_l1_ball(tree, 1.5)
projection_l1_sphere(tree, 1.5)
projection_l2_ball(tree, 1.5)
projection_l2_sphere(tree, 1.5)
projection_linf_ball(tree, 0.5)
projection_non_negative(tree)
projection_simplex(tree, 2.0)
projection_vector(v, u)
"""

TREES = """
t.tree_add(tree, tree, tree), t.tree_add_scale(tree, 0.5, tree), t.tree_sub(tree, tree2)
t.tree_mul(tree, tree2), t.tree_div(tree, tree2), t.tree_scale(2.0, tree)
t.tree_sum(tree), t.tree_sum(tree, associative_reduction=True), t.tree_max(tree), t.tree_min(tree)
t.tree_size(tree), t.tree_allclose(tree, tree), t.tree_allclose(tree, tree2), t.tree_vdot(tree, tree2)
t.tree_norm(tree), t.tree_norm(tree, 1), t.tree_norm(tree, 'inf'), t.tree_norm(tree, squared=True)
t.tree_batch_shape(tree, (2,)), t.tree_bias_correction(tree, 0.9, 2), t.tree_clip(tree, -0.5, 0.5)
t.tree_cast(tree, 'float16'), t.tree_cast_like(tree, tree2), t.tree_dtype(tree)
t.tree_conj(tree), t.tree_real(tree), t.tree_where(True, tree, tree2)
t.tree_full_like(tree, 3.0), t.tree_ones_like(tree), t.tree_zeros_like(tree, 'int32')
t.tree_get(state, 'count'), t.tree_get(state, 'mu'), t.tree_set(state, count=7)[0].count
len(t.tree_get_all_with_path(state, 'nu'))
t.tree_map_params(optax.adam(0.1), lambda x: x + 1, state)[0].mu
t.tree_random_like(key, tree), t.tree_random_like(key, tree, jax.random.uniform)
jax.tree.map(jax.random.key_data, t.tree_split_key_like(key, tree))
t.tree_unwrap_random_key_data({'k': key})
t.tree_update_infinity_moment(tree, tree2, 0.9, 1e-3), t.tree_update_moment(tree, tree2, 0.9, 2)
t.tree_update_moment_per_elem_norm(tree, tree2, 0.9, 2)
"""

OTHERS = """
updates_of(optax.scale_by_zoom_linesearch(5), steps=1)
scale_by_muon.update({'m': m}, scale_by_muon.init({'m': m}))[0]
trained(optax.contrib.sophia(0.05), sees=['obj_fn'])
updates_of(optax.contrib.hutchinson_estimator_diag_hessian(), sees=['obj_fn'])
trained(optax.contrib.sam(optax.sgd(0.1), optax.sgd(0.01)), sees=[])
trained(optax.contrib.sam(optax.sgd(0.1), normalized(0.1), opaque_mode=True), sees=['grad_fn'])
optax.apply_updates(tree, tree2), optax.incremental_update(tree, tree2, 0.1)
optax.periodic_update(tree, tree2, jnp.array(4), 2), optax.periodic_update(tree, tree2, jnp.array(5), 2)
optax.bias_correction(tree, 0.9, 2), optax.global_norm(tree)
optax.update_moment(tree, tree2, 0.9, 1), optax.update_infinity_moment(tree, tree2, 0.9, 1e-3)
optax.update_moment_per_elem_norm(tree, tree2, 0.9, 2)
optax.init_empty_state(tree)
optax.per_example_global_norm_clip([m, 2 * m], 0.5)
optax.per_example_layer_norm_clip([m, 2 * m], 0.5)
optax.transforms.unitwise_norm(m), optax.transforms.unitwise_clip(m, m / 2, m)
optax.power_iteration(spd, key=key), optax.matrix_inverse_pth_root(spd, 4)[0]
optax.nnls(spd, v[:3], 20)
optax.multi_normal(u, v).log_prob(v + 1), optax.multi_normal(u, v).sample((2,), jax.random.key(1))
optax.safe_increment(jnp.array(3)), optax.safe_increment(jnp.array(2**31 - 1))
optax.safe_int32_increment(jnp.array(3))
both(optax.safe_norm, jnp.zeros(3), 1e-3), both(optax.safe_root_mean_squares, v, 1e-3)
jax.grad(lambda x: (optax.scale_gradient(x, 0.5) ** 2).sum())(v)
optax.tree_map_params(optax.adam(0.1), lambda x: x + 1, state)[0].mu
optax.skip_large_updates(tree, 0, tree, 1.0)[0], optax.skip_not_finite(tree, 0, tree)[0]
lookahead(optax.sgd(0.1)), lookahead(optax.adam(0.1))
accumulated(optax.sgd(0.1), every_k_schedule=2)
accumulated(optax.adam(0.1), every_k_schedule=2, should_skip_update_fn=optax.skip_not_finite)
of_examples(optax.contrib.differentially_private_aggregate(1.0, 0.1, seed=1))
of_examples(optax.contrib.dpsgd(0.1, 1.0, 0.1, seed=1))
optax.contrib.schedule_free_eval_params(optax.contrib.schedule_free_sgd(0.1).init(tree), tree)
optax.value_and_grad_from_state(lambda p: (p**2).sum())(v, state=optax.lbfgs().init(v))
optax.microbatch(lambda x: (x**2).sum(), argnums=0, microbatch_size=2)(m)
optax.microbatching.micro_vmap(lambda x: x**2, microbatch_size=2)(m)
optax.microbatching.micro_grad(lambda w, x: (w * x).sum(), microbatch_size=2)(jnp.ones(3), m)
optax.microbatching.reshape_batch_axis(m, 2)
optax.assignment.hungarian_algorithm(spd), optax.assignment.base_hungarian_algorithm(spd)
optax.perturbations.make_perturbed_fun(lambda x: x**2, 5, 0.1)(key, v)
jax.grad(lambda x: optax.perturbations.make_perturbed_fun(jnp.sign, 5, 0.1)(key, x).sum())(v)
optax.second_order.hvp(quadratic, u, v, m, m), optax.second_order.hessian_diag(quadratic, v, m, m)
optax.second_order.fisher_diag(quadratic, v, m, m)
in_a_loop(optax.adam(0.1)), in_a_loop(optax.lbfgs())
in_a_loop(optax.chain(optax.clip(0.1), optax.sgd(0.1)))
trained(optax.adamw(0.05), wrap=jax.jit), trained(optax.contrib.muon(0.05), wrap=jax.jit)
"""


# ---- the calls, and what their names mean ----


def groups() -> dict[str, list[str]]:
    """{group: its calls}: expressions over `names`."""
    return {
        "optimizers": _calls(OPTIMIZERS, "trained(optax.{})"),
        "transforms": _calls(TRANSFORMS, "updates_of(optax.{})"),
        "schedules": _calls(SCHEDULES, "at_steps(optax.{})"),
        "losses": _calls(LOSSES),
        "projections": _calls(PROJECTIONS, "optax.projections.{}"),
        "trees": _calls(TREES),
        "others": _calls(OTHERS),
    }


def _calls(lines: str, form: str = "{}") -> list[str]:
    """Each expression of a text of expressions, with commas between them."""
    tuples = [ast.parse(f"{line},", mode="eval").body for line in lines.strip().split("\n")]
    return [form.format(ast.unparse(call)) for row in tuples for call in row.elts]


def names(jax, jnp, optax):
    x = jnp.linspace(-1, 1, 24).reshape(8, 3) ** 3 + jnp.eye(8, 3)
    y = x @ jnp.array([[1.0, -2], [0.5, 0], [-1, 3]]) + jnp.array([0.5, -0.5])
    params = {"w": jnp.array([[0.1, -0.2], [0.3, 0.1], [-0.1, 0.2]]), "b": jnp.array([0.05, -0.1])}

    def loss(params, x=x, y=y):
        return jnp.mean((x @ params["w"] + params["b"] - y) ** 2)

    def step(optimizer, params, state, sees=("value", "grad", "value_fn")):
        """Updates, the next parameters and state; `sees`: what besides the gradient is shown to it."""
        value, gradient = jax.value_and_grad(loss)(params)
        there = {"value": value, "grad": gradient, "value_fn": loss, "obj_fn": loss}
        there["grad_fn"] = lambda params, _: jax.grad(loss)(params)
        update = optax.with_extra_args_support(optimizer).update
        updates, state = update(gradient, state, params, **{name: there[name] for name in sees})
        return updates, optax.apply_updates(params, updates), state

    def trained(optimizer, steps=10, wrap=lambda f: f, **options):
        """The parameters after some steps; `wrap` is put around a step (jit, say)."""
        state, now = optimizer.init(params), params
        next_step = wrap(lambda params, state: step(optimizer, params, state, **options)[1:])
        for _ in range(steps):
            now, state = next_step(now, state)
        return now

    def updates_of(transform, steps=3, **options):
        """The last updates, and the numbers that the transform remembers."""
        state, now = transform.init(params), params
        for _ in range(steps):
            updates, now, state = step(transform, now, state, **options)
        return updates, jax.tree.leaves(state)

    def in_a_loop(optimizer):
        def body(i, carry):
            return step(optimizer, *carry)[1:]

        return jax.lax.fori_loop(0, 5, body, (params, optimizer.init(params)))[0]

    def of_examples(transform):
        """What a transform makes of the gradient at each example."""
        gradients = jax.vmap(jax.grad(loss), (None, 0, 0))(params, x, y)
        return transform.update(gradients, transform.init(params), params)[0]

    def lookahead(optimizer):
        slow = optax.lookahead(optimizer, sync_period=2, slow_step_size=0.5)
        both_params = optax.LookaheadParams.init_synced(params)
        state = slow.init(both_params)
        for _ in range(5):
            gradient = jax.grad(loss)(both_params.fast)
            updates, state = slow.update(gradient, state, both_params)
            both_params = optax.apply_updates(both_params, updates)
        return both_params.slow

    def accumulated(optimizer, **options):
        multi = optax.MultiSteps(optimizer, **options)
        state, now, has_updated = multi.init(params), params, []
        for _ in range(5):
            updates, state = multi.update(jax.grad(loss)(now), state, now)
            now = optax.apply_updates(now, updates)
            has_updated.append(multi.has_updated(state))
        return now, has_updated

    def both(loss, first, *others, **options):
        return jax.value_and_grad(lambda x: jnp.sum(loss(x, *others, **options)))(first)

    def at_steps(schedule):
        return [schedule(jnp.array(i)) for i in (0, 1, 5, 10, 30)]

    m = jnp.array([[0.1, 1.2, -0.7], [2.0, -1.0, 0.4], [-0.3, 0.8, 0.9], [1.1, 0.2, -1.5]])
    tree = {
        "a": jnp.array([1.0, -2, 0.25]),
        "b": (jnp.array([[0.5, -1], [2, 1.5]]), jnp.array(-0.75)),
    }
    return {
        "jax": jax,
        "jnp": jnp,
        "optax": optax,
        "t": optax.tree_utils,
        "aggregating": optax.experimental.aggregating,
        "normalized": lambda step: optax.chain(optax.contrib.normalize(), optax.sgd(step)),
        "trained": trained,
        "updates_of": updates_of,
        "in_a_loop": in_a_loop,
        "of_examples": of_examples,
        "lookahead": lookahead,
        "accumulated": accumulated,
        "both": both,
        "at_steps": at_steps,
        "only_w": {"w": True, "b": False},
        "scale_by_muon": optax.contrib.scale_by_muon(
            weight_dimension_numbers={"m": optax.contrib.MuonDimensionNumbers(0, 1)}
        ),
        "params": params,
        "x": x,
        "y": y,
        "v": jnp.array([0.5, -1.5, 2.0, -0.25]),
        "u": jnp.array([-0.5, 1.0, 0.75, -1.25]),
        "signs": jnp.array([1.0, -1, -1, 1]),
        "unit": jnp.array([0.1, 0.9, 0.6, 0.4]),
        "m": m,
        "shares": jax.nn.softmax(jnp.sin(3 * m)),
        "classes": jnp.array([0, 2, 1, 1]),
        "spd": jnp.array([[4.0, 1, 0.5], [1, 3, 0.2], [0.5, 0.2, 2]]),
        "logits": jnp.sin(jnp.arange(48.0)).reshape(2, 6, 4),
        "labels": jnp.array([[1, 2, 0], [3, 1, 1]]),
        "label_paddings": jnp.array([[0.0, 0, 1], [0, 0, 0]]),
        "tree": tree,
        "tree2": jax.tree.map(lambda x: jnp.cos(x) + 0.5, tree),
        "state": optax.adam(0.1).init(tree),
        "key": jax.random.key(7),
        "quadratic": lambda params, inputs, targets: jnp.sum(
            (inputs @ params[:3] - params[3]) ** 2
        ),
    }


# ---- a process that answers ----


def answers(library: str) -> dict[str, dict]:
    """What a library, "jax" or "tinyjax", gives: {group: {call: result as codec.py writes it}}; and under
    "functions" the names of what optax exports."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, library],
        env=os.environ | {"JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=1800,  # JAX compiles each operation
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def exported(optax) -> list[str]:
    """The names of all functions that optax exports, without those of types."""
    modules = [optax, optax.contrib, optax.losses, optax.projections, optax.tree_utils]
    modules += [optax.assignment, optax.second_order, optax.microbatching, optax.perturbations]
    modules += [optax.transforms, optax.schedules]
    found = {name for module in modules for name in dir(module) if not name.startswith("_")}
    return sorted(n for n in found if any(inspect.isfunction(getattr(m, n, None)) for m in modules))


def answer(call: str, given: dict) -> object:
    try:
        return importlib.import_module("codec").encode(eval(call, dict(given)), given["jax"])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}


def main(library: str) -> None:
    warnings.simplefilter("ignore")
    sys.path.append(str(Path(__file__).parent))
    if library == "tinyjax":
        importlib.import_module("tinyjax").install_as_jax()
    jax, jnp, optax = map(importlib.import_module, ("jax", "jax.numpy", "optax"))
    for more in ("perturbations", "microbatching", "second_order", "assignment", "experimental"):
        importlib.import_module(f"optax.{more}")
    given = names(jax, jnp, optax)
    found = {
        name: {call: answer(call, given) for call in calls} for name, calls in groups().items()
    }
    print(json.dumps({"functions": exported(optax)} | found))


if __name__ == "__main__":
    main(sys.argv[1])
