/* SPDX-License-Identifier: Apache-2.0 */
/* load_and_run --c-opr-lib: operators of other libraries run, are recorded, and are refused with a
 * sentence where they do not fit. */
#include "base/exit_status.h"
#include "tests/support/check.h"
#include "tests/support/model_scene.h"
#include "tests/support/onnx_sample.h"
#include "tests/support/optraced.h"
#include "tests/support/place.h"
#include "tests/support/temp.h"

static char *example, *odd;

static const char *const no_daemon[] = {"OPTRACE_SOCKET=/nonexistent/collector.sock", NULL};

#define RUN(...) model_scene_run(no_daemon, MODEL_WORDS("model.onnx", "--iter", "1", __VA_ARGS__))

/* The sample's Add becomes an operator of a library: s = OP(x), y = Relu(s). */
struct model {
    struct onnx_sample sample;
    Onnx__OperatorSetIdProto opset;
};

static void init_model(struct model *model, char *op_type, void *data, size_t data_bytes)
{
    struct onnx_sample *s = &model->sample;

    onnx_sample_init(s);
    onnx__operator_set_id_proto__init(&model->opset);
    model->opset.domain = "optrace.extern";
    model->opset.has_version = 1;
    model->opset.version = 1;
    s->opsets[1] = &model->opset;
    s->model.n_opset_import = 2;
    s->nodes[0].domain = "optrace.extern";
    s->nodes[0].op_type = op_type;
    s->nodes[0].n_input = 1;
    s->graph.n_initializer = 0;
    if (!data)
        return;
    s->attribute.name = "data";
    s->attribute.has_type = s->attribute.has_s = 1;
    s->attribute.type = 3;
    s->attribute.s = (ProtobufCBinaryData){data_bytes, data};
    s->nodes[0].n_attribute = 1;
}

static void write_scale(float factor)
{
    struct model model;

    init_model(&model, "example_scale", &factor, sizeof(factor));
    model_scene_write_sample("model.onnx", &model.sample);
}

static void write_plain(char *op_type)
{
    struct model model;

    init_model(&model, op_type, NULL, 0);
    model_scene_write_sample("model.onnx", &model.sample);
}

static void expect_output(const float *wanted, size_t count)
{
    char *path = temp_path(model_scene.folder, "run0-var2");
    size_t size;
    char *bytes = temp_read(path, &size);

    assert_true(size > count * sizeof(*wanted));
    assert_memory_equal(bytes + size - count * sizeof(*wanted), wanted, count * sizeof(*wanted));
    free(bytes);
    free(path);
}

static void a_library_computes_its_nodes(void **state)
{
    struct child_result result;

    write_scale(2.5f);
    result = RUN("--c-opr-lib", example, "--input", "x:[-9,0.5,1],[-3,0,2]", "--bin-out-dump", ".");
    CHECK_CONTAINS(result.out, "loaded C opr library: ");
    model_scene_expect(result, EXIT_OK, "finished test",
                       "--c-opr-lib: 1 operators are computed by the library");
    expect_output((const float[]){0, 1.25f, 2.5f, 0, 0, 5}, 6);
    model_scene_expect(RUN("--c-opr-lib", example, "--verbose"), EXIT_OK, "",
                       "sum (example_scale) by c-opr, 0 bytes");
    model_scene_expect(
        RUN("--c-opr-lib", example, "--print-graph", "text", "--print-stage", "after"), 2, "",
        "no effect");
}

/* The same under other modes: against itself, and as a document. */
static void every_mode_knows_the_library(void **state)
{
    write_scale(3);
    model_scene_expect(model_scene_run(NULL, MODEL_WORDS("model.onnx", "--verify-against", "ref",
                                                         "--c-opr-lib", example)),
                       EXIT_OK, "loaded C opr library", "");
    model_scene_expect(model_scene_run(NULL, MODEL_WORDS("model.onnx", "--print-graph", "json",
                                                         "--c-opr-lib", example)),
                       EXIT_OK, "example_scale", "loaded C opr library");
}

