/* SPDX-License-Identifier: Apache-2.0 */
/* The table of exports, and which of them the command line means. */
#include <errno.h>
#include <string.h>

#include "analyze/export/export.h"
#include "base/text.h"

extern const struct export_kind export_chrome, export_csv, export_folded, export_megengine,
    export_pprof, export_speedscope, export_sqlite, export_stacks;

const struct export_kind *const export_kinds[] = {
    &export_chrome,    &export_csv,    &export_folded,
    &export_megengine, &export_pprof,  &export_speedscope,
    &export_sqlite,    &export_stacks, NULL,
};

enum { NAMES_MAX = 64 };

/* As --weight spells them: the choices of the option table. */
static const char *const weight_names[WEIGHTS] = {"time", "device", "calls", "bytes", "alloc"};

const struct export_kind *export_kind_of(const char *name, struct diag *diag)
{
    const char *names[NAMES_MAX], *nearest;
    size_t count = 0;

    for (size_t i = 0; export_kinds[i]; i++) {
        if (strcmp(export_kinds[i]->name, name) == 0)
            return export_kinds[i];
        if (count < NAMES_MAX)
            names[count++] = export_kinds[i]->name;
    }
    nearest = text_nearest(name, names, count);
    if (nearest)
        diag_set(diag, -EINVAL, "there is no export \"%s\": did you mean %s?", name, nearest);
    else
        diag_set(diag, -EINVAL, "there is no export \"%s\": --help lists those there are", name);
    return NULL;
}

int export_check_options(const struct analyze_options *options, struct diag *diag)
{
    const struct export_kind *kind = export_kind_of(options->export, diag);
    int weight = options->weight;

    if (!kind)
        return -EINVAL;
    if (weight != CHOICE_NONE && !kind->weights)
        return diag_set(diag, -EINVAL, "--weight has no effect on --export %s", kind->name);
    if (weight != CHOICE_NONE && !(kind->weights & 1U << weight))
        return diag_set(diag, -EINVAL, "--export %s has no weight \"%s\"", kind->name,
                        weight_names[weight]);
    if (options->append && !kind->can_append)
        return diag_set(diag, -EINVAL, "--export %s cannot be appended to a file", kind->name);
    if (options->append && options->output)
        return diag_set(diag, -EINVAL, "--append names the file already: leave out --output");
    if (kind->makes_file && options->force)
        return diag_set(diag, -EINVAL, "--force has no effect on --export %s: it replaces no file",
                        kind->name);
    if (kind->makes_file && !options->output)
        return diag_set(diag, -EINVAL, "--export %s needs -o FILE", kind->name);
    if (options->format != 0 || options->wiki || options->ascii)
        return diag_set(diag, -EINVAL, "--%s has no effect on --export",
                        options->ascii  ? "ascii"
                        : options->wiki ? "wiki (--confluence)"
                                        : "format");
    return 0;
}

void export_print_kinds(FILE *lines)
{
    for (size_t i = 0; export_kinds[i]; i++) {
        const struct export_kind *kind = export_kinds[i];

        text_print(lines, "%s  %s Usual ending: %s.", kind->name, kind->about, kind->suffix);
        for (int k = 0, first = 1; k < WEIGHTS; k++) {
            if (!(kind->weights & 1U << k))
                continue;
            text_print(lines, "%s%s", first ? " Weights: " : ", ", weight_names[k]);
            first = 0;
        }
        text_print(lines, "%s\n", kind->weights ? "." : "");
    }
}
