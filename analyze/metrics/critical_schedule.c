/* SPDX-License-Identifier: Apache-2.0 */
/* A piece in bytes: its class with what it depends on, how far before it these are, its length, and
 * the time since the one that ended last. */
#include "analyze/metrics/critical_schedule.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/containers/packed_numbers.h"
#include "base/sorted.h"

enum { PIECE_BYTES = 5 * PACKED_NUMBER_MAX, HAS_HOLDER = 1, HAS_OTHER = 2, FLAG_BITS = 2 };
enum { LANES = 8 }; /* so many schedules at a time */

/* Ends of more pieces than this, LANES of each, are computed one schedule at a time: 256 MiB. */
#define TOGETHER_MOST ((size_t)4 << 20)

/* --- Packing. --- */

/* Where a piece stands in its part: first the kept ones, then in the order. NULL without memory. */
static uint32_t *find_positions(const struct critical_path *path)
{
    uint32_t *positions = malloc((path->pieces.count + 1) * sizeof(*positions));

    for (uint32_t i = 0; i < path->first && positions; i++)
        positions[i] = i;
    for (size_t i = path->first; i < path->pieces.count && positions; i++)
        positions[path->order[i - path->first]] = (uint32_t)i;
    return positions;
}

/* A wait takes no time, whatever its span does. */
static uint8_t *pack_piece(uint8_t *at, const struct critical_path *path, uint32_t place,
                           const uint32_t *positions)
{
    const struct path_piece *piece = &path->pieces.items[place];
    const uint32_t holder = critical_path_holder(path, place);
    const uint32_t other = holder == piece->before ? piece->cross : piece->before;
    const int64_t since_ns =
        holder == SPAN_NONE ? path->start_ns : path->pieces.items[holder].end_ns;
    const int64_t own_ns = piece->is_wait ? 0 : piece->end_ns - piece->start_ns;
    const uint64_t class = piece->is_wait ? 0 : path->classes[piece->span];
    const uint64_t flags =
        (holder != SPAN_NONE ? HAS_HOLDER : 0) | (other != SPAN_NONE ? HAS_OTHER : 0);

    at = packed_number_put(at, class << FLAG_BITS | flags);
    if (holder != SPAN_NONE)
        at = packed_number_put(at, positions[place] - positions[holder]);
    if (other != SPAN_NONE)
        at = packed_number_put(at, positions[place] - positions[other]);
    at = packed_number_put(at, (uint64_t)own_ns);
    return packed_number_put(at, (uint64_t)(piece->start_ns - since_ns));
}

static int put_number(struct critical_schedule *schedule, uint64_t number)
{
    uint8_t *end;

    if (array_reserve(&schedule->bytes, schedule->bytes.count + PACKED_NUMBER_MAX) < 0)
        return -ENOMEM;
    end = packed_number_put(schedule->bytes.items + schedule->bytes.count, number);
    schedule->bytes.count = (size_t)(end - schedule->bytes.items);
    return 0;
}

static int put_pieces(struct critical_schedule *schedule, const struct critical_path *path,
                      const uint32_t *positions)
{
    const size_t count = path->pieces.count - path->first;
    int rc = put_number(schedule, count);

    for (size_t i = 0; i < count && rc == 0; i++) {
        uint8_t *end;

        rc = array_reserve(&schedule->bytes, schedule->bytes.count + PIECE_BYTES);
        if (rc < 0)
            break;
        end = pack_piece(schedule->bytes.items + schedule->bytes.count, path, path->order[i],
                         positions);
        schedule->bytes.count = (size_t)(end - schedule->bytes.items);
    }
    return rc;
}

static int put_recalls(struct critical_schedule *schedule, const struct critical_path *path)
{
    int rc = put_number(schedule, path->recalled.count);

    for (size_t i = 0; i < path->recalled.count && rc == 0; i++)
        rc = array_push(&schedule->recalls,
                        ((struct recall){path->recalled.items[i].number, schedule->count}));
    return rc;
}

int critical_schedule_add(struct critical_schedule *schedule, const struct critical_path *path,
                          const uint32_t *kept, size_t kept_count)
{
    uint32_t *positions = find_positions(path);
    int rc = positions ? put_recalls(schedule, path) : -ENOMEM;

    if (rc == 0)
        rc = put_pieces(schedule, path, positions);
    if (rc == 0)
        rc = put_number(schedule, kept_count);
    for (size_t i = 0; i < kept_count && rc == 0; i++)
        rc = put_number(schedule, positions[kept[i]]);
    free(positions);
    schedule->kept_count = kept_count;
    schedule->count += path->pieces.count - path->first;
    if (path->pieces.count > schedule->most_places)
        schedule->most_places = path->pieces.count;
    if (kept_count > schedule->most_kept)
        schedule->most_kept = kept_count;
    return rc;
}