static void outputs_that_nobody_reads_are_written_all_the_same(void **state)
{
    write_plain("two");
    model_scene_expect(
        RUN("--c-opr-lib", odd, "--input", "x:[-9,0.5,1],[-3,4,2]", "--bin-out-dump", "."), EXIT_OK,
        "get copr_param_device_ptr_h2d from: ", "");
    expect_output((const float[]){9, 0, 0, 3, 0, 0}, 6);
}

static void it_is_recorded_by_its_name(void **state)
{
    char variable[300], *text;
    const char *const environment[] = {variable, NULL};
    struct optraced daemon;

    write_scale(1);
    optraced_init(&daemon);
    optraced_start(&daemon, NULL);
    snprintf(variable, sizeof(variable), "OPTRACE_SOCKET=%s", daemon.socket);
    model_scene_expect(model_scene_run(environment, MODEL_WORDS("model.onnx", "--iter", "1",
                                                                "--c-opr-lib", example, "--trace")),
                       EXIT_OK, "", "");
    optraced_wait_for(&daemon, "SELECT count(*) FROM session WHERE end_ns IS NOT NULL", 1);
    text = optraced_query_text(&daemon, "SELECT name || ' ' || type || ' ' || count(*) || ' ' || "
                                        "coalesce(computation_flop, 'unknown') FROM op JOIN event "
                                        "USING (op_id) WHERE type = 'example_scale'");
    assert_string_equal(text, "sum example_scale 4 unknown");
    free(text);
    assert_int_equal(optraced_stop(&daemon), 0);
    optraced_deinit(&daemon);
}

/* The operator changes the model's input, which is read again behind it, or not. */
static void a_change_of_an_input_is_found(void **state)
{
    struct model model;

    init_model(&model, "vandal", NULL, 0);
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(RUN("--c-opr-lib", odd), EXIT_NO, "",
                       "sanity check: input \"x\" was changed in the run");
    model_scene_expect(RUN("--c-opr-lib", odd, "--no-sanity-check"), EXIT_OK, "finished test", "");
    model.sample.nodes[1].op_type = "Add";
    model.sample.names[1][1] = "x";
    model.sample.nodes[1].n_input = 2;
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(
        RUN("--c-opr-lib", odd), EXIT_NO, "",
        "sanity check: input \"x\" was changed and before node \"act\" (Add) read it");
}

/* s = x + w, t = vandal(s), y = s + t: the middle one changes s. */
static void a_change_of_a_tensor_is_found(void **state)
{
    struct model model;
    struct onnx_sample *s = &model.sample;
    Onnx__NodeProto last;
    char *names[] = {"s", "t", "y"};

    init_model(&model, "Add", NULL, 0);
    s->nodes[0].domain = "";
    s->nodes[0].n_input = 2;
    s->graph.n_initializer = 1;
    s->nodes[1].op_type = "vandal";
    s->nodes[1].domain = "optrace.extern";
    s->names[1][4] = "t";
    onnx__node_proto__init(&last);
    last.op_type = "Add";
    last.name = "last";
    last.input = names;
    last.n_input = 2;
    last.output = names + 2;
    last.n_output = 1;
    s->node_list[2] = &last;
    s->graph.n_node = 3;
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(
        RUN("--c-opr-lib", odd), EXIT_NO, "",
        "sanity check: tensor \"s\" was changed after node \"sum\" made it and before node "
        "\"last\" (Add) read it");
    model_scene_expect(RUN("--c-opr-lib", odd, "--no-sanity-check"), EXIT_OK, "finished test", "");
}

/* Whatever is tried gives other outputs than at first. */
static void options_that_give_other_outputs_are_skipped(void **state)
{
    struct child_result result;

    write_plain("counter");
    result = RUN("--c-opr-lib", odd, "--fitting");
    CHECK_CONTAINS(result.err,
                   "profile option: --cpu-default left out: its output 'y' differs in 1 elements");
    CHECK_CONTAINS(result.err, "profile option: --record-comp-seq left out: its output 'y'");
    model_scene_expect(result, EXIT_OK, "the best options: as given\n", "");
}

