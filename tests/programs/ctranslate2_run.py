# SPDX-License-Identifier: Apache-2.0
"""What a small decoder of CTranslate2 says: ctranslate2_run.py FOLDER [TYPE | kill]"""
import os
import sys
from signal import SIGKILL

import ctranslate2

is_killed = sys.argv[2:] == ['kill']
generator = ctranslate2.Generator(sys.argv[1], device='cpu', intra_threads=1, inter_threads=1,
                                  compute_type='float32' if is_killed else (sys.argv + ['float32'])[2])
for start in (['<s>', 't1', 't2', 't3'], ['<s>', 't9']):
    for result in generator.generate_batch([start], max_length=12, min_length=12, sampling_topk=1):
        print(result.sequences_ids[0])
    if is_killed:
        sys.stdout.flush()
        os.kill(os.getpid(), SIGKILL)
try:
    generator.forward_batch([['no such word' * 9] * 500])  # more than it has positions for
except (RuntimeError, ValueError) as error:
    print(type(error).__name__)
for result in generator.generate_batch([['<s>', 't4']], max_length=3, min_length=3, beam_size=2):
    print(result.sequences_ids[0])
