# SPDX-License-Identifier: Apache-2.0
"""Four convolutions and two linear layers of PyTorch, 55 times: prints a hash of the result."""
import hashlib

import torch
from torch import nn

torch.manual_seed(3)
torch.set_num_threads(1)


def unit(inputs, outputs, stride):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False), nn.BatchNorm2d(outputs),
                         nn.ReLU())


net = nn.Sequential(unit(3, 32, 2), unit(32, 64, 1), unit(64, 64, 2), unit(64, 128, 1), nn.MaxPool2d(2),
                    nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 256), nn.GELU(),
                    nn.Linear(256, 10), nn.Softmax(-1)).eval()
image = torch.rand(1, 3, 96, 96)
with torch.no_grad():
    for _ in range(55):
        result = net(image)
print(hashlib.sha256(result.numpy().tobytes()).hexdigest())
