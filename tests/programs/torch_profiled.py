# SPDX-License-Identifier: Apache-2.0
"""A program of PyTorch that profiles itself, in each way that it has: prints what its profilers counted."""
import torch
from torch.profiler import ProfilerActivity, profile, schedule

torch.manual_seed(3)
torch.set_num_threads(1)
net = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4)).eval()


def work(times):
    with torch.no_grad():
        for _ in range(times):
            net(torch.ones(2, 8))


def counts(events):
    return {e.key: (e.count, e.flops) for e in events if e.key in ('aten::linear', 'aten::addmm', 'aten::relu')}


work(3)
with profile(activities=[ProfilerActivity.CPU], record_shapes=True, with_flops=True, with_stack=True,
             profile_memory=True) as whole:
    work(10)
# how many events of memory stand alone varies between two runs of 2.2.2
print(sorted(counts(whole.key_averages()).items()), sum(e.name != '[memory]' for e in whole.events()))
with torch.autograd.profiler.profile(use_kineto=False) as old:
    work(10)
print(sorted((e.key, e.count) for e in old.key_averages()))
with profile(activities=[ProfilerActivity.CPU], schedule=schedule(wait=1, warmup=1, active=2),
             on_trace_ready=lambda ready: print(sorted(counts(ready.key_averages()).items()))) as parts:
    for _ in range(5):
        work(2)
        parts.step()
work(3)
