"""A small classifier with batch normalisation and its optimizer, gradients, vectorised modules, averages.

Objax 1.8 asks for a class that JAX no longer has, jax.sharding.PmapSharding: the program makes one."""

import jax
import jax.numpy as jnp
import numpy as np
import objax
from objax.functional.loss import cross_entropy_logits_sparse

jax.sharding.PmapSharding = type("PmapSharding", (), {})

x = np.linspace(-1, 1, 64, dtype=np.float32).reshape(32, 2)
labels = (x[:, 0] * x[:, 1] > 0.2).astype(np.int32)

model = objax.nn.Sequential(
    [objax.nn.Linear(2, 8), objax.functional.tanh, objax.nn.BatchNorm0D(8), objax.nn.Linear(8, 2)]
)
for i, (name, variable) in enumerate(sorted(model.vars().items())):
    if name.endswith(".w"):
        shape = variable.value.shape
        variable.assign(
            jnp.sin(jnp.arange(shape[0] * shape[1], dtype=jnp.float32).reshape(shape) + i)
        )
optimizer = objax.optimizer.Adam(model.vars())


@objax.Function.with_vars(model.vars())
def loss(x, labels):
    return cross_entropy_logits_sparse(model(x, training=True), labels).mean()


gradients = objax.GradValues(loss, model.vars())


@objax.Function.with_vars(model.vars() + optimizer.vars())
def train(x, labels):
    grads, (value,) = gradients(x, labels)
    optimizer(lr=0.02, grads=grads)
    return value


train = objax.Jit(train)
for i in range(40):
    value = train(x, labels)
    if i % 10 == 0:
        print("loss:", value)
predict = objax.Jit(
    objax.nn.Sequential([lambda x: model(x, training=False), objax.functional.softmax]),
    model.vars(),
)
print("prediction:", predict(x)[3])
print(
    "variables:", list(model.vars().keys())[0], len(model.vars()), model.vars().tensors()[0].shape
)
print("optimizer:", optimizer.step.value, list(optimizer.vars().keys())[0])
gradient = objax.Grad(lambda: jnp.sum(model[0](x) ** 2), model[0].vars())()
print("gradient:", [jnp.round(jnp.sum(g), 2) for g in gradient])
print("vectorised:", objax.Vectorize(lambda v: jnp.sum(v**2), objax.VarCollection())(x)[:3])
average = objax.optimizer.ExponentialMovingAverage(model.vars(), momentum=0.9)
average()
print("averaged:", average.replace_vars(lambda: model(x, training=False))()[0])
convolution = objax.nn.Conv2D(1, 2, 3)
convolution.w.assign(jnp.arange(18.0).reshape(convolution.w.value.shape) / 18)
image = jnp.arange(25.0).reshape(1, 1, 5, 5) / 25
print("convolution:", objax.functional.max_pool_2d(convolution(image), 2).ravel())
print("random:", objax.random.normal((3,), generator=objax.random.Generator(0)))
