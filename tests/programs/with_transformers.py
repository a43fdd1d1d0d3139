"""A tiny BERT and a tiny GPT-2 in Flax with random weights: logits, losses, gradients, three steps.

Hugging Face transformers, in the last release with models in Flax."""

import warnings

import jax
import jax.numpy as jnp
import numpy as np
from transformers import (
    BertConfig,
    FlaxBertForSequenceClassification,
    FlaxGPT2LMHeadModel,
    GPT2Config,
)

warnings.simplefilter("ignore")
TOKENS = np.random.default_rng(0).integers(0, 50, (3, 8))


def norms(tree):
    """The length of each parameter's gradient, of the six longest."""
    lengths = [float(jnp.linalg.norm(leaf)) for leaf in jax.tree.leaves(tree)]
    return " ".join(f"{length:.4f}" for length in sorted(lengths)[-6:])


def loss_of(logits, targets):
    return -jnp.mean(jnp.take_along_axis(jax.nn.log_softmax(logits), targets[..., None], -1))


sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2}
config = BertConfig(**sizes, intermediate_size=32, max_position_embeddings=16, num_labels=3)
bert = FlaxBertForSequenceClassification(config, seed=0)


def bert_loss(params):
    return loss_of(bert(TOKENS, params=params).logits, jnp.array([0, 1, 2]))


print("BERT logits:", " ".join(f"{x:.5f}" for x in np.asarray(bert(TOKENS).logits).ravel()))
loss, gradient = jax.value_and_grad(bert_loss)(bert.params)
print(f"BERT loss: {loss:.5f}, gradients: {norms(gradient)}")

config = GPT2Config(vocab_size=50, n_positions=16, n_embd=16, n_layer=2, n_head=2)
gpt2 = FlaxGPT2LMHeadModel(config, seed=0)


@jax.jit
def gpt2_loss(params):
    logits = gpt2(TOKENS, params=params).logits
    return loss_of(logits[:, :-1], jnp.array(TOKENS)[:, 1:])


print(f"GPT-2 logits: {' '.join(f'{x:.5f}' for x in np.asarray(gpt2(TOKENS).logits)[0, 0, :6])}")
params = gpt2.params
for _ in range(3):
    loss, gradient = jax.value_and_grad(gpt2_loss)(params)
    print(f"GPT-2 loss: {loss:.5f}, gradients: {norms(gradient)}")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, gradient)
