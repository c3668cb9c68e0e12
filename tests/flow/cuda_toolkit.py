#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Where scripts/get-cuda has fetched a toolkit: the layouts of CUPTI's records against its headers, a
program of nvcc recorded over the double, and the real libcupti in a process without a device."""
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(os.environ["OPTRACE_SOURCE_ROOT"])
BUILD = pathlib.Path(os.environ["OPTRACE_BUILD_ROOT"])
DOUBLE = BUILD / "tests" / "support"
SKIPPED = 77
failures = []


def run(*words, **environment):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, check=False,
                          env=dict(os.environ, **environment))


def expect(condition, what):
    if not condition:
        failures.append(what)


RECORDS = (("KERNEL", "Kernel"), ("MEMCPY", "Memcpy"), ("MEMSET", "Memset"), ("GRAPH", "GraphTrace"),
           ("SYNC", "Synchronization"), ("MEMORY", "Memory"), ("OVERHEAD", "Overhead"),
           ("EVENT", "CudaEvent"), ("CONTEXT", "Context"), ("POOL", "MemoryPool"), ("JIT", "Jit"))


def newest(include, name):
    """The struct of a name with the highest number: what the library writes."""
    text = "".join(path.read_text() for path in include.glob("cupti_activity*.h"))
    numbers = [int(number or 1) for number in re.findall(rf"\}} ?{name}(\d*);", text)]
    return f"{name}{max(numbers) if max(numbers) > 1 else ''}"


def sizes_of(version):
    """How long records are that the double writes as this toolkit, in the order of RECORDS."""
    text = (ROOT / "tests/support/cuda/toolkits.c").read_text()
    return re.search(rf'\{{"{re.escape(version)}", *\d+, *([\d, ]+)\}}', text).group(1).split(",")


def check_layout(toolkit, include, version, folder, source):
    words = ["gcc", "-std=c11", "-fsyntax-only", f"-I{ROOT}", "-isystem", include, "-isystem",
             toolkit / "include"]
    for (macro, name), size in zip(RECORDS, sizes_of(version)):
        if int(size) > 0: # 0: it has no such record yet
            words.append(f"-DLAYOUT_{macro}={newest(include, 'CUpti_Activity' + name)}")
        words.append(f"-DSIZE_{macro}={size.strip()}")
    path = folder / "layout.c"
    path.write_text(source)
    return run(*words, path)


def check_layouts(toolkit, folder):
    source = (ROOT / "tests/support/cuda/layout.c").read_text()
    places = {"13.5": toolkit / "include"}
    for folder_of in (toolkit / "history").glob("*.*"): # 11.7 has them elsewhere
        places[folder_of.name] = next(path for path in (folder_of / "include", folder_of / "extras/CUPTI/include")
                                      if (path / "cupti.h").exists())
    for version, include in places.items():
        done = check_layout(toolkit, include, version, folder, source)
        expect(done.returncode == 0, f"layouts of {version} differ: {done.stderr[:500]}")
    print(f"headers of {', '.join(sorted(places))}")
    wrong = source.replace("correlation, LAYOUT_KERNEL, correlationId", "correlation, LAYOUT_KERNEL, contextId")
    expect(wrong != source and
           check_layout(toolkit, toolkit / "include", "13.5", folder, wrong).returncode != 0,
           "a field that lies elsewhere is not noticed")
    longer = source.replace("SIZE_KERNEL, \"", "SIZE_KERNEL + 8, \"")
    expect(longer != source and
           check_layout(toolkit, toolkit / "include", "13.5", folder, longer).returncode != 0,
           "a record of another length is not noticed")


def count(store, sql):
    with sqlite3.connect(store) as connection:
        return connection.execute(sql).fetchone()[0]


def build_program(toolkit, folder, runtime):
    """With the double's runtime as a shared library, or with that of the double linked in."""
    program = folder / f"two_kernels_{runtime}"
    words = [toolkit / "bin/nvcc", "-cudart", runtime, "-gencode", "arch=compute_75,code=sm_75", "-o", program,
             ROOT / "tests/support/cuda/two_kernels.cu"]
    if runtime == "none":
        done = run("gcc", "-std=gnu11", "-D_GNU_SOURCE", f"-I{ROOT}", "-c", "-o", folder / "runtime.o",
                   ROOT / "tests/support/cuda/runtime.c")
        expect(done.returncode == 0, f"runtime.c: {done.stderr[:500]}")
        words += [folder / "runtime.o", "-Xlinker", DOUBLE / "libcuda.so.1"]
    done = run(*words)
    expect(done.returncode == 0, f"nvcc -cudart {runtime}: {done.stderr[:500]}")
    return program


def check_program(toolkit, folder, runtime):
    program, store = build_program(toolkit, folder, runtime), folder / f"{runtime}.db"
    if not program.exists():
        return
    place = {"LD_LIBRARY_PATH": str(DOUBLE), "CUDA_DOUBLE_KERNELS": "shift=40000", "OPTRACE_MAX_COST": "100"}
    alone = run(program, **place)
    done = run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "-o", store, "--",
               program, **place)
    expect((alone.returncode, alone.stdout) == (0, "200 launches\n"), f"alone: {alone}")
    expect((done.returncode, done.stdout, done.stderr) == (0, alone.stdout, alone.stderr),
           f"recorded: {done}")
    on_device = "SELECT count(*) FROM v_event WHERE lane_kind = 'stream' AND op_type = 'kernel' AND "
    expect(count(store, on_device + "op_name = 'void scale<float>(float*, float)'") == 100,
           "scale is not there under the name that its source has")
    expect(count(store, on_device + "op_name = 'shift' AND dur_ns = 40000") == 100, "shift is not there")
    expect(count(store, "SELECT count(*) FROM v_event d JOIN v_event h USING (correlation) WHERE"
                        " d.op_type = 'kernel' AND h.op_type = 'cuda_runtime'") == 200,
           "kernels lack their launch")


