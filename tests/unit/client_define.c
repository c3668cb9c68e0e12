/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions as a daemon gets them, and what is refused. */
#include <pthread.h>

#include "client/optrace.h"
#include "tests/support/check.h"
#include "tests/support/client_place.h"

/* A text of the daemon; "(none)" for id 0. */
static const char *text(const struct client_place *place, uint32_t id)
{
    return id ? place->daemon->texts[id] : "(none)";
}

static void an_op_arrives_whole(void **state)
{
    struct client_place *place = *state;
    const int64_t input_dims[] = {1, 3, 224, 224};
    const int64_t output_dims[] = {-1, 64};
    const struct optrace_tensor inputs[] = {
        {.name = "x", .dims = input_dims, .rank = 4, .dtype = OPTRACE_DTYPE_F32}};
    const struct optrace_tensor outputs[] = {
        {.dims = output_dims, .rank = 2, .dtype = OPTRACE_DTYPE_BF16},
        {.name = "scalar", .rank = 0, .dtype = OPTRACE_DTYPE_I64}};
    const char *const origins[] = {"Conv_0", "Relu_1"};
    struct optrace_model_info model = {
        .name = "net", .path = "/m/net.onnx", .format = "onnx", .parameter_bytes = 1000};
    struct optrace_op_info info = OPTRACE_OP_INFO("conv1", "Conv");
    const struct ot_wire_op *op;
    uint32_t id, model_id;

    CHECK_OK(optrace_model_define(&model, &model_id));
    info.model = model_id;
    info.node_id = "7";
    info.device = "cpu:0";
    info.params = "{\"stride\": [2, 2]}";
    info.source = "net.c:1";
    info.inputs = inputs;
    info.input_count = 1;
    info.outputs = outputs;
    info.output_count = 2;
    info.origins = origins;
    info.origin_count = 2;
    info.computation_flop = 0;
    info.memory_bytes = 12345;
    CHECK_OK(optrace_op_define(&info, &id));
    CHECK_OK(optrace_flush(60000));
    op = &place->daemon->ops[id];
    assert_string_equal(text(place, op->name), "conv1");
    assert_string_equal(text(place, op->type), "Conv");
    assert_string_equal(text(place, op->node_id), "7");
    assert_string_equal(text(place, op->device), "cpu:0");
    assert_string_equal(text(place, op->params), "{\"stride\": [2, 2]}");
    assert_string_equal(text(place, op->source), "net.c:1");
    assert_int_equal(op->model_id, model_id);
    assert_int_equal(op->computation_flop, 0);
    assert_int_equal(op->memory_bytes, 12345);
    assert_int_equal(op->workspace_bytes, -1);
    assert_int_equal(op->input_count, 1);
    assert_int_equal(op->output_count, 2);
    assert_int_equal(op->origin_count, 2);
    CHECK_U64(place->daemon->op_bytes[id], sizeof(*op) + (8 + 32) + (8 + 16) + 8 + 8);
    assert_string_equal(text(place, place->daemon->models[model_id].path), "/m/net.onnx");
    assert_string_equal(text(place, place->daemon->models[model_id].digest), "(none)");
    CHECK_U64(place->daemon->models[model_id].parameter_bytes, 1000);
}

static void wrong_definitions_are_refused(void **state)
{
    struct client_place *place = *state;
    const struct optrace_tensor tensor = {.rank = 17};
    struct optrace_op_info info = OPTRACE_OP_INFO("name", NULL);
    struct optrace_lane_info lane = {.name = "thread", .kind = OPTRACE_LANE_THREAD};
    const struct optrace_model_info model = {.path = "no name"};
    uint32_t id = 77;

    CHECK_OK(optrace_flush(60000));
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    info.type = "Conv";
    info.model = 4000;
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    info.model = 0;
    info.inputs = &tensor;
    info.input_count = 1;
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    info.input_count = 257;
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    info.input_count = UINT32_MAX;
    info.output_count = 2;
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    info.input_count = info.output_count = 0;
    info.memory_bytes = -2;
    assert_int_equal(optrace_op_define(&info, &id), -EINVAL);
    assert_int_equal(optrace_lane_define(&lane, &id), -EINVAL);
    assert_int_equal(optrace_model_define(&model, &id), -EINVAL);
    assert_int_equal(optrace_name(OPTRACE_LABEL, NULL), 0);
    assert_int_equal(optrace_name((enum optrace_name_type)99, "x"), 0);
    assert_int_equal(optrace_thread_name(NULL), -EINVAL);
    assert_int_equal(id, 77);
    client_place_drain(place, 0); /* and nothing odd has been sent */
}

static void names_are_defined_once_per_type(void **state)
{
    struct client_place *place = *state;
    uint32_t label = optrace_label("same");
    uint32_t phase = optrace_name(OPTRACE_PHASE, "same");

    assert_int_not_equal(label, 0);
    assert_int_not_equal(label, phase);
    assert_int_equal(optrace_label("same"), label);
    assert_int_equal(optrace_name(OPTRACE_PHASE, "same"), phase);
    CHECK_OK(optrace_flush(60000));
    assert_string_equal(text(place, place->daemon->ops[label].type), "label");
    assert_string_equal(text(place, place->daemon->ops[phase].type), "phase");
    assert_int_equal(place->daemon->ops[label].computation_flop, -1);
}

/* In a thread of its own, whose lane is not made yet. */
static void *name_and_record(void *argument)
{
    uint32_t *lane = argument;

    if (optrace_thread_name("main loop") != 0)
        return NULL;
    *lane = optrace_thread_lane();
    optrace_end(optrace_begin(optrace_label("named")));
    return optrace_thread_name("too late") == -EALREADY ? lane : NULL;
}

static void lanes_are_described(void **state)
{
    struct client_place *place = *state;
    const struct optrace_lane_info info = {
        .name = "stream 7", .device = "cuda:0", .kind = OPTRACE_LANE_STREAM, .native_id = 7};
    uint32_t own = 0;
    uint32_t lane;
    pthread_t thread;
    void *done;

    CHECK_OK(optrace_lane_define(&info, &lane));
    CHECK_OK(pthread_create(&thread, NULL, name_and_record, &own));
    pthread_join(thread, &done);
    assert_non_null(done);
    assert_int_not_equal(own, 0);
    assert_int_not_equal(own, lane);
    CHECK_OK(optrace_flush(60000));
    assert_string_equal(text(place, place->daemon->lanes[lane].name), "stream 7");
    assert_string_equal(text(place, place->daemon->lanes[lane].device), "cuda:0");
    assert_int_equal(place->daemon->lanes[lane].kind, OT_LANE_STREAM);
    CHECK_U64(place->daemon->lanes[lane].native_id, 7);
    assert_string_equal(text(place, place->daemon->lanes[own].name), "main loop");
    assert_int_equal(place->daemon->lanes[own].kind, OT_LANE_THREAD);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, client_place_setup, client_place_teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        CASE(an_op_arrives_whole),
        CASE(wrong_definitions_are_refused),
        CASE(names_are_defined_once_per_type),
        CASE(lanes_are_described),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
