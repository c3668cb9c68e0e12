/* SPDX-License-Identifier: Apache-2.0 */
/* The runs that a question counts. */
#include <errno.h>

#include "analyze/query/private.h"

/* others_have: there are runs with ops, so that those without lack something. */
static int take_runs(const struct scan_session *session, bool others_have,
                     struct counted_runs *out_runs)
{
    for (size_t i = 0; i < session->run_count; i++) {
        const struct scan_run *run = &session->runs[i];
        struct counted_run row = {.session_id = session->session_id,
                                  .run = run->number,
                                  .start_ns = run->start_ns,
                                  .end_ns = run->end_ns,
                                  .lacks_events =
                                      run->lacks_events || (run->without_ops && others_have),
                                  .without_ops = run->without_ops};

        if (run->selected && run->start_ns >= session->from_ns &&
            run->start_ns < session->until_ns && array_push(out_runs, row) < 0)
            return -ENOMEM;
    }
    return 0;
}

int query_runs(struct store *store, const struct ops_question *question,
               struct counted_runs *out_runs, struct diag *diag)
{
    struct query_texts texts = {0};
    struct basis basis = {0};
    struct reading reading = {
        .store = store, .question = question, .texts = &texts, .basis = &basis};
    int rc;

    *out_runs = (struct counted_runs){0};
    rc = reading_open(&reading, diag);
    for (size_t i = 0; i < reading.sessions.count && rc == 0; i++)
        rc = take_runs(&reading.sessions.items[i], basis.runs_with_ops > 0, out_runs);
    reading_close(&reading);
    basis_deinit(&basis);
    query_texts_deinit(&texts);
    return rc == -ENOMEM ? diag_set(diag, rc, "no memory for the runs") : rc;
}
