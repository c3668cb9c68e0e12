/* SPDX-License-Identifier: Apache-2.0 */
/* What is the same after each change of a graph. */
#include "runtime/passes/pass.h"

#include <errno.h>

int pass_settle(struct graph *graph, int changed, struct diag *diag)
{
    if (changed == 0)
        return 0;
    graph_remove_dead(graph);
    return graph_sort(graph, diag) < 0 ? -ENOMEM : changed;
}
