/* SPDX-License-Identifier: Apache-2.0 */
/* Roll-ups: a hash of the buckets being filled, and how it is written to op_stat. */
#include "schema/store/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "schema/store/private.h"

/* Times of writing that an entry stays after its last change: 16 s when that is once a second. */
enum { ROLLUP_IDLE_MAX = 16 };
#define NOT_FOUND UINT32_MAX

static uint32_t hash_of(int64_t op_id, int64_t start_ns, uint8_t lane_kind)
{
    uint64_t mixed = (uint64_t)op_id * 4 + lane_kind;

    mixed ^= (uint64_t)start_ns * UINT64_C(0x9e3779b97f4a7c15);
    mixed *= UINT64_C(0xd6e8feb86659fd93);
    return (uint32_t)(mixed >> 32);
}

static void insert_slot(struct rollup *rollup, uint32_t index)
{
    const struct rollup_entry *entry = &rollup->entries[index];
    uint32_t slot = hash_of(entry->op_id, entry->start_ns, entry->lane_kind) & rollup->slot_mask;

    while (rollup->slots[slot])
        slot = (slot + 1) & rollup->slot_mask;
    rollup->slots[slot] = index + 1;
}

static void rebuild_slots(struct rollup *rollup)
{
    memset(rollup->slots, 0, ((size_t)rollup->slot_mask + 1) * sizeof(*rollup->slots));
    for (uint32_t i = 0; i < rollup->entry_count; i++)
        insert_slot(rollup, i);
}

