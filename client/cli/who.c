/* SPDX-License-Identifier: Apache-2.0 */
/* Words into selections. */
#include "client/cli/who.h"

#include <errno.h>
#include <stdlib.h>

static int parse_number(const char *option, const char *text, uint64_t *out_number,
                        struct diag *diag)
{
    char *end;

    errno = 0;
    *out_number = strtoull(text, &end, 10);
    if (errno || *end || text[0] < '0' || text[0] > '9' || *out_number > INT64_MAX)
        return diag_set(diag, -EINVAL, "--%s takes a whole number, not '%s'", option, text);
    return 0;
}

int who_fill(const struct option_list *pids, const struct option_list *sessions,
             const struct option_list *programs, struct desk_select *out_selects, size_t *out_count,
             struct diag *diag)
{
    const struct {
        const char *name;
        const struct option_list *list;
        uint32_t kind;
    } lists[] = {{"pid", pids, OT_SELECT_PID},
                 {"session", sessions, OT_SELECT_SESSION},
                 {"program", programs, OT_SELECT_PROGRAM}};
    size_t count = 0;

    for (size_t l = 0; l < sizeof(lists) / sizeof(lists[0]); l++) {
        for (size_t i = 0; i < lists[l].list->count; i++) {
            struct desk_select select = {.kind = lists[l].kind};
            const char *text = lists[l].list->items[i];

            if (count == OT_WIRE_SELECTS_MAX)
                return diag_set(diag, -EINVAL, "more than %d programs are chosen one by one",
                                OT_WIRE_SELECTS_MAX);
            if (select.kind == OT_SELECT_PROGRAM)
                select.program = text;
            else if (parse_number(lists[l].name, text, &select.number, diag) < 0)
                return -EINVAL;
            out_selects[count++] = select;
        }
    }
    *out_count = count;
    return 0;
}
