/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Holds our layouts of CUPTI's records against the headers of a toolkit, whose newest structs
 * LAYOUT_KERNEL and such name, and how long the double says that they are (SIZE_KERNEL and such)
 * against how long they are. Compiled where there is a toolkit, by tests/flow/cuda_toolkit.py, and
 * never run.
 */
#include <stddef.h>

#include <cupti.h>

#include "client/inject/cupti/short.h"

#define SAME(ours, field, theirs, their_field)                                                     \
    _Static_assert(offsetof(struct ours, field) == offsetof(theirs, their_field),                  \
                   #ours "." #field " lies elsewhere");                                            \
    _Static_assert(sizeof(((struct ours *)0)->field) == sizeof(((theirs *)0)->their_field),        \
                   #ours "." #field " is of another size")

SAME(cupti_kernel, registers, LAYOUT_KERNEL, registersPerThread);
SAME(cupti_kernel, start, LAYOUT_KERNEL, start);
SAME(cupti_kernel, end, LAYOUT_KERNEL, end);
SAME(cupti_kernel, device, LAYOUT_KERNEL, deviceId);
SAME(cupti_kernel, context, LAYOUT_KERNEL, contextId);
SAME(cupti_kernel, stream, LAYOUT_KERNEL, streamId);
SAME(cupti_kernel, static_shared, LAYOUT_KERNEL, staticSharedMemory);
SAME(cupti_kernel, dynamic_shared, LAYOUT_KERNEL, dynamicSharedMemory);
SAME(cupti_kernel, correlation, LAYOUT_KERNEL, correlationId);
SAME(cupti_kernel, name, LAYOUT_KERNEL, name);
SAME(cupti_kernel, queued, LAYOUT_KERNEL, queued);
SAME(cupti_kernel, graph_node, LAYOUT_KERNEL, graphNodeId);
SAME(cupti_kernel, graph, LAYOUT_KERNEL, graphId);
_Static_assert(offsetof(struct cupti_kernel, grid) == offsetof(LAYOUT_KERNEL, gridX), "grid");
_Static_assert(offsetof(struct cupti_kernel, block) == offsetof(LAYOUT_KERNEL, blockX), "block");
_Static_assert(sizeof(struct cupti_kernel) >= sizeof(LAYOUT_KERNEL), "a kernel is longer");

SAME(cupti_memcpy, copy_kind, LAYOUT_MEMCPY, copyKind);
SAME(cupti_memcpy, from, LAYOUT_MEMCPY, srcKind);
SAME(cupti_memcpy, to, LAYOUT_MEMCPY, dstKind);
SAME(cupti_memcpy, bytes, LAYOUT_MEMCPY, bytes);
SAME(cupti_memcpy, start, LAYOUT_MEMCPY, start);
SAME(cupti_memcpy, end, LAYOUT_MEMCPY, end);
SAME(cupti_memcpy, device, LAYOUT_MEMCPY, deviceId);
SAME(cupti_memcpy, context, LAYOUT_MEMCPY, contextId);
SAME(cupti_memcpy, stream, LAYOUT_MEMCPY, streamId);
SAME(cupti_memcpy, correlation, LAYOUT_MEMCPY, correlationId);

SAME(cupti_memcpy2, bytes, CUpti_ActivityMemcpyPtoP4, bytes);
SAME(cupti_memcpy2, stream, CUpti_ActivityMemcpyPtoP4, streamId);
SAME(cupti_memcpy2, correlation, CUpti_ActivityMemcpyPtoP4, correlationId);

SAME(cupti_memset, bytes, LAYOUT_MEMSET, bytes);
SAME(cupti_memset, start, LAYOUT_MEMSET, start);
SAME(cupti_memset, end, LAYOUT_MEMSET, end);
SAME(cupti_memset, device, LAYOUT_MEMSET, deviceId);
SAME(cupti_memset, context, LAYOUT_MEMSET, contextId);
SAME(cupti_memset, stream, LAYOUT_MEMSET, streamId);
SAME(cupti_memset, correlation, LAYOUT_MEMSET, correlationId);

SAME(cupti_graph, correlation, LAYOUT_GRAPH, correlationId);
SAME(cupti_graph, start, LAYOUT_GRAPH, start);
SAME(cupti_graph, end, LAYOUT_GRAPH, end);
SAME(cupti_graph, device, LAYOUT_GRAPH, deviceId);
SAME(cupti_graph, graph, LAYOUT_GRAPH, graphId);
SAME(cupti_graph, context, LAYOUT_GRAPH, contextId);
SAME(cupti_graph, stream, LAYOUT_GRAPH, streamId);

SAME(cupti_memory, operation, LAYOUT_MEMORY, memoryOperationType);
SAME(cupti_memory, memory_kind, LAYOUT_MEMORY, memoryKind);
SAME(cupti_memory, correlation, LAYOUT_MEMORY, correlationId);
SAME(cupti_memory, address, LAYOUT_MEMORY, address);
SAME(cupti_memory, bytes, LAYOUT_MEMORY, bytes);
SAME(cupti_memory, time, LAYOUT_MEMORY, timestamp);
SAME(cupti_memory, device, LAYOUT_MEMORY, deviceId);

SAME(cupti_memory, pool_type, LAYOUT_MEMORY, memoryPoolConfig.memoryPoolType);
SAME(cupti_memory, pool_address, LAYOUT_MEMORY, memoryPoolConfig.address);
SAME(cupti_memory, pool_size, LAYOUT_MEMORY, memoryPoolConfig.pool.size);
SAME(cupti_memory, utilized, LAYOUT_MEMORY, memoryPoolConfig.utilizedSize);

SAME(cupti_pool, operation, LAYOUT_POOL, memoryPoolOperationType);
SAME(cupti_pool, pool_type, LAYOUT_POOL, memoryPoolType);
SAME(cupti_pool, correlation, LAYOUT_POOL, correlationId);
SAME(cupti_pool, device, LAYOUT_POOL, deviceId);
SAME(cupti_pool, address, LAYOUT_POOL, address);
SAME(cupti_pool, bytes, LAYOUT_POOL, size);
SAME(cupti_pool, time, LAYOUT_POOL, timestamp);
SAME(cupti_pool, utilized, LAYOUT_POOL, utilizedSize);
#if SIZE_JIT > 0
SAME(cupti_jit, entry, LAYOUT_JIT, jitEntryType);
SAME(cupti_jit, operation, LAYOUT_JIT, jitOperationType);
SAME(cupti_jit, device, LAYOUT_JIT, deviceId);
SAME(cupti_jit, start, LAYOUT_JIT, start);
SAME(cupti_jit, end, LAYOUT_JIT, end);
SAME(cupti_jit, correlation, LAYOUT_JIT, correlationId);
_Static_assert((int)CUPTI_JIT == (int)CUPTI_ACTIVITY_KIND_JIT, "kinds have other numbers");
_Static_assert(sizeof(LAYOUT_JIT) == SIZE_JIT, "a compilation is of another length");
#endif
#if SIZE_JIT >= 72
SAME(cupti_jit, thread, LAYOUT_JIT, threadId);
#endif

SAME(cupti_call, site, CUpti_CallbackData, callbackSite);
SAME(cupti_call, function, CUpti_CallbackData, functionName);
SAME(cupti_call, symbol, CUpti_CallbackData, symbolName);
SAME(cupti_call, correlation, CUpti_CallbackData, correlationId);
_Static_assert(sizeof(struct cupti_call) == sizeof(CUpti_CallbackData), "callback data");

SAME(cupti_resource, data, CUpti_ResourceData, resourceDescriptor);
SAME(cupti_graph_data, node, CUpti_GraphData, node);
SAME(cupti_graph_data, original_node, CUpti_GraphData, originalNode);
_Static_assert((int)CUPTI_RESOURCE == (int)CUPTI_CB_DOMAIN_RESOURCE &&
                   (int)CUPTI_NODE_CREATED == (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED &&
                   (int)CUPTI_NODE_CLONED == (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED,
               "resources have other numbers");

_Static_assert((int)CUPTI_MEMSET == (int)CUPTI_ACTIVITY_KIND_MEMSET &&
                   10 == (int)CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL &&
                   1 == (int)CUPTI_ACTIVITY_KIND_MEMCPY &&
                   (int)CUPTI_MEMCPY2 == (int)CUPTI_ACTIVITY_KIND_MEMCPY2 &&
                   (int)CUPTI_MEMORY == (int)CUPTI_ACTIVITY_KIND_MEMORY2 &&
                   (int)CUPTI_POOL == (int)CUPTI_ACTIVITY_KIND_MEMORY_POOL &&
                   (int)CUPTI_GRAPH == (int)CUPTI_ACTIVITY_KIND_GRAPH_TRACE,
               "kinds have other numbers");
_Static_assert((int)CUPTI_TAKEN == (int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED &&
                   (int)CUPTI_NOT_PERMITTED == (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES &&
                   (int)CUPTI_NOT_INITIALIZED == (int)CUPTI_ERROR_NOT_INITIALIZED &&
                   (int)CUPTI_END_OF_BUFFER == (int)CUPTI_ERROR_MAX_LIMIT_REACHED,
               "errors have other numbers");
_Static_assert((int)CUPTI_ZEROED_BUFFERS == (int)CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER,
               "the attribute has another number");

SAME(cupti_event, correlation, LAYOUT_EVENT, correlationId);
SAME(cupti_event, context, LAYOUT_EVENT, contextId);
SAME(cupti_event, stream, LAYOUT_EVENT, streamId);
SAME(cupti_event, event, LAYOUT_EVENT, eventId);
SAME(cupti_sync, type, LAYOUT_SYNC, type);
SAME(cupti_sync, start, LAYOUT_SYNC, start);
SAME(cupti_sync, end, LAYOUT_SYNC, end);
SAME(cupti_sync, context, LAYOUT_SYNC, contextId);
SAME(cupti_sync, stream, LAYOUT_SYNC, streamId);
SAME(cupti_sync, event, LAYOUT_SYNC, cudaEventId);
#if SIZE_SYNC >= 56
SAME(cupti_sync, event_number, LAYOUT_SYNC, cudaEventSyncId);
SAME(cupti_event, number, LAYOUT_EVENT, cudaEventSyncId);
#endif
SAME(cupti_context, context, LAYOUT_CONTEXT, contextId);
#if SIZE_CONTEXT >= 24
SAME(cupti_context, is_green, LAYOUT_CONTEXT, isGreenContext);
#endif
#if SIZE_CONTEXT >= 32
SAME(cupti_context, multiprocessors, LAYOUT_CONTEXT, numMultiprocessors);
#endif
SAME(cupti_overhead, start, LAYOUT_OVERHEAD, start);
SAME(cupti_overhead, end, LAYOUT_OVERHEAD, end);
#if SIZE_OVERHEAD >= 56
SAME(cupti_overhead, data, LAYOUT_OVERHEAD, overheadData);
#endif
#if SIZE_KERNEL >= 248
SAME(cupti_kernel, source_node, LAYOUT_KERNEL, sourceGraphNodeId);
SAME(cupti_memcpy, source_node, LAYOUT_MEMCPY, sourceGraphNodeId);
SAME(cupti_memset, source_node, LAYOUT_MEMSET, sourceGraphNodeId);
#endif

_Static_assert(sizeof(LAYOUT_KERNEL) == SIZE_KERNEL, "a kernel is of another length");
_Static_assert(sizeof(LAYOUT_MEMCPY) == SIZE_MEMCPY, "a copy is of another length");
_Static_assert(sizeof(LAYOUT_MEMSET) == SIZE_MEMSET, "a memset is of another length");
_Static_assert(sizeof(LAYOUT_GRAPH) == SIZE_GRAPH, "a graph is of another length");
_Static_assert(sizeof(LAYOUT_SYNC) == SIZE_SYNC, "a wait is of another length");
_Static_assert(sizeof(LAYOUT_MEMORY) == SIZE_MEMORY, "memory is of another length");
_Static_assert(sizeof(LAYOUT_POOL) == SIZE_POOL, "a pool is of another length");
_Static_assert(sizeof(LAYOUT_EVENT) == SIZE_EVENT, "an event is of another length");
_Static_assert(sizeof(LAYOUT_CONTEXT) == SIZE_CONTEXT, "a context is of another length");
_Static_assert(sizeof(LAYOUT_OVERHEAD) == SIZE_OVERHEAD, "an overhead is of another length");
_Static_assert(sizeof(CUpti_ActivityMemcpyPtoP4) == sizeof(struct cupti_memcpy2),
               "a copy between devices");

#if CUPTI_API_VERSION >= 130300
#define FIELD_IS_130300(number, name)                                                              \
    _Static_assert((int)(number) == (int)(name), #name " has another number")
#define FIELD(kind, record, member, number, since, theirs) FIELD_IS_##since(number, theirs);
#if CUPTI_API_VERSION >= 130400
#define FIELD_IS_130400 FIELD_IS_130300
#else
#define FIELD_IS_130400(number, name) _Static_assert(1, "")
#endif
#include "client/inject/cupti/fields.def"
#undef FIELD
SAME(cupti_field_layout, id, CUpti_ActivityFieldLayoutEntry, fieldId);
SAME(cupti_field_layout, offset, CUpti_ActivityFieldLayoutEntry, offset);
SAME(cupti_field_layout, size, CUpti_ActivityFieldLayoutEntry, size);
SAME(cupti_layout, fields, CUpti_ActivityRecordLayout, pEntries);
SAME(cupti_layout, count, CUpti_ActivityRecordLayout, numFields);
SAME(cupti_layout, record_bytes, CUpti_ActivityRecordLayout, recordSize);
SAME(cupti_config, selection, CUpti_ActivityConfig, fieldSelection);
SAME(cupti_subscriber, name, CUpti_SubscriberParams, subscriberName);
SAME(cupti_subscriber, holder, CUpti_SubscriberParams, oldSubscriberName);
SAME(cupti_subscriber, allow_others, CUpti_SubscriberParams, allowMultipleSubscribers);
SAME(cupti_complete_info, layouts, CUpti_BufferCallbackCompleteInfo, ppRecordLayouts);
SAME(cupti_complete_info, count, CUpti_BufferCallbackCompleteInfo, numRecordLayouts);
_Static_assert(sizeof(struct cupti_field_layout) == sizeof(CUpti_ActivityFieldLayoutEntry) &&
                   sizeof(struct cupti_subscriber) == sizeof(CUpti_SubscriberParams) &&
                   (int)CUPTI_CHOSEN_FIELDS == (int)CUPTI_ACTIVITY_ATTR_USER_DEFINED_RECORDS,
               "what is for chosen fields");
#endif
