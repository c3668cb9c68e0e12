/* SPDX-License-Identifier: Apache-2.0 */
/* optrace.h used from C++: scopes that end by an exception, handles, initializers. */
#include "client/optrace.h"

#include <stdexcept>

extern "C" unsigned client_cxx_probe(void);

namespace {

void leave_by_exception()
{
    OPTRACE_SCOPE("thrown");
    throw std::runtime_error("out of here");
}

template <typename Function>
void in_a_scope(uint32_t op, Function function)
{
    OPTRACE_OP_SCOPE(op);
    function();
}

} // namespace

/* Records six spans on the calling thread, in the order of their ends: thrown, inner,
 * middle and outer (around it), run, conv. Returns the op id of conv. */
extern "C" unsigned client_cxx_probe(void)
{
    optrace_op_info info = OPTRACE_OP_INFO("conv", "Conv");
    uint32_t conv = 0;

    info.computation_flop = 12;
    if (optrace_op_define(&info, &conv) < 0)
        return 0;
    try {
        leave_by_exception();
    } catch (const std::runtime_error &) {
    }
    in_a_scope(optrace_label("outer"), [] {
        /* clang-format off */
        OPTRACE_SCOPE("middle"); OPTRACE_SCOPE("inner");
        /* clang-format on */
    });
    optrace_run_end(optrace_run_begin(0, 0));
    optrace_end(optrace_begin(conv));
    return conv;
}
