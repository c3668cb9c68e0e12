/* SPDX-License-Identifier: Apache-2.0 */
/* Recognising what a file is by its content, and opening it as a store. */
#include "analyze/source.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/import_megengine.h"
#include "base/file.h"

static const char supported[] = "supported are a store of optraced and the JSON of MegEngine's "
                                "load_and_run --profile";

static int open_default(struct source *source, struct diag *diag)
{
    char path[PATH_MAX];
    int rc = store_default_path(path, sizeof(path));

    if (rc < 0)
        return diag_set(diag, rc, "the path of the default store is too long");
    source->name = strdup(path);
    if (!source->name)
        return diag_set(diag, -ENOMEM, "no memory for the source");
    if (access(path, F_OK) < 0 && errno == ENOENT)
        return diag_set(diag, -ENOENT,
                        "there is no store at %s yet: start optraced and record something, or "
                        "name a file",
                        path);
    return store_open(path, STORE_READ, &source->store, diag);
}

/* The first bytes; fewer when the file is shorter. */
static int peek(const char *path, char *bytes, size_t size, size_t *out_length, struct diag *diag)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length;
    int error;

    if (fd < 0)
        return diag_set(diag, -errno, "cannot open %s: %s", path, strerror(errno));
    length = pread(fd, bytes, size, 0);
    error = errno;
    close(fd);
    if (length < 0 && error != ESPIPE) /* a pipe cannot be peeked into: JSON it must be */
        return diag_set(diag, -error, "cannot read %s: %s", path, strerror(error));
    *out_length = length < 0 ? 0 : (size_t)length;
    return 0;
}

static uint32_t line_of(const char *text, size_t offset)
{
    uint32_t line = 1;

    for (size_t i = 0; i < offset; i++)
        line += text[i] == '\n';
    return line;
}

static int parse_json(const char *path, const char *text, size_t size, cJSON **out_root,
                      struct diag *diag)
{
    const char *end = NULL;
    cJSON *root = cJSON_ParseWithLengthOpts(text, size, &end, false);
    size_t offset = end ? (size_t)(end - text) : 0;

    if (root)
        offset += strspn(end, " \t\r\n");
    if (root && offset == size) {
        *out_root = root;
        return 0;
    }
    cJSON_Delete(root);
    diag_set_at(diag, -EUCLEAN, (int64_t)offset, "%s: malformed JSON at byte %zu, line %u%s", path,
                offset, line_of(text, offset), offset + 1 >= size ? " (the text ends there)" : "");
    if (diag)
        diag->line = line_of(text, offset);
    return -EUCLEAN;
}

/* What a JSON document is that no importer here reads. */
static const char *describe_json(const cJSON *root)
{
    const cJSON *events = cJSON_GetObjectItemCaseSensitive(root, "traceEvents");
    const cJSON *first = cJSON_IsArray(root) ? root->child : events ? events->child : NULL;

    if (events || cJSON_GetObjectItemCaseSensitive(first, "ph"))
        return "is a Chrome trace";
    if (cJSON_IsObject(cJSON_GetObjectItemCaseSensitive(root, "profiler")))
        return "has \"profiler\" but no \"graph_exec\" or neither \"device\" nor \"host\" in it, "
               "so it is no whole profile of MegEngine";
    if (cJSON_GetObjectItemCaseSensitive(root, "graph_exec"))
        return "has \"graph_exec\" but no \"profiler\", so it is a MegEngine graph without times";
    return "is JSON, but no profile that is known here";
}

static int open_json(const char *path, struct source *source, struct diag *diag)
{
    cJSON *root = NULL;
    char *text = NULL;
    size_t size;
    int rc = file_read(path, SOURCE_JSON_BYTES_MAX, &text, &size, diag);

    if (rc < 0)
        return rc;
    if (strspn(text, " \t\r\n") == size)
        rc = diag_set(diag, -EUCLEAN, "%s is empty", path);
    else if (!strchr("{[", text[strspn(text, " \t\r\n")]))
        rc = diag_set(diag, -EUCLEAN, "%s is neither SQLite nor JSON: %s", path, supported);
    else
        rc = parse_json(path, text, size, &root, diag);
    free(text); /* cJSON keeps copies */
    if (rc == 0 && !import_megengine_recognises(root))
        rc = diag_set(diag, -EUCLEAN, "%s %s: %s", path, describe_json(root), supported);
    if (rc == 0)
        rc = store_open("", STORE_MEMORY, &source->store, diag);
    if (rc == 0)
        rc = import_megengine(root, path, source->store, diag);
    source->kind = SOURCE_MEGENGINE;
    cJSON_Delete(root);
    return rc;
}

int source_open(const char *path, struct source *out_source, struct diag *diag)
{
    static const char sqlite_magic[16] = "SQLite format 3";
    struct source source = {.kind = SOURCE_STORE};
    char head[16];
    size_t length = 0;
    int rc;

    if (!path) {
        rc = open_default(&source, diag);
        goto out;
    }
    source.name = strdup(path);
    rc = source.name ? peek(path, head, sizeof(head), &length, diag)
                     : diag_set(diag, -ENOMEM, "no memory for the source");
    if (rc < 0)
        goto out;
    if (length == sizeof(head) && memcmp(head, sqlite_magic, sizeof(head)) == 0)
        rc = store_open(path, STORE_READ, &source.store, diag);
    else if (length >= 2 && memcmp(head, "\x1f\x8b", 2) == 0)
        rc = diag_set(diag, -EUCLEAN, "%s is compressed: unpack it with gzip -d first; %s", path,
                      supported);
    else
        rc = open_json(path, &source, diag);
out:
    if (rc < 0)
        source_close(&source);
    else
        *out_source = source;
    return rc;
}

void source_close(struct source *source)
{
    store_close(&source->store);
    free(source->name);
    source->name = NULL;
}
