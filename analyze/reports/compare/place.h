/* SPDX-License-Identifier: Apache-2.0 */
/* "FILE", "FILE:SESSIONS" or "SESSIONS": where a recording is. */
#ifndef OPTRACE_ANALYZE_REPORTS_COMPARE_PLACE_H
#define OPTRACE_ANALYZE_REPORTS_COMPARE_PLACE_H

struct compare_place {
    char *path; /* NULL: the text names no file */
    /* For choose_sessions(), points into the text; NULL: the text names none. */
    const char *sessions;
};

/** The name of a file that is there means this file, whatever it looks like. Returns 0 or -ENOMEM;
 *  give *out_place to compare_place_deinit() after 0. */
int compare_place_read(const char *text, struct compare_place *out_place);
void compare_place_deinit(struct compare_place *place);

#endif
