# SPDX-License-Identifier: Apache-2.0
"""Tensors of PyTorch that are not as others are, in ops: torch_odd.py

Prints what each comes to, so that a difference is seen."""
import threading

import torch
from torch.nn import functional as F

torch.manual_seed(5)
torch.set_num_threads(1)


class Own(torch.Tensor):
    pass


def nested():
    parts = [torch.rand(2, 3), torch.rand(4, 3)]
    strided = torch.nested.nested_tensor(parts) + 1
    jagged = torch.nested.nested_tensor(parts, layout=torch.jagged) * 2
    return strided.to_padded_tensor(0.).sum() + jagged.values().sum()


def sparse():
    rows = torch.eye(4).to_sparse()
    return torch.sparse.mm(rows, torch.rand(4, 3)).sum() + (torch.eye(4).to_sparse_csr() @ torch.rand(4, 2)).sum()


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv
    with FakeTensorMode():
        shape = (torch.rand(3, 4) @ torch.rand(4, 5)).shape
    with FakeTensorMode(shape_env=ShapeEnv()) as mode:
        symbolic = mode.from_tensor(torch.empty(5, 7), static_shapes=False)
        unknown = (symbolic @ symbolic.T).nonzero() + 1
    return '%s %d' % (tuple(shape), unknown.dim())


def traced():
    from torch.fx.experimental.proxy_tensor import make_fx
    graph = make_fx(lambda x: (x @ x.T).relu().view(-1), tracing_mode='symbolic')(torch.rand(3, 4))
    return graph(torch.rand(5, 4)).shape


def many_dims():
    return (torch.rand(1, 2, 1, 2, 1, 2, 1, 2, 1, 2) + 1).sum() + (torch.rand(0, 3) @ torch.rand(3, 4)).sum()


def refused():
    texts = []
    for call in (lambda: torch.ones(2, 3) @ torch.ones(2, 3),
                 lambda: F.conv2d(torch.ones(1, 2, 4, 4), torch.ones(1, 3, 3, 3))):
        try:
            call()
        except RuntimeError as error:
            texts.append(str(error)[:40])
    return texts


def backward():
    weights = torch.rand(4, 4, requires_grad=True)
    (weights @ weights).relu().sum().backward()
    return weights.grad.sum() + torch.func.grad(lambda x: (x ** 2).sum())(torch.rand(3)).sum()


def threads():
    def work():
        for _ in range(200):
            torch.rand(2, 8) @ torch.rand(8, 8)
    all_threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in all_threads:
        thread.start()
    for thread in all_threads:
        thread.join()
    return 'ended'


parts = {
    'nested': nested, 'sparse': sparse, 'fake': fake, 'traced': traced, 'many dims': many_dims,
    'refused': refused, 'backward': backward, 'threads': threads,
    'undefined': lambda: F.conv2d(torch.rand(1, 3, 8, 8), torch.rand(4, 3, 3, 3), None).sum(),
    'quantized': lambda: torch.quantize_per_tensor(torch.rand(3, 3), 0.1, 0, torch.quint8).dequantize().sum(),
    'mkldnn': lambda: (torch.ones(2, 3).to_mkldnn() + torch.ones(2, 3).to_mkldnn()).to_dense().sum(),
    'meta': lambda: (torch.rand(3, 4, device='meta') @ torch.rand(4, 5, device='meta')).shape,
    'complex': lambda: (torch.ones(2, 2, dtype=torch.complex64) @ torch.ones(2, 2, dtype=torch.complex64)).abs(),
    'vmap': lambda: torch.vmap(torch.mm)(torch.ones(2, 3, 4), torch.ones(2, 4, 5)).sum(),
    'subclass': lambda: (Own(torch.ones(3)) + 1).sum(),
}
for name, part in parts.items():
    with torch.autograd.profiler.record_function('part ' + name):
        print(name, part(), flush=True)
