# SPDX-License-Identifier: Apache-2.0
"""A function, a model of Keras and a session, five times each. With "profile" under TensorFlow's own profiler, of
which it prints the kernels, {"NODE:TYPE": how often}: what has run outside of functions and sessions aside."""
import collections
import glob
import json
import os
import sys
import tempfile

os.environ['TF_CPP_MIN_LOG_LEVEL'] = '3'
os.environ['TF_NUM_INTEROP_THREADS'] = '1'
import numpy
import tensorflow
from tensorflow.compat import v1

numbers = numpy.random.default_rng(7)
rows = tensorflow.constant(numbers.standard_normal((2, 8)).astype('f4'))
image = tensorflow.constant(numbers.standard_normal((1, 8, 8, 3)).astype('f4'))
weights = tensorflow.constant(numbers.standard_normal((8, 4)).astype('f4'))
filters = tensorflow.constant(numbers.standard_normal((3, 3, 3, 4)).astype('f4'))


@tensorflow.function
def net(x, y):
    z = tensorflow.nn.relu(tensorflow.matmul(x, weights))
    return tensorflow.reduce_sum(z) + tensorflow.reduce_sum(tensorflow.nn.conv2d(y, filters, 1, 'SAME'))


layers = tensorflow.keras.layers
model = tensorflow.keras.Sequential([
    layers.Input((8, 8, 3)), layers.Conv2D(4, 3, activation='relu'), layers.MaxPooling2D(), layers.Flatten(),
    layers.Dense(5), layers.Softmax()])
keras = tensorflow.function(lambda value: model(value, training=False))
graph = v1.Graph()
with graph.as_default():
    place = v1.placeholder(tensorflow.float32, (6, 5), name='place')
    product = v1.matmul(place, v1.constant(numpy.ones((5, 2), 'f4')), name='mm')
    answer = v1.nn.softmax(v1.nn.tanh(product, name='tanh'), name='answer')
session = v1.Session(graph=graph)


def work():
    for _ in range(5):
        net(rows, image)
        keras(image)
        session.run(answer, {place: numpy.ones((6, 5), 'f4')})


def kernels(folder):
    from tensorflow.tsl.profiler.protobuf import xplane_pb2
    space = xplane_pb2.XSpace()
    with open(glob.glob(folder + '/**/*.xplane.pb', recursive=True)[0], 'rb') as file:
        space.ParseFromString(file.read())
    counts = collections.Counter()
    for plane in space.planes:
        for line in plane.lines:
            counts.update(plane.event_metadata[event.metadata_id].name for event in line.events)
    return {name: count for name, count in counts.items()
            if name.count(':') == 1 and ' ' not in name and name[0] != ':' and name[-1] != ':'}


profiler = tensorflow.profiler.experimental
with tempfile.TemporaryDirectory() as folder:
    if sys.argv[1:]:
        profiler.start(folder, options=profiler.ProfilerOptions(host_tracer_level=3, python_tracer_level=0))
    work()
    if sys.argv[1:]:
        profiler.stop()
        print(json.dumps(kernels(folder)))
