/* SPDX-License-Identifier: Apache-2.0 */
/* Telling files from sessions. */
#include "analyze/reports/compare/place.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyze/query/choose_sessions.h"

int compare_place_read(const char *text, struct compare_place *out_place)
{
    const char *colon = strrchr(text, ':');

    *out_place = (struct compare_place){0};
    if (access(text, F_OK) != 0) {
        if (is_choice_of_sessions(text)) {
            out_place->sessions = text;
            return 0;
        }
        if (colon && is_choice_of_sessions(colon + 1)) {
            out_place->sessions = colon + 1;
            out_place->path = strndup(text, (size_t)(colon - text));
            return out_place->path ? 0 : -ENOMEM;
        }
    }
    out_place->path = strdup(text);
    return out_place->path ? 0 : -ENOMEM;
}

void compare_place_deinit(struct compare_place *place)
{
    free(place->path);
    place->path = NULL;
}
