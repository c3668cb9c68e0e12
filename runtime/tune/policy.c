/* SPDX-License-Identifier: Apache-2.0 */
/* What timing kernels has found: in memory, as text, in a file. */
#include "runtime/tune/policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define MAGIC "optrace-policy "
#define AGAIN "delete it and have it made again with --fast-run"

uint64_t policy_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* Entries */

static uint64_t hash_of(const char *machine, const char *key)
{
    return policy_hash(policy_hash(POLICY_HASH_START, machine, strlen(machine)), key, strlen(key));
}

static struct policy_entry *find(const struct policy *policy, const char *machine, const char *key)
{
    uint64_t hash = hash_of(machine, key);

    for (size_t i = 0; i < policy->entries.count; i++) {
        struct policy_entry *entry = &policy->entries.items[i];

        if (entry->hash == hash && strcmp(entry->key, key) == 0 &&
            strcmp(entry->machine, machine) == 0)
            return entry;
    }
    return NULL;
}

const struct policy_entry *policy_find(const struct policy *policy, const char *machine,
                                       const char *key)
{
    return find(policy, machine, key);
}

int policy_put(struct policy *policy, const char *machine, const char *key,
               const struct policy_time *times, int count)
{
    struct policy_entry *entry = find(policy, machine, key);

    if (!entry) {
        struct policy_entry fresh = {
            .machine = strdup(machine), .key = strdup(key), .hash = hash_of(machine, key)};
        int rc = policy->entries.count == POLICY_ENTRIES_MAX ? -ENOSPC : 0;

        if (rc == 0 && (!fresh.machine || !fresh.key))
            rc = -ENOMEM;
        if (rc == 0)
            rc = array_push(&policy->entries, fresh);
        if (rc < 0) {
            free(fresh.machine);
            free(fresh.key);
            return rc;
        }
        entry = &policy->entries.items[policy->entries.count - 1];
    }
    entry->count = count;
    if (count > 0)
        memcpy(entry->times, times, (size_t)count * sizeof(*times));
    return 0;
}

void policy_deinit(struct policy *policy)
{
    for (size_t i = 0; i < policy->entries.count; i++) {
        free(policy->entries.items[i].machine);
        free(policy->entries.items[i].key);
    }
    array_deinit(&policy->entries);
}

/* Text */

static uint64_t checksum(const char *bytes, size_t size)
{
    return policy_hash(POLICY_HASH_START, bytes, size);
}

static const char *const verdict_words[] = {
    [POLICY_AGREES] = "agrees ",
    [POLICY_DIFFERS] = "differs ",
};

static void write_time(const struct policy_time *time, FILE *out)
{
    fprintf(out, "time %" PRIu64 " %" PRIu64 " %s\n", time->time_ns, time->workspace_bytes,
            time->name);
    if (time->verdict != POLICY_NOT_COMPARED)
        fprintf(out, "%s%016" PRIx64 "\n", verdict_words[time->verdict], time->mark);
}

/* Machines come in groups: those of one are written together. */
static void write_entries(const struct policy *policy, FILE *out)
{
    for (size_t i = 0; i < policy->entries.count; i++) {
        const char *machine = policy->entries.items[i].machine;
        bool is_written = false;

        for (size_t j = 0; j < i && !is_written; j++)
            is_written = strcmp(policy->entries.items[j].machine, machine) == 0;
        if (is_written)
            continue;
        fprintf(out, "machine %s\n", machine);
        for (size_t j = i; j < policy->entries.count; j++) {
            const struct policy_entry *entry = &policy->entries.items[j];

            if (strcmp(entry->machine, machine) != 0)
                continue;
            fprintf(out, "op %s\n", entry->key);
            for (int k = 0; k < entry->count; k++)
                write_time(&entry->times[k], out);
        }
    }
}

int policy_encode(const struct policy *policy, char **out_bytes, size_t *out_size)
{
    char *bytes = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&bytes, &size);

    if (!out)
        return -ENOMEM;
    fprintf(out, MAGIC "%d\n", POLICY_VERSION);
    write_entries(policy, out);
    if (fflush(out) == 0)
        fprintf(out, "checksum %016" PRIx64 "\n", checksum(bytes, size));
    if (fclose(out) != 0) {
        free(bytes);
        return -ENOMEM;
    }
    *out_bytes = bytes;
    *out_size = size;
    return 0;
}

