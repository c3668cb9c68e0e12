#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Matrix products of NumPy, which knows nothing of optrace. To record them:

    optrace run -o products.db -- python3 numpy_products.py
    profile_analyze products.db --order-by computation
"""
import hashlib

import numpy

random = numpy.random.default_rng(1)
digest = hashlib.sha256()


def matrix(rows, columns):
    return random.standard_normal((rows, columns))


a, b = matrix(300, 100), matrix(100, 200)
for _ in range(10):
    digest.update(a @ b)
batch = random.standard_normal((8, 64, 32)).astype(numpy.float32)
digest.update(numpy.matmul(batch, matrix(32, 48).astype(numpy.float32)))
c, d = matrix(40, 20) + 1j * matrix(40, 20), matrix(20, 30) + 1j * matrix(20, 30)
for _ in range(3):
    digest.update(numpy.dot(c, d))
print(digest.hexdigest())
