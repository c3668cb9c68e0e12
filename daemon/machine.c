/* SPDX-License-Identifier: Apache-2.0 */
/* The machine in a few words, from /proc and /sys. What is not there is left out. */
#include "daemon/machine.h"

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/json.h"

enum { LINE_MAX_BYTES = 512 };

/* What stands behind "NAME  : " in the first line of a file that begins so; with no name the first
 * line. Blanks at both ends are left out. Returns whether there is anything. */
static bool read_value(const char *path, const char *name, char *out_value)
{
    FILE *file = fopen(path, "re");
    char line[LINE_MAX_BYTES];
    size_t length = strlen(name);
    bool found = false;

    *out_value = '\0';
    while (file && !found && fgets(line, sizeof(line), file)) {
        char *value = line + length, *end;

        if (strncmp(line, name, length) != 0)
            continue;
        value += strspn(value, " \t");
        if (length && *value++ != ':')
            continue;
        value += strspn(value, " \t");
        end = value + strlen(value);
        while (end > value && strchr(" \t\r\n", end[-1]))
            end--;
        *end = '\0';
        memcpy(out_value, value, (size_t)(end - value) + 1);
        found = true;
    }
    if (file)
        fclose(file);
    return *out_value != '\0';
}

static void add_text(struct json_writer *json, const char *key, const char *path, const char *name)
{
    char value[LINE_MAX_BYTES];

    if (!read_value(path, name, value))
        return;
    json_key(json, key);
    json_string(json, value);
}

/* ARM says nothing of a model, but for the board. */
static void add_cpu(struct json_writer *json)
{
    char value[LINE_MAX_BYTES];
    long count = sysconf(_SC_NPROCESSORS_ONLN);

    if (read_value("/proc/cpuinfo", "model name", value))
        add_text(json, "cpu", "/proc/cpuinfo", "model name");
    else
        add_text(json, "cpu", "/sys/firmware/devicetree/base/model", "");
    if (count > 0) {
        json_key(json, "cpu_count");
        json_int(json, count);
    }
    add_text(json, "cpu_governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "");
}

static void add_memory(struct json_writer *json)
{
    char value[LINE_MAX_BYTES];
    unsigned long long kib;

    if (!read_value("/proc/meminfo", "MemTotal", value) || sscanf(value, "%llu kB", &kib) != 1)
        return;
    json_key(json, "memory_bytes");
    json_uint(json, (uint64_t)kib * 1024);
}

static void add_kernel(struct json_writer *json)
{
    struct utsname name;
    char text[sizeof(name.sysname) + sizeof(name.release) + 1];

    if (uname(&name) < 0)
        return;
    snprintf(text, sizeof(text), "%s %s", name.sysname, name.release);
    json_key(json, "kernel");
    json_string(json, text);
}

/* NVIDIA's driver lists its devices in folders named after their places on the bus. */
static void add_gpus(struct json_writer *json)
{
    static const char folder[] = "/proc/driver/nvidia/gpus";
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, NULL, alphasort);
    bool has_any = false;

    for (int i = 0; i < count; i++) {
        char path[sizeof(folder) + sizeof(entries[i]->d_name) + 16], value[LINE_MAX_BYTES];

        snprintf(path, sizeof(path), "%s/%s/information", folder, entries[i]->d_name);
        if (entries[i]->d_name[0] != '.' && read_value(path, "Model", value)) {
            if (!has_any) {
                json_key(json, "gpus");
                json_begin_array(json);
            }
            has_any = true;
            json_string(json, value);
        }
        free(entries[i]);
    }
    if (has_any)
        json_end_array(json);
    free(entries);
    add_text(json, "gpu_driver", "/sys/module/nvidia/version", "");
}

char *machine_describe(void)
{
    struct json_writer json;
    char *text = NULL;

    json_init_memory(&json);
    json_begin_object(&json);
    add_cpu(&json);
    add_memory(&json);
    add_kernel(&json);
    add_gpus(&json);
    json_end_object(&json);
    if (json_finish(&json) == 0) {
        text = json_take(&json, NULL);
        text[strcspn(text, "\n")] = '\0';
    }
    json_deinit(&json);
    return text;
}
