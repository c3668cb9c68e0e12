/* SPDX-License-Identifier: Apache-2.0 */
/* What the readers of all members share: places of operators, and what is wrong with a document. */
#include "analyze/import/megengine/private.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

bool megengine_is_id(struct json_slice value)
{
    return value.kind == JSON_STRING || value.kind == JSON_NUMBER;
}

int megengine_no_memory(struct diag *diag)
{
    return diag_set(diag, -ENOMEM, "no memory for the profile");
}

int megengine_bad(struct megengine *megengine, uint64_t offset, struct diag *diag,
                  const char *format, ...)
{
    char text[300];
    va_list arguments;

    megengine->bad_count++;
    if (megengine->is_lenient)
        return 0;
    va_start(arguments, format);
    vsnprintf(text, sizeof(text), format, arguments);
    va_end(arguments);
    return json_stream_fault(megengine->stream, offset, text, diag);
}

int megengine_op_place(struct megengine *megengine, struct json_slice id, uint32_t *out_op,
                       struct diag *diag)
{
    struct megengine_op op = {.cost = SPOOL_NONE};

    if (text_ids_place(&megengine->op_ids, id.text, id.length, out_op) < 0 ||
        (*out_op == megengine->ops.count && array_push(&megengine->ops, op) < 0))
        return megengine_no_memory(diag);
    return 0;
}
