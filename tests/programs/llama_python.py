# SPDX-License-Identifier: Apache-2.0
"""llama.cpp in Python: llama_python.py FOLDER [kill]; prints a hash of 24 tokens, or dies after eight."""
import hashlib
import os
import signal
import sys

import llama_cpp

model = llama_cpp.Llama(os.path.join(sys.argv[1], 'model.gguf'), n_ctx=256, n_threads=1, n_threads_batch=1,
                        verbose=False, seed=1)
tokens = []
for token in model.generate([1] + [3 + ord(c) for c in 'a b a b'], temp=0.0):
    tokens.append(token)
    if len(tokens) == 8 and len(sys.argv) > 2:
        os.kill(os.getpid(), signal.SIGKILL)
    if len(tokens) == 24:
        break
print(len(tokens), hashlib.sha256(repr(tokens).encode()).hexdigest())
