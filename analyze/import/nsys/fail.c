/* SPDX-License-Identifier: Apache-2.0 */
/* What SQLite says is wrong with an export. */
#include "analyze/import/nsys/private.h"

#include <errno.h>

int nsys_fail(struct nsys *nsys, struct diag *diag)
{
    int code = sqlite3_errcode(nsys->db);
    int error = code == SQLITE_NOMEM ? -ENOMEM : code == SQLITE_CANTOPEN ? -EACCES : -EUCLEAN;

    return diag_set(diag, error, "cannot read %s: %s", nsys->name, sqlite3_errmsg(nsys->db));
}
