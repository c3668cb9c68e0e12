/* SPDX-License-Identifier: Apache-2.0 */
/* What the encoders write, the decoders give back: random frames, all sizes of buffer, all limits.
 * The seed is fixed, so that a failure comes again; OPTRACE_SEED sets another. */
#include "tests/support/check.h"

#include "schema/wire/wire.h"
#include "tests/support/wire_sample.h"

enum { ROUNDS = 2000 };

static uint8_t frame[OT_WIRE_FRAME_BYTES_MAX + 64];
static uint64_t random_state;

/* splitmix64 */
static uint64_t random_u64(void)
{
    uint64_t z = random_state += UINT64_C(0x9e3779b97f4a7c15);

    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* 0 to max, where small numbers and max itself are as likely as all others together. */
static uint64_t random_up_to(uint64_t max)
{
    switch (random_u64() % 4) {
    case 0:
        return random_u64() % (max < 3 ? max + 1 : 3);
    case 1:
        return max;
    default:
        return max == UINT64_MAX ? random_u64() : random_u64() % (max + 1);
    }
}

static uint32_t random_id(uint32_t max)
{
    return 1 + (uint32_t)random_up_to(max - 1);
}

static uint32_t random_string_id(void)
{
    return (uint32_t)random_up_to(OT_WIRE_STRINGS_MAX);
}

/* Random characters of 1 to 4 bytes. `bytes` holds `capacity`. */
static struct ot_text random_text(char *bytes, size_t capacity)
{
    static const char *const characters[] = {
        "a", "Z", "/", "\xc3\xbc", "\xe6\xbc\xa2", "\xf0\x9f\x94\xa5"};
    size_t length = random_up_to(capacity);
    size_t at = 0;

    while (at < length) {
        const char *character = characters[random_u64() % 6];
        size_t size = strlen(character);

        if (size > length - at) {
            character = "x";
            size = 1;
        }
        memcpy(bytes + at, character, size);
        at += size;
    }
    return (struct ot_text){bytes, length};
}

static void seed_random(void)
{
    const char *set = getenv("OPTRACE_SEED");

    random_state = set ? strtoull(set, NULL, 10) : 1;
}

static void check_text(struct ot_text got, struct ot_text want)
{
    CHECK_U64(got.length, want.length);
    assert_memory_equal(got.bytes, want.bytes, want.length);
}

/* Encodes into one byte too few, then into exactly as many as needed; the byte behind stays as it
 * was. */
#define ENCODE(length, call)                                                                       \
    do {                                                                                           \
        size_t capacity = sizeof(frame);                                                           \
                                                                                                   \
        length = (call);                                                                           \
        if (length <= 0)                                                                           \
            fail_msg("%s: %d", #call, length);                                                     \
        capacity = (size_t)length - 1;                                                             \
        frame[capacity] = 0xa5;                                                                    \
        assert_int_equal((call), -ENOSPC);                                                         \
        CHECK_U64(frame[capacity], 0xa5);                                                          \
        capacity++;                                                                                \
        frame[capacity] = 0xa5;                                                                    \
        assert_int_equal((call), length);                                                          \
        CHECK_U64(frame[capacity], 0xa5);                                                          \
    } while (0)

static void strings_come_back(void **state)
{
    static char bytes[OT_WIRE_TEXT_BYTES_MAX];

    seed_random();
    for (int round = 0; round < ROUNDS; round++) {
        struct ot_text text = random_text(bytes, round % 50 ? 100 : sizeof(bytes));
        uint32_t id = random_id(OT_WIRE_STRINGS_MAX);
        struct ot_wire_string_view view;
        int length;

        ENCODE(length, ot_wire_encode_string(id, text, frame, capacity));
        CHECK_OK(ot_wire_decode_string(frame, (size_t)length, &view, NULL));
        CHECK_U64(view.fixed.string_id, id);
        check_text(view.text, text);
    }
}

static void hellos_come_back(void **state)
{
    static char bytes[4][UINT16_MAX];

    seed_random();
    for (int round = 0; round < ROUNDS / 10; round++) {
        const size_t capacity_of_text = round % 20 ? 60 : UINT16_MAX;
        const struct ot_wire_hello_texts texts = {
            random_text(bytes[0], capacity_of_text), random_text(bytes[1], capacity_of_text),
            random_text(bytes[2], capacity_of_text), random_text(bytes[3], capacity_of_text)};
        struct ot_wire_hello hello = {
            .magic = OT_WIRE_MAGIC,
            .version_major = OT_WIRE_VERSION_MAJOR,
            .features = random_u64(),
            .uuid = {1, (uint8_t)random_u64()},
            .pid = (uint32_t)random_up_to(INT32_MAX),
            .clock_kind = (uint32_t)random_up_to(OT_CLOCK_TSC),
            .ticks_per_s = random_up_to(OT_WIRE_TICKS_PER_S_MAX),
            .ticks = random_up_to(OT_WIRE_TIME_MAX),
            .monotonic_ns = random_up_to(OT_WIRE_TIME_MAX),
            .realtime_ns = random_up_to(OT_WIRE_TIME_MAX),
            .connection = (uint32_t)random_up_to(UINT32_MAX),
        };
        struct ot_wire_hello_view view;
        int length;

        ENCODE(length, ot_wire_encode_hello(&hello, &texts, frame, capacity));
        CHECK_OK(ot_wire_decode_hello(frame, (size_t)length, &view, NULL));
        check_text(view.texts.program, texts.program);
        check_text(view.texts.command, texts.command);
        check_text(view.texts.library, texts.library);
        check_text(view.texts.host, texts.host);
        /* The rest of the fixed part comes back as it was given. */
        hello.header = view.fixed.header;
        hello.program_bytes = view.fixed.program_bytes;
        hello.command_bytes = view.fixed.command_bytes;
        hello.library_bytes = view.fixed.library_bytes;
        hello.host_bytes = view.fixed.host_bytes;
        assert_memory_equal(&view.fixed, &hello, sizeof(hello));
    }
}

static void answers_and_byes_come_back(void **state)
{
    static char bytes[OT_WIRE_TEXT_BYTES_MAX];

    seed_random();
    for (int round = 0; round < ROUNDS; round++) {
        struct ot_text text = random_text(bytes, round % 50 ? 100 : sizeof(bytes));
        struct ot_wire_welcome welcome = {
            .version_major = OT_WIRE_VERSION_MAJOR,
            .version_minor = (uint16_t)random_up_to(UINT16_MAX),
            .status = (uint32_t)random_up_to(OT_WELCOME_DENIED),
            .features = random_u64(),
            .session_id = random_up_to(INT64_MAX),
            .inline_committed = random_up_to(OT_WIRE_COUNT_MAX),
            .level = (uint32_t)random_up_to(OT_LEVEL_DETAIL),
        };
        enum ot_wire_bye_reason reason = (enum ot_wire_bye_reason)random_up_to(OT_BYE_SHUTDOWN);
        struct ot_wire_welcome_view welcomed;
        struct ot_wire_bye_view bye;
        int length;

        ENCODE(length, ot_wire_encode_welcome(&welcome, text, frame, capacity));
        CHECK_OK(ot_wire_decode_welcome(frame, (size_t)length, &welcomed, NULL));
        check_text(welcomed.text, text);
        welcome.header = welcomed.fixed.header;
        welcome.text_bytes = (uint32_t)text.length;
        assert_memory_equal(&welcomed.fixed, &welcome, sizeof(welcome));

        ENCODE(length, ot_wire_encode_bye(reason, text, frame, capacity));
        CHECK_OK(ot_wire_decode_bye(frame, (size_t)length, &bye, NULL));
        assert_int_equal(bye.fixed.reason, reason);
        check_text(bye.text, text);
    }
}

struct definition {
    struct ot_wire_op op;
    struct ot_wire_shape shapes[OT_WIRE_TENSORS_MAX];
    int64_t dims[OT_WIRE_TENSORS_MAX][OT_WIRE_RANK_MAX];
    uint32_t origins[OT_WIRE_ORIGINS_MAX];
};

static int64_t random_size(void)
{
    return (int64_t)(random_up_to(UINT64_C(1) << 63) - 1); /* from -1 on */
}

static void random_definition(struct definition *definition, size_t tensor_max, size_t origin_max)
{
    size_t tensor_count = random_up_to(tensor_max);
    size_t input_count = random_up_to(tensor_count);

    definition->op = (struct ot_wire_op){
        .op_id = random_id(OT_WIRE_OPS_MAX),
        .name = random_id(OT_WIRE_STRINGS_MAX),
        .type = random_id(OT_WIRE_STRINGS_MAX),
        .model_id = (uint32_t)random_up_to(OT_WIRE_MODELS_MAX),
        .node_id = random_string_id(),
        .device = random_string_id(),
        .params = random_string_id(),
        .source = random_string_id(),
        .computation_flop = random_size(),
        .memory_bytes = random_size(),
        .workspace_bytes = random_size(),
        .input_count = (uint16_t)input_count,
        .output_count = (uint16_t)(tensor_count - input_count),
        .origin_count = (uint16_t)random_up_to(origin_max),
    };
    for (size_t i = 0; i < tensor_count; i++) {
        struct ot_wire_shape *shape = &definition->shapes[i];

        shape->tensor.dtype = (uint16_t)random_up_to(OT_DTYPE_I4);
        shape->tensor.rank = (uint16_t)random_up_to(OT_WIRE_RANK_MAX);
        shape->tensor.name = random_string_id();
        shape->dims = shape->tensor.rank ? definition->dims[i] : NULL;
        for (size_t k = 0; k < shape->tensor.rank; k++)
            definition->dims[i][k] = random_size();
    }
    for (size_t i = 0; i < definition->op.origin_count; i++)
        definition->origins[i] = random_id(OT_WIRE_STRINGS_MAX);
}

static void check_definition(const struct ot_wire_op_view *view,
                             const struct definition *definition)
{
    const size_t count = (size_t)definition->op.input_count + definition->op.output_count;
    struct ot_wire_tensor_iter tensors = view->tensors;
    struct ot_wire_op want = definition->op;
    int64_t dims[OT_WIRE_RANK_MAX];
    struct ot_wire_tensor tensor;

    want.header = view->fixed.header;
    assert_memory_equal(&view->fixed, &want, sizeof(want));
    for (size_t i = 0; i < count; i++) {
        assert_true(ot_wire_next_tensor(&tensors, &tensor, dims));
        assert_memory_equal(&tensor, &definition->shapes[i].tensor, sizeof(tensor));
        if (tensor.rank)
            assert_memory_equal(dims, definition->dims[i], tensor.rank * sizeof(dims[0]));
    }
    assert_false(ot_wire_next_tensor(&tensors, &tensor, dims));
    for (uint32_t i = 0; i < want.origin_count; i++)
        CHECK_U64(ot_wire_origin(view, i), definition->origins[i]);
}

static void ops_come_back(void **state)
{
    static struct definition definition;

    seed_random();
    for (int round = 0; round < ROUNDS; round++) {
        struct ot_wire_op_view view;
        int length;

        random_definition(&definition, round % 20 ? 6 : OT_WIRE_TENSORS_MAX,
                          round % 20 ? 6 : OT_WIRE_ORIGINS_MAX);
        ENCODE(length, ot_wire_encode_op(&definition.op, definition.shapes, definition.origins,
                                         frame, capacity));
        CHECK_OK(ot_wire_decode_op(frame, (size_t)length, &view, NULL));
        check_definition(&view, &definition);
    }
}

/* Change one byte of a sound definition: it is refused, or decodes to what differs only there. The
 * decoder must neither read what it did not check nor overlook a byte. */
static void changed_ops_are_refused_or_read_as_changed(void **state)
{
    static struct definition definition;
    size_t refused = 0;

    seed_random();
    for (int round = 0; round < ROUNDS; round++) {
        uint64_t before, after;
        uint8_t *copy;
        size_t place;
        int length, rc;

        random_definition(&definition, 6, 6);
        length = ot_wire_encode_op(&definition.op, definition.shapes, definition.origins, frame,
                                   sizeof(frame));
        assert_true(length > 0);
        CHECK_OK(wire_sample_visit(OT_FRAME_OP, frame, (size_t)length, &before, NULL));
        copy = malloc((size_t)length);
        assert_non_null(copy);
        memcpy(copy, frame, (size_t)length);
        place = random_u64() % (size_t)length;
        copy[place] ^= (uint8_t)(1u << random_u64() % 8);
        rc = wire_sample_visit(OT_FRAME_OP, copy, (size_t)length, &after, NULL);
        if (rc == 0 && after == before)
            fail_msg("round %d: byte %zu of %d is not read", round, place, length);
        refused += rc != 0;
        free(copy);
    }
    assert_in_range(refused, ROUNDS / 20, ROUNDS - ROUNDS / 20);
}

static void events_come_back(void **state)
{
    static struct ot_wire_record records[OT_WIRE_EVENTS_MAX];

    seed_random();
    for (size_t i = 0; i < sizeof(records) / 8; i++)
        ((uint64_t *)records)[i] = random_u64();
    for (int round = 0; round < ROUNDS / 10; round++) {
        uint32_t count = (uint32_t)random_up_to(round % 20 ? 40 : OT_WIRE_EVENTS_MAX);
        uint64_t first = random_up_to(OT_WIRE_COUNT_MAX);
        struct ot_wire_events_view view;
        int length;

        ENCODE(length, ot_wire_encode_events(first, records, count, frame, capacity));
        CHECK_OK(ot_wire_decode_events(frame, (size_t)length, &view, NULL));
        CHECK_U64(view.fixed.first_sequence, first);
        CHECK_U64(view.fixed.record_count, count);
        for (uint32_t i = 0; i < count; i++) {
            struct ot_wire_record record = ot_wire_record_at(&view, i);

            assert_memory_equal(&record, &records[i], sizeof(record));
        }
    }
}

static void encoders_refuse_what_decoders_would(void **state)
{
    static char bytes[OT_WIRE_TEXT_BYTES_MAX + 1];
    const struct ot_text too_long = {bytes, sizeof(bytes)};
    const struct ot_text latin1 = {"gr\xfc\xdf", 4};
    const struct ot_text good = {"ok", 2};
    struct ot_wire_welcome welcome = {.version_major = OT_WIRE_VERSION_MAJOR};
    struct ot_wire_hello hello = {
        .magic = OT_WIRE_MAGIC, .version_major = OT_WIRE_VERSION_MAJOR, .uuid = {1}};
    struct ot_wire_hello_texts texts = {.program = good};

    memset(bytes, 'x', sizeof(bytes));
    assert_int_equal(ot_wire_encode_string(1, too_long, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_string(1, latin1, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_string(0, good, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_string(1, good, frame, 4), -ENOSPC);
    assert_int_equal(ot_wire_encode_bye(OT_BYE_DONE, too_long, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_bye(3, good, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_welcome(&welcome, too_long, frame, sizeof(frame)), -EINVAL);
    welcome.level = 3;
    assert_int_equal(ot_wire_encode_welcome(&welcome, good, frame, sizeof(frame)), -EINVAL);
    assert_true(ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame)) > 0);
    for (size_t i = 0; i < 4; i++) {
        struct ot_wire_hello_texts long_texts = {.program = good};
        struct ot_text *const each[] = {&long_texts.program, &long_texts.command,
                                        &long_texts.library, &long_texts.host};

        *each[i] = too_long;
        assert_int_equal(ot_wire_encode_hello(&hello, &long_texts, frame, sizeof(frame)), -EINVAL);
    }
    texts.host = latin1;
    assert_int_equal(ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame)), -EINVAL);
    texts.host = good;
    hello.magic = 0;
    assert_int_equal(ot_wire_encode_hello(&hello, &texts, frame, sizeof(frame)), -EINVAL);
    assert_int_equal(ot_wire_encode_events(0, NULL, OT_WIRE_EVENTS_MAX + 1, frame, sizeof(frame)),
                     -EINVAL);
    assert_int_equal(ot_wire_encode_events(UINT64_MAX, NULL, 0, frame, sizeof(frame)), -EINVAL);
}

static void op_encoder_refuses_what_the_decoder_would(void **state)
{
    static struct definition definition;
    struct ot_wire_op *op = &definition.op;

    op->op_id = op->name = op->type = 1;
    op->input_count = OT_WIRE_TENSORS_MAX;
    op->output_count = 1;
    assert_int_equal(ot_wire_encode_op(op, definition.shapes, NULL, frame, sizeof(frame)), -EINVAL);
    op->output_count = 0;
    assert_true(ot_wire_encode_op(op, definition.shapes, NULL, frame, sizeof(frame)) > 0);
    definition.shapes[255].tensor.rank = OT_WIRE_RANK_MAX + 1;
    assert_int_equal(ot_wire_encode_op(op, definition.shapes, NULL, frame, sizeof(frame)), -EINVAL);
    definition.shapes[255].tensor.rank = 1;
    definition.shapes[255].dims = definition.dims[0];
    definition.dims[0][0] = -2;
    assert_int_equal(ot_wire_encode_op(op, definition.shapes, NULL, frame, sizeof(frame)), -EINVAL);
    definition.dims[0][0] = -1;
    op->origin_count = OT_WIRE_ORIGINS_MAX + 1;
    assert_int_equal(ot_wire_encode_op(op, definition.shapes, NULL, frame, sizeof(frame)), -EINVAL);
    op->origin_count = 1; /* of id 0 */
    assert_int_equal(
        ot_wire_encode_op(op, definition.shapes, definition.origins, frame, sizeof(frame)),
        -EINVAL);
    definition.origins[0] = 1;
    assert_true(ot_wire_encode_op(op, definition.shapes, definition.origins, frame, sizeof(frame)) >
                0);
}

static void sound_text_and_clean_text_agree(void **state)
{
    char bytes[64], clean[64];

    seed_random();
    for (int round = 0; round < ROUNDS; round++) {
        struct ot_text text = random_text(bytes, sizeof(bytes));
        size_t capacity = random_up_to(sizeof(clean));
        size_t length = ot_wire_clean_text(text.bytes, text.length, clean, capacity);

        /* Sound text is cut only: at most 3 bytes before the capacity. */
        assert_memory_equal(clean, bytes, length);
        assert_true(length == text.length || (length <= capacity && length + 3 >= capacity));
        assert_true(
            ot_wire_encode_string(1, (struct ot_text){clean, length}, frame, sizeof(frame)) > 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(strings_come_back),
        cmocka_unit_test(hellos_come_back),
        cmocka_unit_test(answers_and_byes_come_back),
        cmocka_unit_test(ops_come_back),
        cmocka_unit_test(changed_ops_are_refused_or_read_as_changed),
        cmocka_unit_test(events_come_back),
        cmocka_unit_test(encoders_refuse_what_decoders_would),
        cmocka_unit_test(op_encoder_refuses_what_the_decoder_would),
        cmocka_unit_test(sound_text_and_clean_text_agree),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
