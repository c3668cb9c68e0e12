/* SPDX-License-Identifier: Apache-2.0 */
/* The bytes of the hexdump in schema/wire/wire.md, and of each frame, are those that the encoders
 * write. */
#include <string.h>

#include "schema/wire/wire.h"
#include "tests/support/check.h"
#include "tests/support/doc_rows.h"
#include "tests/support/golden.h"
#include "tests/support/wire_sample.h"

/* Takes the next block of lines "0000  00 01 ...  | meaning". Returns the count of bytes. */
static size_t read_hexdump(const char **at, uint8_t out[WIRE_SAMPLE_MAX])
{
    char line[DOC_LINE_BYTES];
    size_t size = 0;

    do {
        if (!doc_next_line(at, line))
            fail_msg("wire.md has too few hexdumps");
    } while (strncmp(line, "0000  ", 6) != 0);
    do {
        char *bar = strchr(line, '|');
        char *cursor = line + 4;

        assert_non_null(bar);
        *bar = 0;
        line[4] = 0;
        CHECK_U64(strtoul(line, NULL, 16), size);
        for (cursor++; *(cursor += strspn(cursor, " ")); size++) {
            assert_in_range(size, 0, WIRE_SAMPLE_MAX - 1);
            out[size] = (uint8_t)strtoul(cursor, &cursor, 16);
        }
    } while (doc_next_line(at, line) && strcmp(line, "```") != 0);
    return size;
}

static void check_bytes(const uint8_t *got, size_t got_size, const uint8_t *want, size_t want_size)
{
    for (size_t i = 0; i < got_size && i < want_size; i++) {
        if (got[i] != want[i])
            fail_msg("the hexdump of wire.md has %02x at %04zx, the encoder writes %02x", got[i], i,
                     want[i]);
    }
    CHECK_U64(got_size, want_size);
}

static void hexdump_is_what_the_encoders_write(void **state)
{
    char *text = doc_read("schema/wire/wire.md");
    const char *at = strstr(text, "\n## 11. ");
    uint8_t got[WIRE_SAMPLE_MAX], want[WIRE_SAMPLE_MAX];
    size_t frames, size;
    uint64_t sum;

    assert_non_null(at);
    size = read_hexdump(&at, got);
    check_bytes(got, size, want, wire_sample_client(want));
    CHECK_OK(wire_sample_follow(got, size, &frames, &sum, NULL));
    CHECK_U64(frames, 9);
    size = read_hexdump(&at, got);
    check_bytes(got, size, want, wire_sample_daemon(want));
    CHECK_OK(wire_sample_follow(got, size, &frames, &sum, NULL));
    CHECK_U64(frames, 2);
    free(text);
}

/* A change of layout that the document follows is still a change of the protocol. */
static void frames_have_their_golden_bytes(void **state)
{
    char text[32768];
    size_t length = 0;

    for (uint32_t type = OT_FRAME_HELLO; type <= WIRE_SAMPLE_LAST; type++) {
        uint8_t frame[WIRE_SAMPLE_MAX];
        size_t size = wire_sample_frame(type, frame);

        if (!wire_sample_exists(type))
            continue;
        length +=
            (size_t)snprintf(text + length, sizeof(text) - length, "%s", ot_wire_frame_name(type));
        for (size_t i = 0; i < size; i++)
            length += (size_t)snprintf(text + length, sizeof(text) - length, "%s%02x",
                                       i % 32 == 0  ? "\n  "
                                       : i % 8 == 0 ? " "
                                                    : "",
                                       frame[i]);
        length += (size_t)snprintf(text + length, sizeof(text) - length, "\n");
        assert_in_range(length, 1, sizeof(text) - 1);
    }
    golden_check("wire_frames.txt", text, length);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hexdump_is_what_the_encoders_write),
        cmocka_unit_test(frames_have_their_golden_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
