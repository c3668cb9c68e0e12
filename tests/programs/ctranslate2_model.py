# SPDX-License-Identifier: Apache-2.0
"""A decoder for CTranslate2, small and without sense: ctranslate2_model.py FOLDER"""
import os
import sys

import ctranslate2
import numpy
from ctranslate2.specs import common_spec, transformer_spec

WIDTH, INNER, TOKENS = 128, 256, 300
random = numpy.random.default_rng(7)


def normal(*shape):
    return (random.standard_normal(shape) * 0.05).astype('f4')


def norm(spec):
    spec.gamma = numpy.ones(WIDTH, 'f4')
    spec.beta = numpy.zeros(WIDTH, 'f4')


def dense(spec, outputs, inputs):
    spec.weight = normal(outputs, inputs)
    spec.bias = numpy.zeros(outputs, 'f4')


model = transformer_spec.TransformerDecoderModelSpec.from_config(
    2, 4, pre_norm=True, activation=common_spec.Activation.RELU)
decoder = model.decoder
decoder.embeddings.weight = normal(TOKENS, WIDTH)
decoder.scale_embeddings = False
decoder.position_encodings.encodings = normal(128, WIDTH)
norm(decoder.layer_norm)
dense(decoder.projection, TOKENS, WIDTH)
for layer in decoder.layer:
    norm(layer.self_attention.layer_norm)
    dense(layer.self_attention.linear[0], 3 * WIDTH, WIDTH)
    dense(layer.self_attention.linear[1], WIDTH, WIDTH)
    norm(layer.ffn.layer_norm)
    dense(layer.ffn.linear_0, INNER, WIDTH)
    dense(layer.ffn.linear_1, WIDTH, INNER)
model.register_vocabulary(['<unk>', '<s>', '</s>'] + ['t%d' % i for i in range(TOKENS - 3)])
model.config.bos_token, model.config.eos_token, model.config.unk_token = '<s>', '</s>', '<unk>'
model.validate()
os.makedirs(sys.argv[1], exist_ok=True)
model.save(sys.argv[1])
