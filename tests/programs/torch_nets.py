# SPDX-License-Identifier: Apache-2.0
"""Small networks of PyTorch: torch_nets.py [EVENTS.json | kill]

Prints a hash of each one's results. With a file, each runs within torch.profiler, whose events go there.
With "kill" the third one kills the process in its midst."""
import hashlib
import json
import os
import sys
from signal import SIGKILL

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(3)
torch.set_num_threads(1)


def unit(inputs, outputs, stride, groups=1):
    return [nn.Conv2d(inputs, outputs, 3, stride, 1, groups=groups, bias=False),
            nn.BatchNorm2d(outputs), nn.ReLU()]


class Decoder(nn.Module):
    """A layer of a GPT."""

    def __init__(self, width=48, heads=4):
        super().__init__()
        self.heads = heads
        self.before, self.after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width, bias=False)

    def forward(self, x):
        batch, steps, width = x.shape
        parts = self.qkv(self.before(x)).view(batch, steps, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(batch, steps, width))
        return x + self.down(F.gelu(self.up(self.after(x))))


def products():
    a, b, c, d = torch.rand(7, 9), torch.rand(9, 11), torch.rand(3, 7, 9), torch.rand(3, 9, 11)
    results = [a @ b, torch.bmm(c, d), torch.baddbmm(torch.rand(3, 7, 11), c, d), torch.matmul(c, b),
               torch.addmm(torch.rand(11), a, b), a @ torch.rand(9), torch.rand(9) @ torch.rand(9),
               F.conv3d(torch.rand(1, 2, 5, 6, 7), torch.rand(4, 2, 3, 3, 3)),
               torch.rand(2, 3, 4, 5, 6, 7).sum(1), torch.cat([a, a])]
    return torch.cat([r.flatten() for r in results])


cnn = nn.Sequential(*unit(3, 16, 2), *unit(16, 32, 1, 4), nn.Conv2d(32, 24, 3, padding=2, dilation=2),
                    nn.ConvTranspose2d(24, 8, 3, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
                    nn.Linear(8, 10), nn.Softmax(-1)).eval()
encoder = nn.TransformerEncoder(nn.TransformerEncoderLayer(32, 4, 64, batch_first=True), 2).eval()
gpt = nn.Sequential(nn.Embedding(100, 48), Decoder(), Decoder(), nn.Linear(48, 100, bias=False)).eval()
lstm = nn.LSTM(16, 24, 2)
signal = nn.Sequential(nn.Conv1d(8, 16, 5), nn.Conv1d(16, 4, 3, stride=2), nn.Flatten(),
                       nn.Linear(4 * 30, 7)).eval()
half = nn.Linear(64, 32).to(torch.bfloat16)
parts = {
    'cnn': lambda x=torch.rand(2, 3, 48, 48): cnn(x),
    'encoder': lambda x=torch.rand(2, 11, 32): encoder(x),
    'gpt': lambda x=torch.randint(0, 100, (2, 13)): gpt(x),
    'lstm': lambda x=torch.rand(5, 2, 16): lstm(x)[0],
    'conv1d': lambda x=torch.rand(2, 8, 66): signal(x),
    'bf16': lambda x=torch.rand(3, 5, 64): half(x.to(torch.bfloat16)).float(),
    'products': products,
}


def run(name):
    with torch.autograd.profiler.record_function('part ' + name):
        result = parts[name]()
        if is_killed and name == list(parts)[2]:
            os.kill(os.getpid(), SIGKILL)
        return result


def profiled(name):
    from torch.profiler import ProfilerActivity, profile
    with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True) as profiler:
        result = run(name)
    return result, [told(e) for e in profiler.profiler.kineto_results.events()]


def told(event):
    """As the profiler has it; its lists for people leave out ops that are an only child of their name."""
    if hasattr(event, 'start_ns'):
        start, end = event.start_ns(), event.start_ns() + event.duration_ns()
    else:
        start, end = 1000 * event.start_us(), 1000 * (event.start_us() + event.duration_us())
    return {'name': event.name(), 'start': start, 'end': end, 'shapes': event.shapes(),
            'flops': event.flops()}


events = {}
is_killed = sys.argv[1:] == ['kill']
if is_killed:
    sys.argv.pop()
with torch.no_grad():
    for part in parts:
        if len(sys.argv) > 1:
            tensor, events[part] = profiled(part)
        else:
            tensor = run(part)
        print(part, hashlib.sha256(tensor.contiguous().numpy().tobytes()).hexdigest())
if len(sys.argv) > 1:
    with open(sys.argv[1], 'w') as file:
        json.dump(events, file)