/* Reading: the text is cut into lines, and each taken by its first word. */
struct reader {
    struct policy *policy;
    const char *name;
    char machine[POLICY_LINE_BYTES], key[POLICY_LINE_BYTES];
    struct policy_time times[POLICY_TIMES_MAX];
    int count;
    uint32_t line;
    struct diag *diag;
};

static int damaged(struct reader *reader, const char *what)
{
    return diag_set(reader->diag, -EINVAL, "%s is damaged: line %" PRIu32 ": %s; " AGAIN,
                    reader->name, reader->line, what);
}

static int finish_op(struct reader *reader)
{
    int rc = 0;

    if (reader->key[0] != '\0')
        rc = policy_put(reader->policy, reader->machine, reader->key, reader->times, reader->count);
    reader->key[0] = '\0';
    reader->count = 0;
    if (rc == -ENOSPC)
        return damaged(reader, "too many operations");
    return rc < 0 ? diag_set(reader->diag, rc, "out of memory") : 0;
}

/* "123 456 name" */
static int read_time(struct reader *reader, const char *text)
{
    struct policy_time *time = &reader->times[reader->count];
    int end = 0;

    if (reader->key[0] == '\0')
        return damaged(reader, "a time without an operation");
    if (reader->count == POLICY_TIMES_MAX)
        return damaged(reader, "too many times of one operation");
    /* Digits only: scanf would take signs and blanks, and wrap around. */
    if (strspn(text, "0123456789 ") < 4 || text[0] == ' ' || strspn(text, "0123456789") > 18 ||
        sscanf(text, "%" SCNu64 " %" SCNu64 " %n", &time->time_ns, &time->workspace_bytes, &end) !=
            2 ||
        end == 0 || end > 40 || text[end] == '\0' || strlen(text + end) >= POLICY_NAME_BYTES)
        return damaged(reader, "no time");
    snprintf(time->name, sizeof(time->name), "%s", text + end);
    time->verdict = POLICY_NOT_COMPARED;
    time->mark = 0;
    reader->count++;
    return 0;
}

/* 16 digits and nothing else. */
static bool read_hex(const char *text, uint64_t *out_number)
{
    if (strspn(text, "0123456789abcdef") != 16)
        return false;
    *out_number = strtoull(text, NULL, 16);
    return true;
}

static int read_verdict(struct reader *reader, enum policy_verdict verdict, const char *text)
{
    struct policy_time *time = reader->count > 0 ? &reader->times[reader->count - 1] : NULL;

    if (!time || time->verdict != POLICY_NOT_COMPARED)
        return damaged(reader, "a verdict without a time");
    if (strlen(text) != 16 || !read_hex(text, &time->mark))
        return damaged(reader, "no mark");
    time->verdict = verdict;
    return 0;
}

static int read_line(struct reader *reader, const char *line)
{
    int rc;

    if (strncmp(line, "time ", 5) == 0)
        return read_time(reader, line + 5);
    for (int i = POLICY_AGREES; i <= POLICY_DIFFERS; i++)
        if (strncmp(line, verdict_words[i], strlen(verdict_words[i])) == 0)
            return read_verdict(reader, (enum policy_verdict)i, line + strlen(verdict_words[i]));
    rc = finish_op(reader);
    if (rc < 0)
        return rc;
    if (strncmp(line, "machine ", 8) == 0 && line[8] != '\0') {
        snprintf(reader->machine, sizeof(reader->machine), "%s", line + 8);
    } else if (strncmp(line, "op ", 3) == 0 && line[3] != '\0') {
        if (reader->machine[0] == '\0')
            return damaged(reader, "an operation without a machine");
        snprintf(reader->key, sizeof(reader->key), "%s", line + 3);
    } else {
        return damaged(reader, "neither machine nor op nor time");
    }
    return 0;
}

