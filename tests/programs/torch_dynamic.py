# SPDX-License-Identifier: Apache-2.0
"""A network of PyTorch compiled once for all sizes: torch_dynamic.py [BACKEND]

Prints how many graphs that took: whoever asks tensors for their sizes meanwhile has more of them made."""
import sys

import torch
import torch._dynamo.utils

torch.manual_seed(3)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()
compiled = torch.compile(net, dynamic=True, backend=(sys.argv + ['aot_eager'])[1])
with torch.no_grad():
    for rows in (3, 5, 7, 12):
        print(float((compiled(torch.ones(rows, 8)) - net(torch.ones(rows, 8))).abs().max()) < 1e-5)
print(dict(torch._dynamo.utils.counters['stats']), dict(torch._dynamo.utils.counters['frames']))
