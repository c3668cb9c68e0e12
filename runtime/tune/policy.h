/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What timing kernels has found, in memory and in the file of --fast-run-algo-policy.
 *
 * An entry is a machine, an operation (operator, shapes, parameters; tune_key() makes it) and the
 * kernels that were timed on it. The file is text, for people to read and to compare:
 *
 *     optrace-policy 2
 *     machine AMD EPYC 9B45, avx512_core, 2 threads, oneDNN 2.6.3, optrace 0.1.0
 *     op Conv pads={1,1,1,1} | float32 {1,64,56,56} ...
 *     time 399812 294912 winograd4:avx512
 *     agrees 81d29b7c0e4f6a35
 *     time 887730 0 dnnl:brgconv:avx512_core
 *     agrees 0c66f3d1827be94a
 *     checksum 3a5e8a1e6c1f0b52
 *
 * Operations belong to the machine above them, times (nanoseconds, bytes of scratch, kernel) to the
 * operation above. A time may be followed by what comparing the kernel's output with the
 * reference's has found, "agrees" or "differs", and the mark of who found it: tune_mark(). Files of
 * version 1 are the same without. The checksum is FNV-1a, 64 bits, of all bytes before its line,
 * which is the last.
 */
#ifndef OPTRACE_RUNTIME_TUNE_POLICY_H
#define OPTRACE_RUNTIME_TUNE_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/diag.h"

enum {
    POLICY_VERSION = 2,
    POLICY_NAME_BYTES = 48, /* of a kernel */
    POLICY_TIMES_MAX = 16,  /* of one operation */
    POLICY_LINE_BYTES = 4096,
    POLICY_FILE_BYTES = 16 << 20,
    POLICY_ENTRIES_MAX = 20000,
};

enum policy_verdict { POLICY_NOT_COMPARED, POLICY_AGREES, POLICY_DIFFERS };

struct policy_time {
    char name[POLICY_NAME_BYTES];
    uint64_t time_ns, workspace_bytes;
    enum policy_verdict verdict;
    uint64_t mark; /* 0 where not compared */
};

struct policy_entry {
    char *machine, *key; /* owned */
    uint64_t hash;       /* of both */
    int count;
    struct policy_time times[POLICY_TIMES_MAX];
};

/** {0} is empty. */
struct policy {
    ARRAY_OF(struct policy_entry) entries;
};

/** Add what the bytes of a file say. -EINVAL with a sentence that begins with `name`: no such file,
 *  a newer version, truncated, damaged; -ENOMEM. What was read before stays. Outside of its
 *  file, for tests. */
int policy_decode(struct policy *policy, const char *bytes, size_t size, const char *name,
                  struct diag *diag);

/** The caller frees *out_bytes. -ENOMEM. Outside of its file, for tests. */
int policy_encode(const struct policy *policy, char **out_bytes, size_t *out_size);

/** -ENOENT, or errors of file_read() and policy_decode(). Outside of its file, for tests. */
int policy_load(struct policy *policy, const char *path, struct diag *diag);

/**
 * policy_load(), of a file that need not be there yet where `makes` says that this run will make it:
 * then whether it can be written is found out now.
 *
 * Returns 0; 1: it is not there; -ENOENT: it is not there, and nothing would make it; errors of
 * policy_load() and policy_save().
 */
int policy_open(struct policy *policy, const char *path, bool makes, struct diag *diag);

/** Write a new file beside it and put it in its place: who reads sees the old one or the new one.
 *  A negative errno with a sentence; the old file is as it was then. */
int policy_save(const struct policy *policy, const char *path, struct diag *diag);

/** NULL when there is none. Valid until the next policy_put(). */
const struct policy_entry *policy_find(const struct policy *policy, const char *machine,
                                       const char *key);

/** Add an entry or put it in the place of the one with its machine and key. Neither text may hold
 *  control characters. -ENOMEM; -ENOSPC when there are POLICY_ENTRIES_MAX. */
int policy_put(struct policy *policy, const char *machine, const char *key,
               const struct policy_time *times, int count);

/** FNV-1a, 64 bits, of some more bytes; begin with POLICY_HASH_START. */
#define POLICY_HASH_START UINT64_C(0xcbf29ce484222325)
uint64_t policy_hash(uint64_t hash, const void *bytes, size_t size);

void policy_deinit(struct policy *policy);

#endif
