/* SPDX-License-Identifier: Apache-2.0 */
/* Steps as JSON. */
#include "runtime/session/step_json.h"

#include <string.h>

#include "runtime/graph/text.h"

/* Which of the op's inputs are the model's: readers know a run's batch size from their shapes. */
static void put_model_inputs(const struct exec_step *step, struct json_writer *json)
{
    uint32_t place = 0, found = 0;

    for (uint32_t i = 0; i < step->input_count; i++) {
        if (!step->inputs[i])
            continue;
        if (step->inputs[i]->is_input && found++ == 0) {
            json_key(json, "model_inputs");
            json_begin_array(json);
        }
        if (step->inputs[i]->is_input)
            json_int(json, place);
        place++;
    }
    if (found > 0)
        json_end_array(json);
}

void step_json_params(const struct exec_step *step, struct json_writer *json)
{
    json_begin_object(json);
    json_key(json, "implementation");
    json_string(json, step->implementation);
    if (!step->is_inner)
        put_model_inputs(step, json);
    if (strcmp(step->type, step->node->op_type) == 0)
        graph_text_params(step->node, json);
    json_end_object(json);
}
