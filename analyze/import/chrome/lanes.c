/* SPDX-License-Identifier: Apache-2.0 */
/* Lanes of a Chrome trace: threads, streams, the memory of a device. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "analyze/import/chrome/private.h"

static int no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the trace");
}

int chrome_make_lane(struct chrome *chrome, const struct importer_lane *lane, uint32_t *out_lane,
                     struct diag *diag)
{
    struct chrome_lane state = {0};
    int rc = importer_lane(&chrome->importer, lane, out_lane, diag);

    return rc < 0 ? rc : array_push(&chrome->lane_states, state) < 0 ? no_memory(diag) : 0;
}

static int make_lane(struct chrome *chrome, struct place_key key, const struct importer_lane *lane,
                     uint32_t *out_lane, struct diag *diag)
{
    int rc = chrome_make_lane(chrome, lane, out_lane, diag);

    return rc < 0 ? rc : place_map_set(&chrome->lanes, key, *out_lane) < 0 ? no_memory(diag) : 0;
}

size_t chrome_thread_length(const char *text, size_t length)
{
    static const char *const sides[] = {"(Python)", "(C++)"};

    for (size_t i = 0; i < sizeof(sides) / sizeof(sides[0]); i++) {
        size_t side = strlen(sides[i]);

        if (length > side && memcmp(text + length - side, sides[i], side) == 0)
            return length - side;
    }
    return length;
}

/* A process or thread is a number, or a text; the number may stand in quotes. */
int chrome_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t *out_lane,
                struct diag *diag)
{
    struct importer_lane lane = {.native_id = STORE_NULL};
    struct json_slice number = event->thread;
    struct place_key key = {0};
    char *process, *thread, name[256];
    int rc;

    number.length = chrome_thread_length(number.text, number.length);
    place_key_add(&key, event->process.text, event->process.length);
    place_key_add(&key, number.text, number.length);
    *out_lane = place_map_find(&chrome->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    if (!json_whole(number, &lane.native_id))
        lane.native_id = STORE_NULL;
    process = json_take_text(event->process);
    thread = json_take_text(number);
    if (!process || !thread) {
        rc = no_memory(diag);
    } else {
        snprintf(name, sizeof(name), "%.120s/%.120s", process, thread);
        lane.name = name;
        rc = make_lane(chrome, key, &lane, out_lane, diag);
    }
    free(process);
    free(thread);
    return rc;
}

static void name_device(const struct chrome_event *event, char *device, size_t bytes)
{
    int64_t number;

    if (!json_whole(event->arg[ARG_DEVICE], &number) && !json_whole(event->process, &number))
        number = 0;
    snprintf(device, bytes, "cuda:%lld", (long long)number);
}

int chrome_mark_device(struct chrome *chrome, const struct chrome_event *event, uint32_t lane,
                       struct diag *diag)
{
    struct importer_lane *row = &chrome->importer.lanes.items[lane];
    char device[32];

    if (row->is_device || chrome->lane_states.items[lane].is_told)
        return 0;
    row->is_device = true;
    name_device(event, device, sizeof(device));
    return importer_set_text(&row->device, device, diag);
}

/* The device whose memory an event is of, "cuda:0"; false for that of the host. Kineto's device
 * types 0, 2 and 5 are the host's: plain memory, and that of oneDNN; 6 is that of HIP, whose
 * kernels come as those of CUDA do and go by the same name. Paddle says "Place(gpu:0)". */
static bool name_memory(const struct chrome_event *event, char *device, size_t bytes)
{
    static const char *const types[] = {[1] = "cuda", [6] = "cuda", [12] = "xpu"};
    struct json_slice place = event->arg[ARG_PLACE];
    int64_t type = 0, number = 0;

    if (place.kind == JSON_STRING) {
        const char *gpu = memmem(place.text, place.length, "gpu:", 4);

        number = gpu ? strtol(gpu + 4, NULL, 10) : 0; /* ends before the quote */
        snprintf(device, bytes, "cuda:%lld", (long long)number);
        return gpu != NULL;
    }
    json_whole(event->arg[ARG_DEVICE_TYPE], &type);
    json_whole(event->arg[ARG_DEVICE_ID], &number);
    if (type > 0 && type < (int64_t)(sizeof(types) / sizeof(types[0])) && types[type])
        snprintf(device, bytes, "%s:%lld", types[type], (long long)number);
    else
        snprintf(device, bytes, "device%lld:%lld", (long long)type, (long long)number);
    return type != 0 && type != 2 && type != 5;
}

int chrome_memory_lane(struct chrome *chrome, const struct chrome_event *event, uint32_t thread,
                       uint32_t *out_lane, struct diag *diag)
{
    struct importer_lane lane = {.native_id = STORE_NULL, .is_device = true};
    struct place_key key = {.high = 1};
    char device[64], name[80];

    *out_lane = thread;
    if (chrome->lane_states.items[thread].is_told || !name_memory(event, device, sizeof(device)))
        return 0;
    place_key_add(&key, device, strlen(device));
    *out_lane = place_map_find(&chrome->lanes, key);
    if (*out_lane != PLACE_NONE)
        return 0;
    snprintf(name, sizeof(name), "memory of %s", device);
    lane.name = name;
    lane.device = device;
    return make_lane(chrome, key, &lane, out_lane, diag);
}
