/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU of NVIDIA's as a device: kernels/cuda.h under the names of backend.h. */
#include "runtime/exec/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cuda.h"
#include "runtime/exec/cuda_records.h"

struct device {
    struct kernel_cuda *cuda;
    struct kernel_cuda_graph *recorded;
    struct device_memory *memory; /* what was timed before; NULL */
    struct kernel_cuda_memory asked;
    bool is_recorded; /* the run that is under way */
};

static void cuda_close(struct device **device_ptr)
{
    struct device *device = *device_ptr;

    *device_ptr = NULL;
    if (!device)
        return;
    if (device->recorded)
        kernel_cuda_graph_destroy(device->cuda, &device->recorded);
    kernel_cuda_close(&device->cuda);
    cuda_records_leave(device);
    free(device);
}

static int cuda_open(uint32_t number, struct device **out_device, struct diag *diag)
{
    struct device *device = calloc(1, sizeof(*device));
    char text[KERNEL_CUDA_TEXT_BYTES];
    int rc;

    if (!device)
        return diag_set(diag, -ENOMEM, "out of memory");
    rc = kernel_cuda_open((int)number, &device->cuda, text);
    if (rc == 0) {
        *out_device = device;
        return 0;
    }
    free(device);
    return diag_set(diag,
                    rc == -ENOMEM ? -ENOSPC
                    : rc == -EIO  ? -EIO
                                  : -ENODEV,
                    "--cuda: %s", text);
}

static const char *cuda_describe(const struct device *device)
{
    return kernel_cuda_describe(device->cuda);
}

static const char *cuda_problem(const struct device *device)
{
    return kernel_cuda_problem(device->cuda);
}

static bool cuda_is_own(const char *version)
{
    return version == kernel_cuda_version;
}

/* Memory that is not there ends a run otherwise than a lack of the host's. */
static int cuda_alloc(struct device *device, size_t bytes, void **out_memory)
{
    int rc = kernel_cuda_alloc(device->cuda, bytes, out_memory);

    return rc == -ENOMEM ? -ENOSPC : rc;
}

static void cuda_give_back(struct device *device, void *memory)
{
    kernel_cuda_free(device->cuda, memory);
}

static int cuda_time_item(struct device *device, void (*item)(void *argument), void *argument,
                          uint64_t *out_ns)
{
    return kernel_cuda_time(device->cuda, item, argument, out_ns);
}

static size_t cuda_room(struct device *device)
{
    return kernel_cuda_room(device->cuda);
}

static int cuda_clear(struct device *device, void *to, size_t bytes)
{
    return kernel_cuda_clear(device->cuda, to, bytes);
}

static int cuda_copy_in(struct device *device, void *to, const void *from, size_t bytes)
{
    return kernel_cuda_put(device->cuda, to, from, bytes);
}

static int cuda_upload_begin(struct device *device, size_t bytes)
{
    return kernel_cuda_upload_begin(device->cuda, bytes);
}

static int cuda_upload(struct device *device, void *to, const void *from, size_t bytes)
{
    return kernel_cuda_upload(device->cuda, to, from, bytes);
}

static int cuda_upload_end(struct device *device, uint32_t *out_copies)
{
    return kernel_cuda_upload_end(device->cuda, out_copies);
}

static int cuda_copy_out(struct device *device, void *to, const void *from, size_t bytes)
{
    return kernel_cuda_get(device->cuda, to, from, bytes);
}

static int cuda_begin_step(struct device *device, uint32_t step)
{
    kernel_cuda_use(device->cuda, step + 1, false);
    if (device->is_recorded)
        cuda_records_step(step);
    return kernel_cuda_problem(device->cuda)[0] != '\0' ? -EIO : 0;
}

static void cuda_end_step(struct device *device)
{
    if (device->is_recorded)
        cuda_records_step(UINT32_MAX);
}

static int cuda_wait(struct device *device, uint32_t *out_failed)
{
    uint32_t mark = 0;
    int rc = kernel_cuda_fault(device->cuda, &mark);

    *out_failed = rc == 0 && mark != 0 ? mark - 1 : UINT32_MAX;
    return rc;
}

enum { WAYS_MAX = 40 };
_Static_assert(sizeof(((struct device_way *)0)->name) == KERNEL_CUDA_WAY_BYTES, "names are copied");

static int recall(void *user, const char *task, struct kernel_cuda_way *out_ways, int most)
{
    const struct device *device = user;
    struct device_way ways[WAYS_MAX];
    int count = device->memory->recall(device->memory, kernel_cuda_describe(device->cuda), task,
                                       ways, most < WAYS_MAX ? most : WAYS_MAX);

    for (int i = 0; i < count; i++) {
        memcpy(out_ways[i].name, ways[i].name, sizeof(out_ways[i].name));
        out_ways[i].time_ns = ways[i].time_ns;
        out_ways[i].workspace_bytes = ways[i].workspace_bytes;
    }
    return count;
}

static void keep(void *user, const char *task, const struct kernel_cuda_way *given, int count)
{
    const struct device *device = user;
    struct device_way ways[WAYS_MAX];

    count = count < WAYS_MAX ? count : WAYS_MAX;
    for (int i = 0; i < count; i++) {
        memcpy(ways[i].name, given[i].name, sizeof(ways[i].name));
        ways[i].time_ns = given[i].time_ns;
        ways[i].workspace_bytes = given[i].workspace_bytes;
    }
    device->memory->keep(device->memory, kernel_cuda_describe(device->cuda), task, ways, count);
}