static int compare_numbers(const void *a, const void *b)
{
    const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;

    return (left > right) - (left < right);
}

/* Pieces that are recalled, each once. */
static int find_saves(struct critical_schedule *schedule)
{
    size_t count = 0;
    int rc = 0;

    for (size_t i = 0; i < schedule->recalls.count && rc == 0; i++)
        rc = array_push(&schedule->saves, schedule->recalls.items[i].number);
    if (schedule->saves.count)
        qsort(schedule->saves.items, schedule->saves.count, sizeof(uint64_t), compare_numbers);
    for (size_t i = 0; i < schedule->saves.count; i++) {
        const uint64_t number = schedule->saves.items[i];

        if (!count || schedule->saves.items[count - 1] != number)
            schedule->saves.items[count++] = number;
    }
    schedule->saves.count = count;
    return rc;
}

/* Ends go round in a ring: it has room for all that have come, from the first on that is recalled yet. */
static void find_places(struct critical_schedule *schedule)
{
    const uint64_t *saves = schedule->saves.items;
    size_t first = schedule->saves.count;

    for (size_t i = schedule->recalls.count; i-- > 0;) {
        struct recall *recall = &schedule->recalls.items[i];
        const size_t count = schedule->saves.count;
        const size_t come = search_past(0, count, k, saves[k] < recall->until);

        recall->number = search_past(0, count, k, saves[k] < recall->number);
        first = recall->number < first ? recall->number : first;
        if (come - first > schedule->saved_most)
            schedule->saved_most = come - first;
    }
}

int critical_schedule_end(struct critical_schedule *schedule, int64_t run_start_ns,
                          int64_t run_end_ns, uint32_t last, int64_t end_ns)
{
    const int rc = find_saves(schedule);

    if (rc == 0)
        find_places(schedule);
    schedule->wall_ns = (double)(run_end_ns - run_start_ns);
    schedule->rest_ns = last == SPAN_NONE ? schedule->wall_ns : (double)(run_end_ns - end_ns);
    schedule->last = last;
    return rc;
}

void critical_schedule_deinit(struct critical_schedule *schedule)
{
    array_deinit(&schedule->bytes);
    array_deinit(&schedule->recalls);
    array_deinit(&schedule->saves);
    *schedule = (struct critical_schedule){0};
}

/* --- Scheduling. --- */

struct scheduler {
    const double *scales; /* by class, and schedule */
    double *ends;         /* after the start of the run; by place in the part, and schedule */
    double *kept;         /* the same of what the next part can depend on */
    size_t kept_count;
    const struct critical_schedule *schedule;
    double *saved; /* the same of pieces that are recalled: schedule->saved_most */
    size_t next_recall, next_save;
    uint64_t count; /* of pieces so far */
    double latest[LANES];
};

/* Ends of earlier parts that this one asks for, behind those that were kept. */
static void recall_ends(struct scheduler *scheduler, size_t count, size_t lanes)
{
    const struct critical_schedule *schedule = scheduler->schedule;
    double *end = scheduler->ends + scheduler->kept_count * lanes;

    for (size_t i = 0; i < count; i++, end += lanes) {
        const size_t place =
            schedule->recalls.items[scheduler->next_recall++].number % schedule->saved_most;

        memcpy(end, scheduler->saved + place * lanes, lanes * sizeof(*end));
    }
}

/* Those of a part of so many pieces that later ones will ask for. */
static void save_ends(struct scheduler *scheduler, const double *ends, size_t count, size_t lanes)
{
    const struct critical_schedule *schedule = scheduler->schedule;
    size_t *next = &scheduler->next_save;

    for (; *next < schedule->saves.count; ++*next) {
        const uint64_t place = schedule->saves.items[*next] - scheduler->count;

        if (place >= count)
            break;
        memcpy(scheduler->saved + *next % schedule->saved_most * lanes, ends + place * lanes,
               lanes * sizeof(*ends));
    }
    scheduler->count += count;
}

