# SPDX-License-Identifier: Apache-2.0
"""Networks drawn at random, each profiled with switches drawn at random: the trace that PyTorch writes,
and what key_averages() holds of the same recording.

    torch_random.py FIRST LAST FOLDER"""
import json
import os
import random
import sys
import threading

import torch
from torch import nn
from torch._C._profiler import _ExperimentalConfig
from torch.profiler import ProfilerActivity, profile, record_function, schedule

GROUPS = ({}, {'group_by_input_shape': True}, {'group_by_stack_n': 5})


def deep(depth):
    return deep(depth - 1) if depth else 1.0


def python_work(times):
    return sum(deep(i % 3) for i in range(times))


class Leaf(nn.Module):
    def __init__(self, draw, size):
        super().__init__()
        self.kind = draw.choice(['linear', 'norm', 'gelu', 'perceptron', 'encoder', 'lstm', 'convolution'])
        if self.kind == 'linear':
            self.inner = nn.Linear(size, size)
        elif self.kind == 'norm':
            self.inner = nn.LayerNorm(size)
        elif self.kind == 'gelu':
            self.inner = nn.GELU()
        elif self.kind == 'perceptron':
            self.inner = nn.Sequential(nn.Linear(size, 2 * size), nn.ReLU(), nn.Linear(2 * size, size))
        elif self.kind == 'encoder':
            self.inner = nn.TransformerEncoderLayer(size, 4, 2 * size, batch_first=True)
        elif self.kind == 'lstm':
            self.inner = nn.LSTM(size, size, batch_first=True)
        else:
            self.inner = nn.Conv1d(size, size, 3, padding=1)

    def forward(self, x):
        if self.kind == 'lstm':
            return self.inner(x)[0]
        if self.kind == 'convolution':
            return self.inner(x.transpose(1, 2)).transpose(1, 2)
        return self.inner(x)


class Node(nn.Module):
    def __init__(self, draw, size, depth):
        super().__init__()
        self.inner = nn.ModuleList([
            Node(draw, size, depth - 1) if depth and draw.random() < 0.5 else Leaf(draw, size)
            for _ in range(draw.randint(1, 3))])
        self.label = draw.choice([None, None, 'block', 'block', 'outer'])
        self.work = draw.choice([0, 0, 5, 50])
        self.is_in_place = draw.random() < 0.3

    def forward(self, x):
        if not self.label:
            return self.through(x)
        with record_function(self.label):
            return self.through(x)

    def through(self, x):
        for module in self.inner:
            x = module(x)
            python_work(self.work)
            if self.is_in_place:
                x = x.clone().mul_(0.5)
        return x + x.sum() * 1e-9


class Program:
    """A network, and what a step of it does: infer, train, or take gradients of gradients."""

    def __init__(self, draw):
        size = draw.choice([16, 32])
        self.net = Node(draw, size, draw.randint(0, 3))
        self.data = torch.randn(draw.randint(1, 4), draw.randint(2, 12), size)
        self.way = draw.choice(['infer', 'train', 'train', 'twice'])
        self.has_thread = draw.random() < 0.3
        parameters = list(self.net.parameters())
        self.optimizer = torch.optim.SGD(parameters, lr=0.01) if parameters else None

    def step(self):
        thread = threading.Thread(target=lambda: torch.mm(torch.ones(8, 8), torch.ones(8, 8)))
        if self.has_thread:
            thread.start()
        if self.way == 'infer':
            with torch.no_grad():
                self.net(self.data)
        else:
            self.train()
        if self.has_thread:
            thread.join()

    def train(self):
        x = self.data.clone().requires_grad_()
        with record_function('forward'):
            loss = self.net(x).square().mean()
        if self.way == 'twice':
            gradient, = torch.autograd.grad(loss, x, create_graph=True)
            loss = loss + gradient.square().sum()
        loss.backward()
        if self.optimizer:
            self.optimizer.step()
            self.optimizer.zero_grad()


def tables(profiler):
    """By grouping: all rows, and what stands under the table."""
    found = {}
    for grouping in GROUPS:
        averages = profiler.key_averages(**grouping)
        found[','.join(grouping) or 'name'] = {
            'table': averages.table(row_limit=1),
            'rows': [{'key': row.key, 'count': row.count, 'self_cpu': row.self_cpu_time_total,
                      'cpu': row.cpu_time_total, 'mem': row.cpu_memory_usage,
                      'self_mem': row.self_cpu_memory_usage, 'flops': row.flops,
                      'shapes': row.input_shapes, 'stack': list(row.stack or []),
                      'is_user': row.is_user_annotation} for row in averages]}
    return found


def record(seed, stem):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    program = Program(draw)
    program.step()
    steps = draw.randint(1, 3)
    switches = {name: draw.random() < 0.6
                for name in ('record_shapes', 'with_stack', 'profile_memory', 'with_flops')}
    if draw.random() < 0.4:
        switches['experimental_config'] = _ExperimentalConfig(verbose=True)
    warmups = int(draw.random() < 0.3)
    if warmups:
        switches['schedule'] = schedule(wait=0, warmup=warmups, active=steps, repeat=1)
    with profile(activities=[ProfilerActivity.CPU], **switches) as profiler:
        for _ in range(warmups + steps):
            program.step()
            if warmups:
                profiler.step()
    profiler.export_chrome_trace(stem + '.json')
    with open(stem + '.tables.json', 'w', encoding='utf-8') as file:
        json.dump(tables(profiler), file)


torch.set_num_threads(1)
for number in range(int(sys.argv[1]), int(sys.argv[2]) + 1):
    record(number, os.path.join(sys.argv[3], str(number)))