static void libraries_are_checked(void **state)
{
    write_scale(1);
    model_scene_expect(RUN("--c-opr-lib", "no/such.so"), EXIT_INPUT, "",
                       "cannot load the C opr library: no/s");
    model_scene_expect(RUN("--c-opr-lib", "model.onnx"), EXIT_INPUT, "",
                       "cannot load the C opr library: ");
    model_scene_expect(RUN("--c-opr-lib", example, "--c-opr-init-interface", "nothing"), EXIT_INPUT,
                       "", "has no function nothing: --c-opr-init-interface says");
    model_scene_expect(RUN("--c-opr-lib", odd, "--c-opr-init-interface", "init_of_old"), EXIT_INPUT,
                       "",
                       "built for version 0x23 of the interface of C operators, and this is 0x24");
    model_scene_expect(RUN("--c-opr-lib", odd, "--c-opr-init-interface", "init_of_nothing"),
                       EXIT_INPUT, "", "has registered no operator in init_of_nothing()");
    model_scene_expect(RUN("--c-opr-init-interface", "x"), EXIT_USAGE, "", "needs --c-opr-lib");
    model_scene_expect(RUN("--c-opr-lib-with-param"), EXIT_REFUSED, "", "ONNX models hold none");
}

static void nodes_are_checked(void **state)
{
    struct model model;

    write_scale(1);
    model_scene_expect(RUN("--verbose"), EXIT_INPUT, "",
                       "node \"sum\" (example_scale, opset 13): it needs a library that");
    model_scene_expect(RUN("--c-opr-lib", odd), EXIT_INPUT, "",
                       "registers no operator 'example_scale'");
    write_plain("gone");
    model_scene_expect(RUN("--c-opr-lib", odd), EXIT_INPUT, "", "registers no operator 'gone'");
    write_plain("large");
    model_scene_expect(RUN("--c-opr-lib", odd), EXIT_INPUT, "", "built for another interface");
    write_plain("empty");
    model_scene_expect(RUN("--c-opr-lib", odd), EXIT_INPUT, "", "descriptor lacks a function");
    write_plain("example_scale");
    model_scene_expect(RUN("--c-opr-lib", example), EXIT_INPUT, "",
                       "refuses the node's 1 inputs or its attr");
    init_model(&model, "example_append", NULL, 0);
    model.sample.shape.n_dim = 3;
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(RUN("--c-opr-lib", example), EXIT_INPUT, "", "gives no shape for output 0");
}

static void dtypes_are_checked(void **state)
{
    float factor = 1;
    struct model model;

    init_model(&model, "example_scale", &factor, sizeof(factor));
    model.sample.tensor_type.elem_type = 6; /* int32 */
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(RUN("--c-opr-lib", example), EXIT_INPUT, "", "gives no dtype for output 0");
    model.sample.tensor_type.elem_type = 7; /* int64 */
    model_scene_write_sample("model.onnx", &model.sample);
    model_scene_expect(
        RUN("--c-opr-lib", example), EXIT_INPUT, "",
        "input 0 is int64, and C operators know float32, int32, uint8, float16 and int16");
}

static int begin(void **state)
{
    example = place_program("examples/libextern_opr.so");
    odd = place_program("tests/flow/libodd_oprs.so");
    return model_scene_begin(state);
}

static int end(void **state)
{
    free(odd);
    free(example);
    return model_scene_end(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_library_computes_its_nodes),
        cmocka_unit_test(every_mode_knows_the_library),
        cmocka_unit_test(outputs_that_nobody_reads_are_written_all_the_same),
        cmocka_unit_test(it_is_recorded_by_its_name),
        cmocka_unit_test(a_change_of_an_input_is_found),
        cmocka_unit_test(a_change_of_a_tensor_is_found),
        cmocka_unit_test(options_that_give_other_outputs_are_skipped),
        cmocka_unit_test(libraries_are_checked),
        cmocka_unit_test(nodes_are_checked),
        cmocka_unit_test(dtypes_are_checked),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