/* Inlined with a number of schedules that the compiler knows. */
static inline __attribute__((always_inline)) const uint8_t *
schedule_part(struct scheduler *scheduler, const uint8_t *at, size_t lanes)
{
    double *const ends = scheduler->ends;
    const size_t recalled = packed_number_get(&at), count = packed_number_get(&at);
    double *const first = ends + (scheduler->kept_count + recalled) * lanes;
    size_t kept_count;

    recall_ends(scheduler, recalled, lanes);
    for (double *end = first; end < first + count * lanes; end += lanes) {
        const uint64_t word = packed_number_get(&at);
        const double *scales = scheduler->scales + (word >> FLAG_BITS) * lanes;
        const double *holder = NULL, *other = NULL;
        double own_ns, gap_ns;

        if (word & HAS_HOLDER)
            holder = end - packed_number_get(&at) * lanes;
        if (word & HAS_OTHER)
            other = end - packed_number_get(&at) * lanes;
        own_ns = (double)packed_number_get(&at);
        gap_ns = (double)(int64_t)packed_number_get(&at);
        for (size_t k = 0; k < lanes; k++)
            end[k] = holder ? holder[k] + gap_ns : gap_ns;
        for (size_t k = 0; k < lanes && other; k++)
            end[k] = other[k] > end[k] ? other[k] : end[k];
        for (size_t k = 0; k < lanes; k++) {
            end[k] += own_ns * scales[k];
            if (end[k] > scheduler->latest[k])
                scheduler->latest[k] = end[k];
        }
    }
    save_ends(scheduler, first, count, lanes);
    kept_count = packed_number_get(&at);
    for (size_t i = 0; i < kept_count; i++)
        memcpy(scheduler->kept + i * lanes, ends + packed_number_get(&at) * lanes,
               lanes * sizeof(*ends));
    memcpy(ends, scheduler->kept, kept_count * lanes * sizeof(*ends));
    scheduler->kept_count = kept_count;
    return at;
}

static int start(const struct critical_schedule *schedule, size_t class_count,
                 const struct critical_scales *scales, size_t lanes, size_t count,
                 struct scheduler *scheduler)
{
    const size_t places = (schedule->most_places + schedule->most_kept + 1) * lanes;
    double *by_class = malloc((class_count + 1) * lanes * sizeof(*by_class));

    *scheduler =
        (struct scheduler){.scales = by_class,
                           .schedule = schedule,
                           .saved = malloc((schedule->saved_most + 1) * lanes * sizeof(double)),
                           .ends = malloc(places * sizeof(double)),
                           .kept = malloc((schedule->most_kept + 1) * lanes * sizeof(double))};
    for (size_t i = 0; i < class_count && by_class; i++) {
        for (size_t k = 0; k < lanes; k++)
            by_class[i * lanes + k] = scales[k < count ? k : 0].of_classes[i];
    }
    return by_class && scheduler->ends && scheduler->kept && scheduler->saved ? 0 : -ENOMEM;
}

/* As many as there are lanes, or fewer. */
static int predict_some(const struct critical_schedule *schedule, size_t class_count,
                        struct critical_scales *scales, size_t lanes, size_t count,
                        struct progress *progress)
{
    const uint8_t *at = schedule->bytes.items, *end = at + schedule->bytes.count;
    struct scheduler scheduler;
    int rc = start(schedule, class_count, scales, lanes, count, &scheduler);

    while (rc == 0 && at < end) {
        at = lanes == 1 ? schedule_part(&scheduler, at, 1) : schedule_part(&scheduler, at, LANES);
        progress_share(progress, "predicting", schedule->bytes.count - (size_t)(end - at),
                       schedule->bytes.count);
    }
    for (size_t k = 0; k < count && rc == 0; k++) {
        double last_ns = schedule->rest_ns;

        if (schedule->last != SPAN_NONE)
            last_ns = scheduler.ends[schedule->last * lanes + k] + schedule->rest_ns;
        scales[k].predicted_ns = last_ns > scheduler.latest[k] ? last_ns : scheduler.latest[k];
    }
    free((double *)scheduler.scales);
    free(scheduler.ends);
    free(scheduler.kept);
    free(scheduler.saved);
    return rc;
}

int critical_schedule_predict(const struct critical_schedule *schedule, size_t class_count,
                              struct critical_scales *scales, size_t count,
                              struct progress *progress)
{
    const size_t lanes = count == 1 || schedule->most_places > TOGETHER_MOST ? 1 : LANES;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i += lanes)
        rc = predict_some(schedule, class_count, scales + i, lanes,
                          count - i < lanes ? count - i : lanes, progress);
    return rc;
}