static void cuda_choose_by(struct device *device, const struct device_choice *given)
{
    const struct kernel_cuda_choice choice = {given->times, given->allows_tf32,
                                              given->workspace_limit,
                                              given->memory ? &device->asked : NULL};

    device->memory = given->memory;
    device->asked = (struct kernel_cuda_memory){device, recall, keep};
    kernel_cuda_choose_by(device->cuda, &choice);
}

static void cuda_rehearse(struct device *device, bool is_on)
{
    kernel_cuda_rehearse(device->cuda, is_on);
}

static enum device_task cuda_chosen(const struct device *device, const char **out_version)
{
    static const enum device_task tasks[] = {[KERNEL_CUDA_OTHER] = DEVICE_OTHER,
                                             [KERNEL_CUDA_PRODUCT] = DEVICE_PRODUCT,
                                             [KERNEL_CUDA_CONVOLUTION] = DEVICE_CONVOLUTION};
    struct kernel_cuda_chosen chosen = kernel_cuda_chosen(device->cuda);

    *out_version = chosen.version;
    return tasks[chosen.task];
}

static struct device_library cuda_library(const struct device *device, enum device_task task)
{
    struct kernel_cuda_library library = kernel_cuda_library(
        device->cuda, task == DEVICE_PRODUCT ? KERNEL_CUDA_PRODUCT : KERNEL_CUDA_CONVOLUTION);

    return (struct device_library){library.is_asked, library.name, library.problem, library.timed,
                                   library.recalled};
}

static uint64_t cuda_workspace_bytes(const struct device *device)
{
    return kernel_cuda_workspace_bytes(device->cuda);
}

static int cuda_measure(struct device *device, struct device_peak *out_peak)
{
    struct kernel_cuda_peak peak;
    int rc = kernel_cuda_measure(device->cuda, &peak);

    if (rc == 0)
        *out_peak = (struct device_peak){peak.f32_flops, peak.copy_bytes_s, peak.copy_bytes,
                                         peak.processors};
    return rc;
}

static int cuda_make_moments(struct device *device, uint32_t count)
{
    int rc = kernel_cuda_make_moments(device->cuda, count);

    return rc == -ENOMEM ? -ENOSPC : rc;
}

static int cuda_note(struct device *device, uint32_t moment)
{
    return kernel_cuda_note(device->cuda, moment);
}

static int cuda_await(struct device *device, uint32_t moment)
{
    return kernel_cuda_await(device->cuda, moment);
}

static int cuda_since_first(struct device *device, uint32_t moment, int64_t *out_ns)
{
    return kernel_cuda_between(device->cuda, 0, moment, out_ns);
}

static const char *cuda_records_of_run(struct device *device, uint32_t steps)
{
    const char *why = cuda_records_begin(device, steps);

    device->is_recorded = !why;
    return why;
}

static const char *cuda_spans(struct device *device, const struct device_span **out_spans)
{
    device->is_recorded = false;
    return cuda_records_end(out_spans);
}

static const char *cuda_recorder(const struct device *device)
{
    (void)device;
    return cuda_records_name();
}

static int cuda_make_streams(struct device *device, uint32_t count)
{
    return kernel_cuda_make_streams(device->cuda, count);
}

static void cuda_choose(struct device *device, uint32_t stream)
{
    kernel_cuda_choose(device->cuda, stream);
}

static int cuda_make_marks(struct device *device, uint32_t count)
{
    int rc = kernel_cuda_make_marks(device->cuda, count);

    return rc == -ENOMEM ? -ENOSPC : rc;
}

static int cuda_mark(struct device *device, uint32_t mark)
{
    return kernel_cuda_mark(device->cuda, mark);
}

static int cuda_follow(struct device *device, uint32_t mark)
{
    return kernel_cuda_follow(device->cuda, mark);
}

static int cuda_record_begin(struct device *device)
{
    if (device->recorded)
        kernel_cuda_graph_destroy(device->cuda, &device->recorded);
    return kernel_cuda_graph_begin(device->cuda);
}

static int cuda_record_end(struct device *device)
{
    return kernel_cuda_graph_end(device->cuda, &device->recorded);
}

static int cuda_replay(struct device *device)
{
    return kernel_cuda_graph_launch(device->cuda, device->recorded);
}

const struct device_backend device_cuda = {
    .name = "cuda",
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .problem = cuda_problem,
    .kernels = kernel_cuda_table,
    .is_own = cuda_is_own,
    .alloc = cuda_alloc,
    .give_back = cuda_give_back,
    .room = cuda_room,
    .clear = cuda_clear,
    .copy_in = cuda_copy_in,
    .upload_begin = cuda_upload_begin,
    .upload = cuda_upload,
    .upload_end = cuda_upload_end,
    .copy_out = cuda_copy_out,
    .begin_step = cuda_begin_step,
    .end_step = cuda_end_step,
    .wait = cuda_wait,
    .make_streams = cuda_make_streams,
    .choose = cuda_choose,
    .make_marks = cuda_make_marks,
    .mark = cuda_mark,
    .follow = cuda_follow,
    .choose_by = cuda_choose_by,
    .rehearse = cuda_rehearse,
    .chosen = cuda_chosen,
    .library = cuda_library,
    .workspace_bytes = cuda_workspace_bytes,
    .time = cuda_time_item,
    .measure = cuda_measure,
    .make_moments = cuda_make_moments,
    .note = cuda_note,
    .await = cuda_await,
    .since_first = cuda_since_first,
    .records_begin = cuda_records_of_run,
    .records_end = cuda_spans,
    .records_name = cuda_recorder,
    .record_begin = cuda_record_begin,
    .record_end = cuda_record_end,
    .replay = cuda_replay,
};
