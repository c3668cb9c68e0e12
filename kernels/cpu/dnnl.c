/* SPDX-License-Identifier: Apache-2.0 */
/* The oneDNN engine of this process, and reorders. */
#include "kernels/cpu/dnnl.h"

#include <pthread.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;

static void create_engine(void)
{
    dnnl_engine_create(&engine, dnnl_cpu, 0);
}

dnnl_engine_t dnnl_cpu_engine(void)
{
    pthread_once(&once, create_engine);
    return engine;
}

dnnl_status_t dnnl_image_desc(dnnl_memory_desc_t *out, int rank, const dnnl_dims_t dims)
{
    static const dnnl_format_tag_t tags[] = {[3] = dnnl_nwc, [4] = dnnl_nhwc, [5] = dnnl_ndhwc};

    return dnnl_memory_desc_init_by_tag(out, rank, dims, dnnl_f32, tags[rank]);
}

dnnl_status_t dnnl_reorder_now(const dnnl_memory_desc_t *to, void *y,
                               const dnnl_memory_desc_t *from, const void *x)
{
    dnnl_primitive_desc_t desc = NULL;
    dnnl_primitive_t reorder = NULL;
    dnnl_stream_t stream = NULL;
    dnnl_memory_t to_memory = NULL, from_memory = NULL;
    dnnl_engine_t cpu = dnnl_cpu_engine();
    dnnl_status_t status = dnnl_reorder_primitive_desc_create(&desc, from, cpu, to, cpu, NULL);

    if (status == dnnl_success)
        status = dnnl_primitive_create(&reorder, desc);
    if (status == dnnl_success)
        status = dnnl_memory_create(&to_memory, to, cpu, y);
    if (status == dnnl_success)
        status = dnnl_memory_create(&from_memory, from, cpu, (void *)x);
    if (status == dnnl_success)
        status = dnnl_stream_create(&stream, cpu, dnnl_stream_default_flags);
    if (status == dnnl_success) {
        dnnl_exec_arg_t args[] = {{DNNL_ARG_FROM, from_memory}, {DNNL_ARG_TO, to_memory}};

        status = dnnl_primitive_execute(reorder, stream, 2, args);
    }
    dnnl_stream_destroy(stream);
    dnnl_memory_destroy(to_memory);
    dnnl_memory_destroy(from_memory);
    dnnl_primitive_destroy(reorder);
    dnnl_primitive_desc_destroy(desc);
    return status;
}
