/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CUPTI as far as a receiver reads it: numbers and layouts of the toolkits 11.7 to 13.5, own
 * declarations, so that nothing of a toolkit is needed to build. CUPTI appends to its records and
 * moves nothing: a field is there where the record of the library in the process is long enough
 * (cupti_record_has()), whatever its version says. The comments in the structs say with which
 * toolkit a record ends there. Checked against the headers of a toolkit by tests/unit/cupti_layout.c
 * where there is one.
 */
#ifndef OPTRACE_BASE_CUPTI_RECORDS_H
#define OPTRACE_BASE_CUPTI_RECORDS_H

#include <stddef.h>
#include <stdint.h>

enum cupti_kind {
    CUPTI_MEMCPY = 1,
    CUPTI_MEMSET = 2,
    CUPTI_CONTEXT = 9,
    CUPTI_KERNEL = 10, /* CONCURRENT_KERNEL; the other one makes kernels run one after another */
    CUPTI_OVERHEAD = 17,
    CUPTI_MEMCPY2 = 22,
    CUPTI_EVENT = 36, /* an event is recorded on a stream */
    CUPTI_SYNC = 38,
    CUPTI_MEMORY = 49, /* MEMORY2 */
    CUPTI_POOL = 50,   /* MEMORY_POOL */
    CUPTI_GRAPH = 51,  /* GRAPH_TRACE */
    CUPTI_JIT = 52,
    CUPTI_KINDS = 64,
};

enum cupti_result {
    CUPTI_END_OF_BUFFER = 12,
    CUPTI_NOT_INITIALIZED = 15,
    CUPTI_NOT_PERMITTED = 35,
    CUPTI_TAKEN = 39,
    CUPTI_UNKNOWN = 999,
};

enum cupti_domain { CUPTI_DRIVER = 1, CUPTI_RUNTIME = 2, CUPTI_RESOURCE = 3, CUPTI_DOMAINS };

/* Ids of the domain of resources. */
enum cupti_resource_id { CUPTI_NODE_CREATED = 13, CUPTI_NODE_CLONED = 20 };

enum cupti_attribute { CUPTI_ZEROED_BUFFERS = 5 };

struct cupti_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t partitioned_requested, partitioned_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid[3], block[3], static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name; /* of CUPTI: gone when the buffer is */
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, pad;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *access_policy;
    uint32_t channel, channel_type; /* 11.7: 176 */
    uint32_t cluster[3], cluster_policy;
    uint64_t local_total_v2;                   /* 11.8: 200 */
    uint32_t max_cluster, max_active_clusters; /* 12.0: 208 */
    uint8_t device_launched, pad2[7];          /* 13.0: 216 */
    int32_t priority, pad3;                    /* 13.1: 224 */
    uint32_t execution_model, pad4;            /* 13.3: 232 */
    uint32_t source_graph, pad5;
    uint64_t source_node; /* 13.4: 248 */
};

struct cupti_memcpy {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3]; /* 11.7: 88 */
    uint64_t copy_count;              /* 12.8: 96 */
    uint32_t source_graph, pad3;
    uint64_t source_node; /* 13.4: 112 */
};

struct cupti_memcpy2 {
    uint32_t kind;
    uint8_t copy_kind, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, pad; /* 11.7: 96 */
};

struct cupti_memset {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t pad;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, pad2[3]; /* 11.7: 88 */
    uint32_t source_graph, pad3;
    uint64_t source_node; /* 13.4: 104 */
};

struct cupti_graph {
    uint32_t kind, correlation;
    uint64_t start, end;
    uint32_t device, graph, context, stream;
    void *reserved;                   /* 11.7: 48 */
    uint32_t end_device, end_context; /* 12.3: 56 */
};

struct cupti_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event; /* 11.7: 40 */
    uint64_t event_number;
    uint32_t result, pad; /* 12.8: 56 */
};

struct cupti_event {
    uint32_t kind, correlation, context, stream, event, pad; /* 11.7: 24 */
    uint32_t device, pad2;
    uint64_t reserved, device_time, number; /* 12.8: 56; 13.5 has more */
};

struct cupti_memory {
    uint32_t kind, operation; /* 1: taken, 2: given back */
    uint32_t memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, pad;
    uint32_t pool_type, pad2;
    uint64_t pool_address, release_threshold, pool_size, utilized; /* 11.7: 120 */
    uint64_t source;                                               /* 12.6: 128 */
};

struct cupti_pool {
    uint32_t kind, operation; /* 1: made, 2: destroyed, 3: trimmed */
    uint32_t pool_type, correlation, process, device;
    uint64_t kept, address, bytes, release_threshold, time, utilized; /* 11.7: 72 */
    uint8_t is_managed, pad[7];                                       /* 13.0: 80 */
};

struct cupti_jit {
    uint32_t kind, entry;       /* 1: PTX to cubin, 2: NVVM to PTX */
    uint32_t operation, device; /* 1: from the cache, 2: into it, 3: compiled */
    uint64_t start, end;
    uint32_t correlation, pad;
    uint64_t unit, bytes;
    const char *path;         /* 11.8: 64 */
    uint32_t process, thread; /* 12.4: 72 */
};

struct cupti_context {
    uint32_t kind, context, device;
    uint16_t api, null_stream; /* 11.7: 16 */
    uint32_t parent;
    uint8_t is_green, pad;
    uint16_t multiprocessors; /* 12.4: 24; the last one is padding there */
    uint32_t cig_mode, pad2;  /* 12.5: 32 */
    uint64_t process;         /* 13.1: 40 */
};

struct cupti_overhead {
    uint32_t kind, overhead_kind, object_kind;
    uint32_t object[3];
    uint64_t start, end;       /* 11.7: 40 */
    uint32_t correlation, pad; /* 12.3: 48 */
    void *data;                /* 12.4: 56; whoever reads the record is to free it */
};

/* Before and after a call of the API, on the thread that calls: 72 bytes in all toolkits. */
struct cupti_call {
    uint32_t site; /* 0 before, 1 after */
    const char *function;
    const void *params;
    void *result;
    const char *symbol; /* of a launch */
    void *context;
    uint32_t context_uid;
    uint64_t *slot;
    uint32_t correlation;
};

/* Of the domain of resources. */
struct cupti_resource {
    void *context, *stream;
    const void *data; /* struct cupti_graph_data */
};

struct cupti_graph_data {
    void *graph, *original_graph, *node, *original_node;
    uint32_t node_type;
    void *dependency, *executable;
};

typedef void cupti_callback(void *user, uint32_t domain, uint32_t id, const void *data);
typedef void cupti_request(uint8_t **out_buffer, size_t *out_bytes, size_t *out_record_limit);
typedef void cupti_complete(void *context, uint32_t stream, uint8_t *buffer, size_t bytes,
                            size_t valid);

#endif