/* Room for twice as many entries; the slots stay at most half full. */
static int grow(struct rollup *rollup)
{
    uint32_t capacity = rollup->entry_capacity ? rollup->entry_capacity * 2 : ROLLUP_ENTRIES_MIN;
    struct rollup_entry *entries = realloc(rollup->entries, capacity * sizeof(*rollup->entries));
    uint32_t *slots;

    if (!entries)
        return -ENOMEM;
    rollup->entries = entries;
    slots = realloc(rollup->slots, 2 * (size_t)capacity * sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    rollup->slots = slots;
    rollup->entry_capacity = capacity;
    rollup->slot_mask = capacity * 2 - 1;
    rebuild_slots(rollup);
    return 0;
}

static int parse_row(struct store *store, sqlite3_stmt *statement, struct rollup_entry *entry,
                     struct diag *diag)
{
    const char *text = (const char *)sqlite3_column_text(statement, 5);

    entry->event_count = sqlite3_column_int64(statement, 0);
    entry->sum_ns = sqlite3_column_int64(statement, 1);
    entry->min_ns = sqlite3_column_int64(statement, 2);
    entry->max_ns = sqlite3_column_int64(statement, 3);
    entry->kern_sum_ns = sqlite3_column_int64(statement, 4);
    entry->rowid = sqlite3_column_int64(statement, 6);
    return store_histogram_parse(text ? text : "", (size_t)sqlite3_column_bytes(statement, 5),
                                 &entry->histogram, diag);
}

/* What the file holds for a new entry, if anything. */
static int read_row(struct store *store, struct rollup_entry *entry, struct diag *diag)
{
    sqlite3_stmt *statement;
    int code;
    int rc = store_statement(store, STORE_GET_STAT,
                             "SELECT event_count,sum_ns,min_ns,max_ns,kern_sum_ns,histogram,"
                             "rowid FROM op_stat WHERE op_id=? AND lane_kind=? AND bucket_ns=?"
                             " AND start_ns=?",
                             &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 1, entry->op_id);
    sqlite3_bind_text(statement, 2, store_lane_kinds[entry->lane_kind], -1, SQLITE_STATIC);
    sqlite3_bind_int64(statement, 3, ROLLUP_BUCKET_NS);
    sqlite3_bind_int64(statement, 4, entry->start_ns);
    code = sqlite3_step(statement);
    if (code == SQLITE_ROW)
        rc = parse_row(store, statement, entry, diag);
    else if (code != SQLITE_DONE)
        rc = store_fail(store, code, "read", diag);
    sqlite3_reset(statement);
    return rc;
}

static int read_known_ops(struct store *store, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc;

    if (rollup->knows_ops)
        return 0;
    rc = store_query_int(store, "SELECT coalesce(max(op_id), 0) FROM op_stat",
                         &rollup->first_op_max, diag);
    rollup->known_op_max = rollup->first_op_max;
    rollup->written_ns = INT64_MIN;
    rollup->knows_ops = rc == 0;
    return rc;
}

/* Whether the file can have a row for a new entry. */
static bool may_have_row(const struct rollup *rollup, int64_t op_id, int64_t start_ns)
{
    return op_id <= rollup->first_op_max ||
           (op_id <= rollup->known_op_max && start_ns <= rollup->written_ns);
}

/* All of it is written. */
static void drop_entries(struct rollup *rollup)
{
    for (uint32_t i = 0; i < rollup->entry_count; i++)
        store_histogram_deinit(&rollup->entries[i].histogram);
    rollup->entry_count = 0;
    if (rollup->slots)
        rebuild_slots(rollup);
}

/* Room for some more entries. */
static int make_room(struct store *store, size_t count, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc = 0;

    if (rollup->entry_count + count > ROLLUP_ENTRIES_MAX) {
        rc = store_rollup_write_counted(store, diag);
        rollup->must_write = true;
        if (rc == 0)
            drop_entries(rollup);
    }
    while (rc == 0 && rollup->entry_count + count > rollup->entry_capacity)
        if (grow(rollup) < 0)
            rc = diag_set(diag, -ENOMEM, "no memory for the roll-ups of %s", store->path);
    return rc;
}

/* There is room. */
static int new_entry(struct store *store, uint8_t lane_kind, int64_t op_id, int64_t start_ns,
                     uint32_t *out_entry, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    struct rollup_entry entry = {
        .op_id = op_id, .start_ns = start_ns, .lane_kind = lane_kind, .min_ns = INT64_MAX};
    int rc = read_known_ops(store, diag);

    if (rc == 0 && may_have_row(rollup, op_id, start_ns))
        rc = read_row(store, &entry, diag);
    if (rc < 0) {
        store_histogram_deinit(&entry.histogram);
        return rc;
    }
    *out_entry = rollup->entry_count;
    rollup->entries[rollup->entry_count] = entry;
    insert_slot(rollup, rollup->entry_count++);
    return 0;
}

/* The index of an entry, or NOT_FOUND. */
static uint32_t find_entry(const struct rollup *rollup, uint8_t lane_kind, int64_t op_id,
                           int64_t start_ns)
{
    uint32_t slot = hash_of(op_id, start_ns, lane_kind);

    for (;; slot++) {
        uint32_t index = rollup->slots[slot & rollup->slot_mask] - 1;
        const struct rollup_entry *entry;

        if (index == NOT_FOUND)
            return index;
        entry = &rollup->entries[index];
        if (entry->op_id == op_id && entry->start_ns == start_ns && entry->lane_kind == lane_kind)
            return index;
    }
}

/* The start of the bucket, rounded down for times before 1970 too. */
static int64_t bucket_start(int64_t ns)
{
    int64_t rest = ns % ROLLUP_BUCKET_NS;

    if (rest < 0)
        rest += ROLLUP_BUCKET_NS;
    return ns < INT64_MIN + rest ? INT64_MIN : ns - rest;
}

static void add_saturated(int64_t *sum, int64_t value)
{
    if (__builtin_add_overflow(*sum, value, sum))
        *sum = INT64_MAX;
}

static void note_bucket(struct rollup *rollup)
{
    if (rollup->bucket_ns <= rollup->newest_ns)
        return;
    rollup->newest_ns = rollup->bucket_ns;
    rollup->newest_since_ns = ot_clock_ns(CLOCK_MONOTONIC);
}

void store_rollup_meet_bucket(struct rollup *rollup, int64_t start_ns)
{
    if (start_ns <= rollup->newest_ns)
        return;
    rollup->bucket_ns = start_ns;
    note_bucket(rollup);
}

/* Finds or makes its entry. */
static inline int place(struct store *store, struct rollup_event *item, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    const struct store_event *event = item->event;

    if ((uint64_t)event->start_ns - (uint64_t)rollup->bucket_ns >= (uint64_t)ROLLUP_BUCKET_NS) {
        rollup->bucket_ns = bucket_start(event->start_ns);
        note_bucket(rollup);
    }
    item->entry = find_entry(rollup, item->lane_kind, event->op_id, rollup->bucket_ns);
    return item->entry == NOT_FOUND ? new_entry(store, item->lane_kind, event->op_id,
                                                rollup->bucket_ns, &item->entry, diag)
                                    : 0;
}

/* Sums come in any order. */
static void wait_from(struct rollup *rollup, struct rollup_entry *entry, int64_t rowid)
{
    entry->first_rowid = rowid;
    if (rollup->mark.rowid > rowid - 1)
        rollup->mark.rowid = rowid - 1;
}

static void begin_waiting(struct rollup *rollup, struct rollup_entry *entry, int64_t rowid)
{
    if (rollup->dirty_count++ == 0)
        rollup->mark = (struct rollup_mark){.rowid = rowid - 1};
    entry->is_dirty = true;
    wait_from(rollup, entry, rowid);
}

static inline int count(struct rollup *rollup, const struct rollup_event *item)
{
    struct rollup_entry *entry = &rollup->entries[item->entry];
    const struct store_event *event = item->event;

    if (store_histogram_count_one(&entry->histogram, store_bin_of(event->dur_ns)) < 0)
        return -ENOMEM;
    entry->event_count++;
    add_saturated(&entry->sum_ns, event->dur_ns);
    if (event->kern_ns != STORE_NULL)
        add_saturated(&entry->kern_sum_ns, event->kern_ns);
    if (event->dur_ns < entry->min_ns)
        entry->min_ns = event->dur_ns;
    if (event->dur_ns > entry->max_ns)
        entry->max_ns = event->dur_ns;
    if (!entry->is_dirty)
        begin_waiting(rollup, entry, item->rowid);
    return 0;
}

/* With many ops, each of these places is in no cache: all are fetched before the first is used. */
int store_rollup_add(struct store *store, struct rollup_event *events, size_t event_count,
                     struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc = make_room(store, event_count, diag);

    for (size_t i = 0; i < event_count && rc == 0; i++) {
        rc = place(store, &events[i], diag);
        if (rc == 0)
            store_histogram_fetch(&rollup->entries[events[i].entry].histogram,
                                  store_bin_of(events[i].event->dur_ns));
    }
    for (size_t i = 0; i < event_count && rc == 0; i++)
        rc = count(rollup, &events[i]);
    if (event_count > 0 && events[event_count - 1].rowid > rollup->last_rowid)
        rollup->last_rowid = events[event_count - 1].rowid;
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the roll-ups of %s", store->path) : rc;
}

int store_rollup_add_sums(struct store *store, const struct rollup_sums *sums, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    struct rollup_entry *entry;
    uint32_t place;
    int rc = make_room(store, 1, diag);

    if (rc < 0)
        return rc;
    store_rollup_meet_bucket(rollup, sums->start_ns);
    place = find_entry(rollup, sums->lane_kind, sums->op_id, sums->start_ns);
    if (place == NOT_FOUND)
        rc = new_entry(store, sums->lane_kind, sums->op_id, sums->start_ns, &place, diag);
    if (rc < 0)
        return rc;
    entry = &rollup->entries[place];
    if (store_histogram_merge(&entry->histogram, sums->histogram) < 0)
        return diag_set(diag, -ENOMEM, "no memory for the roll-ups of %s", store->path);
    entry->event_count += sums->event_count;
    add_saturated(&entry->sum_ns, sums->sum_ns);
    add_saturated(&entry->kern_sum_ns, sums->kern_sum_ns);
    entry->min_ns = sums->min_ns < entry->min_ns ? sums->min_ns : entry->min_ns;
    entry->max_ns = sums->max_ns > entry->max_ns ? sums->max_ns : entry->max_ns;
    if (!entry->is_dirty)
        begin_waiting(rollup, entry, sums->first_rowid);
    else if (sums->first_rowid < entry->first_rowid)
        wait_from(rollup, entry, sums->first_rowid);
    if (sums->last_rowid > rollup->last_rowid)
        rollup->last_rowid = sums->last_rowid;
    return 0;
}

/* The statement that writes an entry; all but the first four columns are bound by the caller. A row
 * that is there is updated by its rowid: half the price of finding it by its key. */
static int prepare_write(struct store *store, const struct rollup_entry *entry,
                         sqlite3_stmt **out_statement, struct diag *diag)
{
    int rc;

    if (entry->rowid) {
        rc = store_statement(store, STORE_UPDATE_STAT,
                             "UPDATE op_stat SET event_count=?5,sum_ns=?6,min_ns=?7,max_ns=?8,"
                             "kern_sum_ns=?9,histogram=?10 WHERE rowid=?1",
                             out_statement, diag);
        if (rc == 0)
            sqlite3_bind_int64(*out_statement, 1, entry->rowid);
        return rc;
    }
    rc = store_statement(store, STORE_ADD_STAT,
                         "INSERT INTO op_stat(bucket_ns,start_ns,op_id,lane_kind,event_count,"
                         "sum_ns,min_ns,max_ns,kern_sum_ns,histogram)"
                         " VALUES(?,?,?,?,?,?,?,?,?,?)",
                         out_statement, diag);
    if (rc < 0)
        return rc;
    sqlite3_bind_int64(*out_statement, 1, ROLLUP_BUCKET_NS);
    sqlite3_bind_int64(*out_statement, 2, entry->start_ns);
    sqlite3_bind_int64(*out_statement, 3, entry->op_id);
    sqlite3_bind_text(*out_statement, 4, store_lane_kinds[entry->lane_kind], -1, SQLITE_STATIC);
    return 0;
}

static void note_written(struct rollup *rollup, struct rollup_entry *entry)
{
    if (entry->op_id > rollup->known_op_max)
        rollup->known_op_max = entry->op_id;
    if (entry->start_ns > rollup->written_ns)
        rollup->written_ns = entry->start_ns;
    rollup->dirty_count -= entry->is_dirty;
    entry->is_dirty = false;
    entry->idle_count = 0;
}

static int write_entry(struct store *store, struct rollup_entry *entry, struct diag *diag)
{
    char *text = store->rollup.text;
    size_t length = store_histogram_format(&entry->histogram, text);
    sqlite3_stmt *statement;
    int rc = prepare_write(store, entry, &statement, diag);

    if (rc < 0)
        return rc;
    sqlite3_bind_int64(statement, 5, entry->event_count);
    sqlite3_bind_int64(statement, 6, entry->sum_ns);
    sqlite3_bind_int64(statement, 7, entry->min_ns);
    sqlite3_bind_int64(statement, 8, entry->max_ns);
    sqlite3_bind_int64(statement, 9, entry->kern_sum_ns);
    sqlite3_bind_text(statement, 10, text, (int)length, SQLITE_STATIC);
    rc = store_step(store, statement, "write", diag);
    if (rc < 0)
        return rc;
    if (!entry->rowid)
        entry->rowid = sqlite3_last_insert_rowid(store->db);
    note_written(&store->rollup, entry);
    return 0;
}

/* New rows of op_stat, where many are put at once. */
static int write_gathered(struct store *store, struct diag *diag)
{
    return store_bulk_write(
        store, &store->bulks[STORE_BULK_STAT],
        "INSERT OR FAIL INTO op_stat(bucket_ns,start_ns,op_id,lane_kind,event_count,"
        "sum_ns,min_ns,max_ns,kern_sum_ns,histogram)",
        "", diag);
}

static int gather_entry(struct store *store, const struct rollup_entry *entry, struct diag *diag)
{
    struct bulk *bulk = &store->bulks[STORE_BULK_STAT];
    int rc;

    bulk->column_count = 10;
    bulk_int(bulk, ROLLUP_BUCKET_NS);
    bulk_int(bulk, entry->start_ns);
    bulk_int(bulk, entry->op_id);
    bulk_text(bulk, store_lane_kinds[entry->lane_kind]);
    bulk_int(bulk, entry->event_count);
    bulk_int(bulk, entry->sum_ns);
    bulk_int(bulk, entry->min_ns);
    bulk_int(bulk, entry->max_ns);
    bulk_int(bulk, entry->kern_sum_ns);
    store_histogram_format(&entry->histogram, store->rollup.text);
    bulk_text(bulk, store->rollup.text);
    rc = bulk_end_row(bulk);
    if (rc < 0)
        return diag_set(diag, rc, "no memory for the roll-ups of %s", store->path);
    return rc ? write_gathered(store, diag) : 0;
}

static bool is_to_write(const struct rollup_entry *entry, int64_t before_ns)
{
    return entry->is_dirty && entry->start_ns < before_ns;
}

/* New rows follow each other in the table as they do here: the last one tells where they are. */
static int write_new_entries(struct store *store, int64_t before_ns, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int64_t count = 0, rowid;
    int rc = 0;

    for (uint32_t i = 0; i < rollup->entry_count && rc == 0; i++) {
        if (!is_to_write(&rollup->entries[i], before_ns) || rollup->entries[i].rowid)
            continue;
        rc = gather_entry(store, &rollup->entries[i], diag);
        count++;
    }
    if (rc == 0)
        rc = write_gathered(store, diag);
    if (rc < 0)
        return rc;
    rowid = sqlite3_last_insert_rowid(store->db) - count;
    for (uint32_t i = 0; i < rollup->entry_count && count; i++) {
        struct rollup_entry *entry = &rollup->entries[i];

        if (!is_to_write(entry, before_ns) || entry->rowid)
            continue;
        entry->rowid = ++rowid;
        note_written(rollup, entry);
    }
    return 0;
}

/* Of those that are written, such that were not touched for a while, or begin before a time. */
static void forget(struct rollup *rollup, uint32_t idle_max, int64_t before_ns)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i < rollup->entry_count; i++) {
        struct rollup_entry *entry = &rollup->entries[i];

        if (entry->is_dirty || (entry->idle_count <= idle_max && entry->start_ns >= before_ns))
            rollup->entries[kept++] = *entry;
        else
            store_histogram_deinit(&entry->histogram);
    }
    if (kept == rollup->entry_count)
        return;
    rollup->entry_count = kept;
    rebuild_slots(rollup);
}