/* The lines behind the first and before the checksum's. */
static int read_lines(struct reader *reader, const char *at, const char *end)
{
    char line[POLICY_LINE_BYTES];
    int rc = 0;

    while (rc == 0 && at < end) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);

        reader->line++;
        if (!stop || length >= sizeof(line))
            return damaged(reader, "it does not end");
        memcpy(line, at, length);
        line[length] = '\0';
        for (size_t i = 0; i < length; i++)
            if ((unsigned char)line[i] < ' ' || line[i] == 0x7f)
                return damaged(reader, "a control character");
        rc = read_line(reader, line);
        at = stop + 1;
    }
    return rc == 0 ? finish_op(reader) : rc;
}

/* Where the last line, "checksum HEX", begins; NULL when it is not there. */
static const char *find_checksum(const char *bytes, size_t size, uint64_t *out_value)
{
    static const char word[] = "checksum ";
    enum { LINE = sizeof(word) - 1 + 16 + 1 };
    const char *at = bytes + size - LINE;

    if (size <= LINE || at[-1] != '\n' || memcmp(at, word, sizeof(word) - 1) != 0 ||
        at[LINE - 1] != '\n' || !read_hex(at + sizeof(word) - 1, out_value))
        return NULL;
    return at;
}

int policy_decode(struct policy *policy, const char *bytes, size_t size, const char *name,
                  struct diag *diag)
{
    const size_t magic = sizeof(MAGIC) - 1;
    struct reader *reader;
    const char *first_end, *end;
    uint64_t want = 0;
    int version = 0, rc;

    if (size < magic || memcmp(bytes, MAGIC, magic) != 0)
        return diag_set(diag, -EINVAL,
                        "%s is no policy file of load_and_run: it does not begin with "
                        "\"" MAGIC "\"",
                        name);
    first_end = memchr(bytes, '\n', size);
    for (const char *at = bytes + magic; first_end && at < first_end && version >= 0; at++)
        version = *at >= '0' && *at <= '9' && version < 100000 ? version * 10 + *at - '0' : -1;
    if (first_end && (version < 1 || version > POLICY_VERSION))
        return diag_set(diag, -EINVAL,
                        "%s is a policy file of another version than 1 to %d, which this program "
                        "knows; " AGAIN,
                        name, POLICY_VERSION);
    end = find_checksum(bytes, size, &want);
    if (!first_end || !end || end <= first_end)
        return diag_set(diag, -EINVAL, "%s is truncated: it does not end in a checksum; " AGAIN,
                        name);
    if (checksum(bytes, (size_t)(end - bytes)) != want)
        return diag_set(diag, -EINVAL, "%s is damaged: its checksum does not fit; " AGAIN, name);
    reader = calloc(1, sizeof(*reader));
    if (!reader)
        return diag_set(diag, -ENOMEM, "out of memory");
    *reader = (struct reader){.policy = policy, .name = name, .line = 1, .diag = diag};
    rc = read_lines(reader, first_end + 1, end);
    free(reader);
    return rc;
}

/* Files */

int policy_load(struct policy *policy, const char *path, struct diag *diag)
{
    char *bytes;
    size_t size;
    int rc = file_read(path, POLICY_FILE_BYTES, &bytes, &size, diag);

    if (rc < 0)
        return rc;
    rc = policy_decode(policy, bytes, size, path, diag);
    free(bytes);
    return rc;
}

int policy_save(const struct policy *policy, const char *path, struct diag *diag)
{
    struct file_part part = {0};
    char *bytes = NULL;
    int rc = policy_encode(policy, &bytes, &part.size);

    if (rc < 0)
        return diag_set(diag, rc, "out of memory");
    part.bytes = bytes;
    rc = file_replace(path, &part, 1, diag);
    free(bytes);
    return rc;
}

int policy_open(struct policy *policy, const char *path, bool makes, struct diag *diag)
{
    int rc;

    if (access(path, F_OK) == 0)
        return policy_load(policy, path, diag);
    if (errno != ENOENT)
        return diag_set(diag, -errno, "cannot read %s: %s", path, strerror(errno));
    if (!makes)
        return diag_set(diag, -ENOENT,
                        "%s does not exist: --fast-run or --full-run beside "
                        "--fast-run-algo-policy makes it",
                        path);
    /* An hour of timing is not to end in "permission denied". */
    rc = policy_save(policy, path, diag);
    if (rc == 0)
        unlink(path);
    return rc < 0 ? rc : 1;
}
