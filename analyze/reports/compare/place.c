/* SPDX-License-Identifier: Apache-2.0 */
/* Telling files from sessions. */
#include "analyze/reports/compare/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/query/choose_sessions.h"

int compare_place_read(const char *text, struct compare_place *out)
{
    const char *colon = strrchr(text, ':');

    *out = (struct compare_place){0};
    if (access(text, F_OK) != 0) {
        if (is_choice_of_sessions(text)) {
            out->sessions = text;
            return 0;
        }
        if (colon && is_choice_of_sessions(colon + 1)) {
            out->sessions = colon + 1;
            out->path = strndup(text, (size_t)(colon - text));
            return out->path ? 0 : -ENOMEM;
        }
    }
    out->path = strdup(text);
    return out->path ? 0 : -ENOMEM;
}

void compare_place_deinit(struct compare_place *place)
{
    free(place->path);
    place->path = NULL;
}
