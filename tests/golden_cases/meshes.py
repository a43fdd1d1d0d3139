"""Meshes, shardings and arrays on them: calls whose answers are recorded from JAX (many_devices.py)."""

import numpy as np

DEVICES = 8
ERROR_WORDS = 5

# d: the devices; E, A: a 4x2 mesh with axes x and y, explicit and auto; M: the same as Mesh(devices, names).
# S, T: NamedShardings on A and on E; x: an array of shape (8, 4).
CALLS = """
jax.make_mesh((4, 2), ('x', 'y'))
jax.make_mesh((8,), 'x')
jax.make_mesh((3,), ('x',)).devices
jax.make_mesh((4, 2), ('x', 'y'), axis_types=(Type.Auto, Type.Explicit))
jax.make_mesh((4,), ('x',), devices=d[4:]).devices
jax.make_mesh((16,), ('x',))
jax.make_mesh((4, 2), ('x', 'y'), devices=d[:4])
jax.make_mesh((2, 2), ('x',))
jax.make_mesh((4, 2), ('x', 'y'), axis_types=(Type.Auto,))
M, str(M), str(E), A == M, A == E, hash(A) == hash(M), len({A, M})
M.axis_names, M.axis_sizes, M.axis_types, dict(M.shape), M.shape_tuple, M.size, M.empty
M.device_ids, M.is_multi_process, M.devices.shape, M.devices
Mesh(d, 'x'), Mesh(d, ('x',)), Mesh(d[:1], 'x')
Mesh(d, ('x', 'y'))
Mesh([], ())
Mesh(d, 'x', axis_types=(Type.Explicit,)), Mesh(d, 'x', (Type.Manual,))
Mesh(d, 'x', axis_types=(Type.Explicit, Type.Auto))
M.local_mesh == M, len(M.local_devices)
E.abstract_mesh, A.abstract_mesh, E.abstract_mesh == A.abstract_mesh
E.explicit_axes, E.auto_axes, E.manual_axes, A.auto_axes, A.explicit_axes
E.are_all_axes_explicit, E.are_all_axes_auto, A.are_all_axes_auto, A.are_all_axes_manual
AbstractMesh((4, 2), ('x', 'y')), AbstractMesh((), ())
AbstractMesh((4, 2), ('x', 'y'), axis_types=(Type.Explicit, Type.Manual))
dict(AbstractMesh((4, 2), ('x', 'y')).shape), AbstractMesh((4, 2), ('x', 'y')).size
AbstractMesh((4, 2), ('x', 'y')) == AbstractMesh((4, 2), ('x', 'y'))
AbstractMesh((4, 2), ('x', 'y')).update_axis_types({'x': Type.Auto})
list(Type), str(Type.Auto), Type.Explicit.name
M.update(axis_types=(Type.Explicit, Type.Auto))
P(), P('x'), P(None, 'x'), P(('x', 'y'), None), P(P.UNCONSTRAINED, 'x')
P(['x', 'y']), P([]), P(()), P(('x',)), P(1), P('x', 'x')
P('x', unreduced={'y'}), P(unreduced={'y'}), P('x', reduced={'y'})
P('x', unreduced={'x'})
P('x', unreduced={'y'}, reduced={'y'})
P('x', unreduced='y')
P('x') == P('x', None), P(('x',)) == P('x'), P('x') == ('x',), hash(P('x')) == hash(P('x'))
P('x') + P('y'), P('x') + ('y',), P('x')[0], P('x', None)[1:], tuple(P('x', None)), len(P('x', None))
P('x', 'y').index('y'), P('x', None, None).count(None), str(P('x')), isinstance(P(), tuple)
P('x').update(unreduced={'y'}), P('x').update(partitions=('y',)), P('x').partitions
P('x', unreduced={'y'}, unreduced_kind=Kind.max), P(unreduced={'y'}) == P(unreduced={'y'}, unreduced_kind=Kind.min)
P('x', unreduced={'y'}, unreduced_kind='max')
P('x', unreduced_kind=Kind.sum)
P('x', unreduced={'y'}) + P('z', unreduced={'y'}), P('x') + P('z', reduced={'w'})
P('x', unreduced={'y'}) + P('z')
Manual(varying={'x'}), Manual(unreduced={'y'}).unreduced_kind, Manual(varying={'x'}).update(reduced={'y'})
Manual(varying='x')
Manual(varying={'x'}, unreduced={'x'})
Manual(varying={'x'}, reduced={'x'})
Manual(unreduced_kind=Kind.sum)
seen(lambda look: jax.shard_map(lambda a: look(jax.typeof(a).mat) or a, mesh=A, in_specs=P('x'), out_specs=P('x'))(x))
jax.typeof(x).manual_axis_type.varying
S('x'), T('x'), S(), S(('x', 'y')), S(None, 'y')
NamedSharding(E.abstract_mesh, P('x'))
NamedSharding(A, P('z'))
NamedSharding(A, P('x', 'x'))
NamedSharding(A, P('x', ('y', 'x')))
NamedSharding(A, P('x'), memory_kind='pinned_host')
NamedSharding(A, P('x'), memory_kind='nowhere')
S('x').mesh == A, S('x').spec, S('x').memory_kind, S('x').num_devices
sorted(e.id for e in S('x').device_set), len(S('x').addressable_devices), S('x').is_fully_addressable
S('x').is_fully_replicated, S().is_fully_replicated, S(None, None).is_fully_replicated
NamedSharding(Mesh(d[:1], 'x'), P('x')).is_fully_replicated
S('x') == S('x'), S('x') == S('x', None), S('x') == S(('x',)), S('x') == T('x'), len({S('x'), S('x')})
S('x').is_equivalent_to(S('x', None), 2), S('x').is_equivalent_to(S(None, 'x'), 2)
S('x').is_equivalent_to(T('x'), 2), S().is_equivalent_to(NamedSharding(Mesh(d, 'q'), P()), 1)
S('x').is_equivalent_to(Single(d[0]), 2), Single(d[0]).is_equivalent_to(S('x'), 2)
NamedSharding(Mesh(d[:1], 'q'), P()).is_equivalent_to(Single(d[0]), 2)
S(('x', 'y')).is_equivalent_to(NamedSharding(Mesh(d, 'q'), P('q')), 1)
S(('y', 'x')).is_equivalent_to(NamedSharding(Mesh(d, 'q'), P('q')), 1)
S('x', 'y').shard_shape((8, 4)), S(('x', 'y')).shard_shape((8, 4)), S().shard_shape((3,)), S().shard_shape(())
S('x').shard_shape((7, 4))
S(None, ('x', 'y')).shard_shape((8, 4))
S('x').devices_indices_map((8, 4))
S('x', 'y').devices_indices_map((8, 4))
S(('y', 'x')).devices_indices_map((8,))
S().devices_indices_map((8, 4))
S('x').addressable_devices_indices_map((8, 4))
S('x').devices_indices_map((7,))
S('x').with_memory_kind('device'), S('x').update(spec=P('y')), S('x').update(mesh=E)
Single(d[3]), Single(d[3]).is_fully_replicated, Single(d[3]).shard_shape((3, 2))
Single(d[3]).addressable_devices_indices_map((2, 3)), Single(d[3]).num_devices
make_single(d[2]), make_single(d[2]) == Single(d[2])
isinstance(S(), Sharding), isinstance(Single(d[0]), Sharding), jax.NamedSharding is NamedSharding, jax.P is P
jax.device_put(x, S('x', 'y'))
jax.device_put(x, S('x', 'y')).sharding, jax.device_put(x, T('x')).sharding
jax.device_put(x, S('x', 'y')).device, jax.device_put(x, d[1]).device
sorted(e.id for e in jax.device_put(x, S('x')).devices()), jax.device_put(x, S('x')).committed
jax.device_put(x, S('x')).is_fully_replicated, jax.device_put(x, S()).is_fully_replicated
jax.device_put(x, S('x')).is_fully_addressable, jax.device_put(x, S('x')).platform()
jax.device_put(x, S('x')).on_device_size_in_bytes(), jax.device_put(x, S('x')).shape
jax.device_put(x, S('x', 'y')).addressable_shards[3]
[(s.device, s.index, s.replica_id) for s in jax.device_put(x, S('y')).addressable_shards]
[(s.data, s.data.sharding) for s in jax.device_put(x, S('x', 'y')).global_shards]
jax.device_put(x, S('y')).addressable_data(3), jax.device_put(x, S()).addressable_data(0)
jax.device_put(jnp.arange(7.0), S('x'))
jax.device_put(jnp.arange(6.0).reshape(2, 3), S(None, 'x'))
jax.device_put(x, P('x'))
jax.device_put(x, A)
jax.device_put(x, NamedSharding(A.abstract_mesh, P('x')))
jax.device_put({'a': x, 'b': x}, {'a': S('x'), 'b': S('y')})['b'].sharding
jax.device_put((x, x), S('x'))[1].sharding
jax.device_put(jax.device_put(x, S('x')), S('y')).sharding, jax.device_put(np.ones((8, 4)), S('x')).sharding
jax.device_put(jax.device_put(x, S('x')), d[2]).sharding
jax.device_put(3.0, S()).sharding, jax.device_put(jax.random.key(0), S()).sharding
jnp.asarray(jax.device_put(x, S('x'))).sharding, jax.device_get(jax.device_put(x, S('x')))
jax.device_put(x, S('x')).tolist()[1], np.asarray(jax.device_put(x, S('x')))[2]
within(A, lambda: jax.device_put(x, P('x')).sharding), within(E, lambda: jax.device_put(x, P('x')).sharding)
within(A, lambda: jax.sharding.get_mesh() == A), within(A, lambda: jax.sharding.get_abstract_mesh())
jax.sharding.get_mesh(), jax.sharding.get_abstract_mesh()
with_abstract(E.abstract_mesh, lambda: jax.sharding.get_abstract_mesh())
with_abstract(E.abstract_mesh, lambda: jax.sharding.get_mesh())
within(A, lambda: within(E, lambda: jax.sharding.get_mesh() == E)), jax.sharding.get_mesh().empty
jax.set_mesh(3)
jax.set_mesh(E.abstract_mesh)
within(A, lambda: jnp.ones((8, 4)).sharding), within(E, lambda: jnp.ones((8, 4)).sharding)
within(A, lambda: (jnp.ones(4) + 1).sharding), within(A, lambda: jax.jit(lambda: jnp.ones(4))().sharding)
jax.make_array_from_callback((8, 4), S('x', 'y'), lambda i: np.ones((8, 4))[i]).sharding
jax.make_array_from_callback((8, 4), S('x'), lambda i: np.arange(32.0, dtype=np.float32).reshape(8, 4)[i])
jax.make_array_from_callback((8,), S('x'), lambda i: np.arange(8)[i]).addressable_shards[2].data
jax.make_array_from_callback((7,), S('x'), lambda i: np.arange(7)[i])
jax.make_array_from_callback((8,), S('x'), lambda i: np.arange(8.0)[i], dtype=jnp.float16).dtype
jax.make_array_from_callback((8,), Single(d[1]), lambda i: np.arange(8)[i]).sharding
jax.make_array_from_single_device_arrays((8,), S(('x', 'y')), [jax.device_put(jnp.arange(1) + i, e) for i, e in enumerate(d)])
jax.make_array_from_single_device_arrays((8,), S('x'), [jax.device_put(jnp.arange(2), e) for e in d]).sharding
jax.make_array_from_single_device_arrays((8,), S('x'), [jax.device_put(jnp.arange(2), e) for e in d[:4]])
jax.make_array_from_single_device_arrays((8,), S('x'), [jax.device_put(jnp.arange(3), e) for e in d])
jax.make_array_from_single_device_arrays((4,), Single(d[1]), [jax.device_put(jnp.arange(4), d[1])]).sharding
jax.make_array_from_process_local_data(S('x'), np.arange(8.0)).sharding, jax.make_array_from_process_local_data(S('x'), np.arange(8))
jax.make_array_from_process_local_data(S('x', 'y'), np.ones((8, 4)), (8, 4)).shape
jax.make_array_from_process_local_data(S('x'), np.arange(8), (16,))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(x, S('x', 'y')), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(x, S('x')), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(x, S(None, 'x')), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(x, S()), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(jnp.arange(8.0), S('x')), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(jax.device_put(jnp.arange(8.0), S(('x', 'y'))), use_color=False))
printed(lambda: jax.debug.visualize_array_sharding(x, use_color=False))
jax.debug.visualize_array_sharding(jnp.ones((2, 2, 2)))
seen(lambda look: jax.debug.inspect_array_sharding(jax.device_put(x, S('x')), callback=look))
mesh_utils.create_device_mesh((4, 2)), mesh_utils.create_device_mesh((8,), d)
mesh_utils.create_device_mesh((3, 3))
mesh_utils.create_device_mesh((2, 2), d[4:])
mesh_utils.create_device_mesh((2, 2, 2), allow_split_physical_axes=True).shape
multihost_utils.process_allgather(jnp.arange(3.0)), multihost_utils.process_allgather(jnp.arange(3.0), tiled=True)
multihost_utils.broadcast_one_to_all(jnp.arange(3)), multihost_utils.sync_global_devices('here')
multihost_utils.assert_equal(np.arange(3)), multihost_utils.process_allgather(jax.device_put(x, S('x')), tiled=True)
multihost_utils.host_local_array_to_global_array(np.arange(8.0), A, P('x')).sharding
multihost_utils.global_array_to_host_local_array(jax.device_put(x, S('x')), A, P('x')).shape
""".strip().splitlines()


