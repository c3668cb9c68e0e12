# SPDX-License-Identifier: Apache-2.0
"""A network of OpenVINO in two streams, forty times by two requests that are under way at once: prints a hash
of the results. Writes layers.txt: what get_profiling_info() has, with 1 where it says that it was executed."""
import hashlib

import numpy
import openvino
from openvino import opset13 as ops

random = numpy.random.default_rng(7)


def normal(*shape):
    return random.standard_normal(shape).astype('f4') * numpy.float32(0.1)


def convolution(value, inputs, outputs, name):
    return ops.relu(ops.convolution(value, ops.constant(normal(outputs, inputs, 3, 3)), [1, 1], [1, 1],
                                    [1, 1], [1, 1], name=name))


image = ops.parameter([1, 3, 64, 64], numpy.float32, name='image')
features = convolution(convolution(image, 3, 16, 'conv0'), 16, 16, 'conv1')
flat = ops.reshape(features, ops.constant(numpy.array([1, -1], numpy.int64)), False)
product = ops.matmul(flat, ops.constant(normal(16 * 64 * 64, 10)), False, False, name='fc')
model = openvino.Model([ops.softmax(product, 1)], [image], 'net')
compiled = openvino.Core().compile_model(model, 'CPU', {
    'INFERENCE_NUM_THREADS': 2, 'NUM_STREAMS': 2, 'PERF_COUNT': True})
requests = [compiled.create_infer_request() for _ in range(2)]
data = [normal(1, 3, 64, 64) for _ in requests]
digest = hashlib.sha256()
for _ in range(20):
    for request, array in zip(requests, data):
        request.start_async({0: array})
    for request in requests:
        request.wait()
        digest.update(request.get_output_tensor().data.tobytes())
print(digest.hexdigest())
with open('layers.txt', 'w') as file:
    for layer in requests[0].get_profiling_info():
        file.write('%d %s\n' % (layer.status == openvino.ProfilingInfo.Status.EXECUTED, layer.node_name))
