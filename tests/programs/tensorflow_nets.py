# SPDX-License-Identifier: Apache-2.0
"""A function 20 times, another with convolutions of the same names 4 times, an eager product 3 times, a convolution
twice, a session 5 times; prints hashes of results. With "kill" it kills itself after the first function."""
import hashlib
import os
import signal
import sys

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
import numpy
import tensorflow
from tensorflow.compat import v1

random = numpy.random.default_rng(7)
weights = tensorflow.constant(random.standard_normal((8, 4)).astype('f4'))
filters = tensorflow.constant(random.standard_normal((3, 3, 3, 4)).astype('f4'))
widen = tensorflow.constant(random.standard_normal((3, 3, 2, 3)).astype('f4'))
bias = tensorflow.constant(random.standard_normal(4).astype('f4'))
rows = tensorflow.constant(random.standard_normal((2, 8)).astype('f4'))
image = tensorflow.constant(random.standard_normal((1, 6, 6, 3)).astype('f4'))


@tensorflow.function
def net(x, y):
    return tensorflow.nn.relu(tensorflow.matmul(x, weights)), tensorflow.nn.conv2d(y, filters, 1, 'SAME')


@tensorflow.function
def halved(y):
    return (tensorflow.nn.conv2d(y, filters, 2, 'VALID'),
            tensorflow.nn.conv2d_transpose(y, widen, (1, 12, 12, 2), 2, 'SAME'),
            tensorflow.nn.relu(tensorflow.nn.bias_add(tensorflow.nn.conv2d(y, filters, 1, 'VALID'), bias)))


def show(*arrays):
    print(*(hashlib.sha256(numpy.ascontiguousarray(a).tobytes()).hexdigest() for a in arrays))


for _ in range(20):
    results = net(rows, image)
show(*(r.numpy() for r in results))
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
for _ in range(4):
    results = halved(image)
show(*(r.numpy() for r in results))
for _ in range(3):
    product = tensorflow.matmul(rows, weights)
show(product.numpy())
for _ in range(2):
    features = tensorflow.nn.conv2d(image, filters, 2, 'SAME')
show(features.numpy())
with v1.Graph().as_default(), v1.Session() as session:
    place = v1.placeholder(tensorflow.float32, (6, 5))
    answer = v1.nn.softmax(v1.matmul(place, v1.constant(random.standard_normal((5, 2)).astype('f4')),
                                     name='mm'))
    for _ in range(5):
        show(session.run(answer, {place: numpy.ones((6, 5), 'f4')}))