def names(jax, jnp):
    """The names in the calls."""
    import contextlib
    import importlib
    import io

    def within(mesh, thunk):
        with jax.set_mesh(mesh):
            return thunk()

    def with_abstract(mesh, thunk):
        with jax.sharding.use_abstract_mesh(mesh):
            return thunk()

    def printed(thunk):
        with contextlib.redirect_stdout(io.StringIO()) as text:
            thunk()
        return [line.rstrip() for line in text.getvalue().splitlines()]

    def seen(f):
        found = []
        f(found.append)
        return found

    sharding = jax.sharding
    devices, P, named = jax.devices(), jax.P, sharding.NamedSharding
    types = (sharding.AxisType.Auto,) * 2
    auto = jax.make_mesh((4, 2), ("x", "y"), axis_types=types)
    explicit = jax.make_mesh((4, 2), ("x", "y"))
    return {
        "np": np,
        "d": devices,
        "P": P,
        "Mesh": sharding.Mesh,
        "AbstractMesh": sharding.AbstractMesh,
        "NamedSharding": named,
        "Sharding": sharding.Sharding,
        "Single": sharding.SingleDeviceSharding,
        "make_single": sharding.make_single_device_sharding,
        "Type": sharding.AxisType,
        "Kind": sharding.UnreducedKind,
        "Manual": sharding.ManualAxisType,
        "A": auto,
        "E": explicit,
        "M": sharding.Mesh(np.array(devices).reshape(4, 2), ("x", "y")),
        "S": lambda *spec: named(auto, P(*spec)),
        "T": lambda *spec: named(explicit, P(*spec)),
        "x": jnp.arange(32.0).reshape(8, 4),
        "within": within,
        "with_abstract": with_abstract,
        "printed": printed,
        "seen": seen,
        "mesh_utils": importlib.import_module(f"{jax.__name__}.experimental.mesh_utils"),
        "multihost_utils": importlib.import_module(f"{jax.__name__}.experimental.multihost_utils"),
    }
