# SPDX-License-Identifier: Apache-2.0
"""scripts/gpu-check as a module."""
import importlib.machinery
import importlib.util
import os
import pathlib
import sys

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])


def load_script():
    loader = importlib.machinery.SourceFileLoader("gpu_check_script", str(ROOT / "scripts/gpu-check"))
    sys.dont_write_bytecode = True
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module
