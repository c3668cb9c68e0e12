# SPDX-License-Identifier: Apache-2.0
"""A network of PyTorch, compiled: torch_compiled.py [compile | package FILE]

Of the last call, which has labels around it, the ops are known. Prints how far it is from what it would be
uncompiled, which is nothing that one sees."""
import os
import sys

import torch
from torch import nn

torch.manual_seed(3)
torch.set_num_threads(1)
net = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 36, 64),
                    nn.GELU(), nn.Linear(64, 5), nn.Softmax(-1)).eval()
image = torch.rand(2, 3, 8, 8)


def call(function, label):
    with torch.autograd.profiler.record_function(label):
        return function(image)


with torch.no_grad():
    expected = net(image)
    if sys.argv[1] == 'compile':
        compiled = torch.compile(net)
    else:
        if not os.path.exists(sys.argv[2]):
            torch._inductor.aoti_compile_and_package(torch.export.export(net, (image,)),
                                                     package_path=sys.argv[2])
        compiled = torch._inductor.aoti_load_package(sys.argv[2])
    for _ in range(2):
        call(compiled, 'warm')
    result = call(compiled, 'part compiled')
print(float((result - expected).abs().max()) < 1e-5)
