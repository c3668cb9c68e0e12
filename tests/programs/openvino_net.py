# SPDX-License-Identifier: Apache-2.0
"""A network of OpenVINO, ten times at once and five times asynchronously: prints a hash of the result.
Writes layers.txt: what get_profiling_info() has, with 1 where it says that it was executed; and
shapes.json: shapes of inputs and of the output of each layer that the model runs as. With an argument
it kills itself after ten."""
import hashlib
import json
import os
import signal
import sys

import numpy
import openvino
from openvino import opset13 as ops

random = numpy.random.default_rng(7)


def normal(*shape):
    return random.standard_normal(shape).astype('f4') * numpy.float32(0.1)


def convolution(value, inputs, outputs, name):
    return ops.relu(ops.convolution(value, ops.constant(normal(outputs, inputs, 3, 3)), [1, 1], [1, 1],
                                    [1, 1], [1, 1], name=name))


image = ops.parameter([1, 3, 16, 16], numpy.float32, name='image')
features = convolution(convolution(image, 3, 8, 'conv0'), 8, 4, 'conv1')
flat = ops.reshape(features, ops.constant(numpy.array([1, -1], numpy.int64)), False)
product = ops.matmul(flat, ops.constant(normal(1024, 10)), False, False, name='fc')
model = openvino.Model([ops.softmax(product, 1)], [image], 'net')
compiled = openvino.Core().compile_model(model, 'CPU', {'INFERENCE_NUM_THREADS': 1, 'PERF_COUNT': True})
request = compiled.create_infer_request()
data = normal(1, 3, 16, 16)
for _ in range(10):
    result = request.infer({0: data})
if sys.argv[1:]:
    os.kill(os.getpid(), signal.SIGKILL)
for _ in range(5):
    request.start_async({0: data})
    request.wait()
print(hashlib.sha256(result[0].tobytes()).hexdigest())
with open('layers.txt', 'w') as file:
    for layer in request.get_profiling_info():
        file.write('%d %s\n' % (layer.status == openvino.ProfilingInfo.Status.EXECUTED, layer.node_name))
with open('shapes.json', 'w') as file:
    json.dump({node.get_friendly_name(): ([list(place.get_shape()) for place in node.inputs()],
                                          list(node.output(0).get_shape()))
               for node in compiled.get_runtime_model().get_ordered_ops() if node.inputs() and node.outputs()},
              file)
