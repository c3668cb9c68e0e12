/* SPDX-License-Identifier: Apache-2.0 */
/* What --export pprof writes, unpacked by a parser made from tests/support/pprof.proto. */
#include <string.h>
#include <zlib.h>

#include "tests/support/check.h"
#include "tests/support/child.h"
#include "tests/support/odd_store.h"
#include "tests/support/place.h"
#include "tests/support/pprof.pb-c.h"
#include "tests/support/temp.h"

enum { BYTES_MAX = 1 << 20 };

/* Writes the profile of a session of the odd store, and reads it. */
static Profile *profile_of(const char *session, const char *file_name)
{
    char *dir = temp_create(), *program = place_program("analyze/profile_analyze");
    char *store = temp_path(dir, "store.db"), *path = temp_path(dir, file_name);
    const char *argv[] = {program, store,       "--export", "pprof", "-o",
                          path,    "--session", session,    NULL};
    uint8_t *bytes = malloc(BYTES_MAX);
    struct child_result result;
    Profile *profile;
    gzFile gzip;
    int length;

    odd_store_make(store);
    result = child_run(argv, NULL);
    if (result.status != 0)
        fail_msg("status %d: %s", result.status, result.err);
    gzip = gzopen(path, "rb");
    length = gzread(gzip, bytes, BYTES_MAX);
    assert_int_equal(gzdirect(gzip), 0); /* it was compressed, once */
    gzclose(gzip);
    assert_true(length > 0);
    profile = profile__unpack(NULL, (size_t)length, bytes);
    assert_non_null(profile);
    child_result_deinit(&result);
    free(bytes);
    free(path);
    free(store);
    free(program);
    temp_destroy(&dir);
    return profile;
}

static const char *text(const Profile *profile, int64_t place)
{
    assert_true(place >= 0 && (size_t)place < profile->n_string_table);
    return profile->string_table[place];
}

static const Function *function_of(const Profile *profile, uint64_t location_id)
{
    for (size_t i = 0; i < profile->n_location; i++) {
        if (profile->location[i]->id != location_id)
            continue;
        for (size_t k = 0; k < profile->n_function; k++) {
            assert_int_equal(profile->location[i]->n_line, 1);
            if (profile->function[k]->id == profile->location[i]->line[0]->function_id)
                return profile->function[k];
        }
    }
    fail_msg("no location %llu", (unsigned long long)location_id);
    return NULL;
}

/* "inner < outer" and the values behind it. */
static char *describe(const Profile *profile, const Sample *sample)
{
    char *out;
    size_t size;
    FILE *stream = open_memstream(&out, &size);

    for (size_t i = 0; i < sample->n_location_id; i++)
        fprintf(stream, "%s%s", i ? " < " : "",
                text(profile, function_of(profile, sample->location_id[i])->name));
    for (size_t i = 0; i < sample->n_value; i++)
        fprintf(stream, " %lld", (long long)sample->value[i]);
    fclose(stream);
    return out;
}

static void check_samples(const Profile *profile, const char *const *wanted, size_t count)
{
    CHECK_U64(profile->n_sample, count);
    for (size_t i = 0; i < count; i++) {
        char *got = describe(profile, profile->sample[i]);

        assert_string_equal(got, wanted[i]);
        free(got);
    }
}

static void types_have_units(void **state)
{
    static const char *const types[][2] = {{"calls", "count"},
                                           {"host_time", "nanoseconds"},
                                           {"device_time", "nanoseconds"},
                                           {"moved", "bytes"},
                                           {"allocated", "bytes"}};
    Profile *profile = profile_of("2", "p.pb.gz");

    CHECK_U64(profile->n_sample_type, 5);
    for (size_t i = 0; i < 5; i++) {
        assert_string_equal(text(profile, profile->sample_type[i]->type), types[i][0]);
        assert_string_equal(text(profile, profile->sample_type[i]->unit), types[i][1]);
    }
    assert_string_equal(profile->string_table[0], "");
    assert_string_equal(text(profile, profile->default_sample_type), "device_time");
    CHECK_U64((uint64_t)profile->time_nanos, (uint64_t)SMALL_STORE_SECOND_NS);
    CHECK_U64((uint64_t)profile->duration_nanos, 71000000);
    profile__free_unpacked(profile, NULL);
}

static void stacks_weigh_what_spans_took(void **state)
{
    static const char *const hello[] = {
        "phase one 1 6000000 0 0 0",
        "outer < phase one 3 18000000 0 0 0",
        "inner < outer < phase one 3 12000000 0 0 0",
    };
    static const char *const resnet[] = {
        "load 1 5000000 0 0 0",          "conv1 0 2000000 0 0 0",
        "relu1 0 1000000 0 0 0",         "conv1 < conv1 3 0 26000000 11553024 0",
        "relu1 < relu1 3 0 8000000 0 0",
    };
    Profile *profile = profile_of("1", "p.pb"); /* compressed whatever its name */

    check_samples(profile, hello, 3);
    assert_string_equal(text(profile, profile->default_sample_type), "host_time");
    profile__free_unpacked(profile, NULL);
    profile = profile_of("2", "p.pb.gz");
    check_samples(profile, resnet, 5);
    profile__free_unpacked(profile, NULL);
}

static void functions_know_their_place(void **state)
{
    Profile *profile = profile_of("3", "p.pb.gz");
    bool seen = false;

    for (size_t i = 0; i < profile->n_function; i++) {
        const Function *function = profile->function[i];

        if (strncmp(text(profile, function->name), "gemm", 4) != 0)
            continue;
        assert_string_equal(text(profile, function->filename), "net.py");
        CHECK_U64((uint64_t)function->start_line, 2);
        assert_string_equal(text(profile, function->name), "gemm \"A\\B\";\nline two ?");
        seen = true;
    }
    assert_true(seen);
    profile__free_unpacked(profile, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(types_have_units),
        cmocka_unit_test(stacks_weigh_what_spans_took),
        cmocka_unit_test(functions_know_their_place),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
