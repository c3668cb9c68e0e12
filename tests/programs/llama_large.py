# SPDX-License-Identifier: Apache-2.0
"""A model for llama.cpp as llama_model.py makes one, of 77 MB, so that its products take the time that they take
in models that people use: llama_large.py FILE."""
import array

import llama_model as model

model.WIDTH, model.HEADS, model.KV_HEADS, model.LAYERS, model.INNER = 512, 8, 4, 6, 1536
numbers = array.array('f', (model.random_numbers.uniform(-0.05, 0.05) for _ in range(65521)))


def values(name, dims):
    count = 1
    for dim in dims:
        count *= dim
    if 'norm' in name:
        return array.array('f', [1.0] * count)
    return (numbers * (count // len(numbers) + 1))[:count]


model.values = values

if __name__ == '__main__':
    model.main()