def check_real_libraries(toolkit, folder):
    """A libcupti of NVIDIA's without a driver of theirs: the program is as before, and says nothing. With no
    libcuda at all none is called; over one that is not NVIDIA's 13.2 is not, and the others refuse."""
    program, bare = BUILD / "tests/flow/inject_cupti_program", folder / "bare"
    done = run("gcc", "-o", bare, ROOT / "tests/support/cuda/bare.c", "-ldl")
    expect(done.returncode == 0, f"bare.c: {done.stderr[:500]}")
    places = {"13.5": toolkit / "lib"}
    places.update({path.parent.name: path for path in (toolkit / "history").glob("*/lib")})
    for version, place in places.items():
        library = next(path for path in sorted(place.glob("libcupti.so.*")) if path.name != "libcupti.so")
        store = folder / f"bare-{version}.db"
        done = run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "-o", store, "--", bare,
                   library, OPTRACE_CUPTI=str(library))
        expect((done.returncode, done.stdout, done.stderr) == (0, "1\n", ""), f"bare with {library}: {done}")
        expect(count(store, "SELECT count(*) FROM v_event WHERE op_name = 'CUDA: only the host is recorded:"
                            " there is no driver in the process'") == 1, f"{version}: it is not said")
        store = folder / f"r-{version}.db"
        done = run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "-o", store, "--",
                   program, "kernels", OPTRACE_CUPTI=str(library),
                   ASAN_OPTIONS="detect_leaks=0") # some lose a byte in cuptiSubscribe()
        expect((done.returncode, done.stdout, done.stderr) == (0, "same 1\n", ""), f"with {library}: {done}")
        expect(count(store, "SELECT count(*) FROM v_event WHERE op_name LIKE 'CUDA: only the host%'") == 1,
               f"{version}: it is not said that the host alone is recorded")
        if version == "13.2": # which ends the process where it is called
            expect(count(store, "SELECT count(*) FROM v_event WHERE op_name LIKE '%does not survive a libcuda%'") == 1,
                   "13.2: it is not said that it was not called")
    print(f"libcupti of {', '.join(sorted(places))}")


LIBRARIES = (("libcublas.so.13", "cublasCreate_v2", "cuBLAS"), ("libcublasLt.so.13", "cublasLtCreate", "cuBLAS"),
             ("libcudnn.so.9", "cudnnCreate", "cuDNN"), ("libnccl.so.2", "ncclGroupStart", "NCCL"))


def check_libraries(toolkit, folder):
    """With the second list: our numbers of cuDNN, and calls of NVIDIA's libraries by name, which fail here."""
    if not all((toolkit / "lib" / library).exists() for library, _, _ in LIBRARIES):
        print("without cuBLAS, cuDNN and NCCL; scripts/get-cuda --libraries fetches them")
        return
    done = run("gcc", "-std=c11", "-fsyntax-only", "-isystem", toolkit / "include",
               ROOT / "tests/support/cuda/layout_cudnn.c")
    expect(done.returncode == 0, f"cuDNN's numbers differ: {done.stderr[:500]}")
    program, store = folder / "libraries", folder / "l.db"
    done = run("gcc", "-o", program, ROOT / "tests/support/cuda/libraries.c", "-ldl")
    expect(done.returncode == 0, f"libraries.c: {done.stderr[:500]}")
    calls = [word for library, function, _ in LIBRARIES for word in (library, function)]
    place = {"LD_LIBRARY_PATH": str(toolkit / "lib")}
    alone = run(program, *calls, **place)
    done = run(BUILD / "client/cli/optrace", "run", "--quiet", "--force", "--gpu", "graph", "-o", store, "--", program,
               *calls, **place)
    expect(len(alone.stdout.splitlines()) == len(LIBRARIES), f"libraries alone: {alone}")
    expect((done.returncode, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr),
           f"libraries recorded: {done}, alone: {alone}")
    for _, function, domain in LIBRARIES:
        expect(count(store, "SELECT count(*) FROM v_event e JOIN op o USING (op_id) WHERE o.type = 'label' AND"
                            f" o.name = '{function}' AND json_extract(o.params, '$.domain') = '{domain}'") == 1,
               f"{function} is not told by NVTX")
    done = run(BUILD / "client/cli/optrace", "run", "--quiet", "-o", folder / "z.db", "--", program, *calls[:2],
               CUBLAS_NVTX_LEVEL="0", **place)
    expect(done.returncode == 0 and count(folder / "z.db", "SELECT count(*) FROM v_event") == 0,
           f"a level that is set is not left as it is: {done}")


def main():
    done = run(sys.executable, ROOT / "scripts/get-cuda", "--print",
               *([os.environ["OPTRACE_CUDA_TOOLKIT"]] if "OPTRACE_CUDA_TOOLKIT" in os.environ else []))
    if done.returncode != 0:
        print("skipped: no toolkit; scripts/get-cuda fetches one")
        return SKIPPED
    toolkit = pathlib.Path(done.stdout.strip())
    with tempfile.TemporaryDirectory() as name:
        check_layouts(toolkit, pathlib.Path(name))
        check_program(toolkit, pathlib.Path(name), "shared")
        check_program(toolkit, pathlib.Path(name), "none")
        check_real_libraries(toolkit, pathlib.Path(name))
        check_libraries(toolkit, pathlib.Path(name))
    print("\n".join(failures) or "ok")
    return 1 if failures else 0


sys.exit(main())