/* Buckets gone by are not touched any more; one that is touched late is read again. */
static void forget_idle(struct rollup *rollup)
{
    for (uint32_t i = 0; i < rollup->entry_count; i++)
        rollup->entries[i].idle_count++;
    forget(rollup, ROLLUP_IDLE_MAX,
           rollup->entry_count > ROLLUP_ENTRIES_KEPT ? rollup->bucket_ns : INT64_MIN);
}

void store_rollup_forget(struct rollup *rollup, int64_t before_ns)
{
    forget(rollup, UINT32_MAX, before_ns);
}

int store_rollup_write_rows(struct store *store, int64_t before_ns, struct diag *diag)
{
    struct rollup *rollup = &store->rollup;
    int rc = 0;

    if (rollup->dirty_count == 0)
        return 0;
    if (!rollup->text)
        rollup->text = malloc(STORE_HISTOGRAM_TEXT_MAX);
    if (!rollup->text)
        return diag_set(diag, -ENOMEM, "no memory for the roll-ups of %s", store->path);
    if (store->gathers)
        rc = write_new_entries(store, before_ns, diag);
    for (uint32_t i = 0; i < rollup->entry_count && rc == 0; i++) {
        if (is_to_write(&rollup->entries[i], before_ns))
            rc = write_entry(store, &rollup->entries[i], diag);
    }
    if (rc == 0)
        forget_idle(rollup);
    return rc;
}

int store_rollup_write_counted(struct store *store, struct diag *diag)
{
    int rc = store_rollup_write_rows(store, INT64_MAX, diag);

    if (rc == 0)
        rc = store_rollup_drop_mark(store, diag);
    if (rc == 0)
        store->rollup.last_ns = ot_clock_ns(CLOCK_MONOTONIC);
    return rc;
}

void store_rollup_clear(struct rollup *rollup)
{
    drop_entries(rollup);
    rollup->knows_ops = false;
    rollup->knows_mark = false;
    rollup->must_write = false;
    rollup->dirty_count = 0;
    rollup->last_rowid = 0;
    rollup->newest_ns = INT64_MIN;
}

void store_rollup_deinit(struct rollup *rollup)
{
    store_rollup_clear(rollup);
    free(rollup->entries);
    free(rollup->slots);
    free(rollup->text);
    memset(rollup, 0, sizeof(*rollup));
}
