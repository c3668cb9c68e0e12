/* SPDX-License-Identifier: Apache-2.0 */
/* Between the two halves of the importer: taking in, writing. */
#ifndef OPTRACE_ANALYZE_IMPORT_IMPORTER_PRIVATE_H
#define OPTRACE_ANALYZE_IMPORT_IMPORTER_PRIVATE_H

#include "analyze/import/importer.h"

/** The session's row; `session` NULL: what is known at the beginning. */
int importer_put_session(struct importer *importer, struct store_session *session,
                         struct diag *diag);

#endif
