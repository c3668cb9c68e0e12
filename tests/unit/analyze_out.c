/* SPDX-License-Identifier: Apache-2.0 */
/* The same cells through each printer: widths, escapes, scales, unknown values, failures. */
#include <cjson/cJSON.h>
#include <math.h>

#include "analyze/out/out.h"
#include "analyze/out/private.h"
#include "tests/support/check.h"

static const struct out_column columns[] = {
    {.name = "rank", .title = "self time", .wiki = "#"},
    {.name = "time_ns", .wiki = "time", .wiki_bar = "bar"},
    {.name = "name", .title = "name", .wiki = "name", .wrap = 6},
    {.name = "bytes", .title = "memory", .wiki = "MiB"},
    {.name = "note", .data_only = true},
};

static void fill(struct out *out)
{
    static const struct out_section facts = {.name = "totals"};
    static const struct out_section table = {.name = "ops", .title = "The ops"};

    out_facts(out, &facts,
              (struct out_fact[]){
                  {"total_ns", "total time", out_number(OUT_NS, 12.5e6)},
                  {"host_ns", "host", out_number(OUT_NS, 3e9)},
                  {"hidden", NULL, out_integer(OUT_INT, 7)},
                  {NULL, "in words", out_number(OUT_NS, 2e9)},
              },
              4);
    out_table_begin(out, &table, columns, 5);
    out_row(out, (struct out_value[]){out_integer(OUT_RANK, 0), out_number(OUT_NS, 1.5e6),
                                      out_text("\xe5\x90\x8d\xe5\x89\x8d-long|name"),
                                      out_number(OUT_BYTES, 3851008), out_text("a,\"b\"")});
    out_row(out, (struct out_value[]){out_integer(OUT_RANK, 1), out_number(OUT_NS, 5e5),
                                      out_text("\033[1m\n\xff"), out_number(OUT_BYTES, NAN),
                                      out_unknown(OUT_TEXT)});
    out_table_end(out);
    out_note(out, OUT_NOTE_WARNING, "%d lost", 3);
}

/* What a printer writes; *out_side, when asked for, is what went beside. The caller frees both. */
static char *print(enum out_format format, bool ascii, char **out_side)
{
    char *text = NULL, *side = NULL;
    size_t size, side_size;
    struct out_options options = {.format = format, .report = "test", .ascii = ascii};
    struct diag diag = {0};
    struct out *out;

    options.stream = open_memstream(&text, &size);
    options.side = open_memstream(&side, &side_size);
    CHECK_OK(out_open(&options, &out));
    fill(out);
    CHECK_OK(out_close(&out, &diag));
    assert_null(out);
    fclose(options.stream);
    fclose(options.side);
    if (out_side)
        *out_side = side;
    else
        free(side);
    return text;
}

static void table_minds_widths_and_escapes(void **state)
{
    char *text = print(OUT_FORMAT_TABLE, true, NULL);

    assert_string_equal(text, "----------  ------\n"
                              "total time  0.0125\n"
                              "host        3\n"
                              "in words    2\n"
                              "----------  ------\n"
                              "\n"
                              "The ops\n"
                              "+-------------+-----------+----------+\n"
                              "| self time   | name      | memory   |\n"
                              "+=============+===========+==========+\n"
                              "| #0          | \xe5\x90\x8d\xe5\x89\x8d-l    | 3.67     |\n"
                              "| 0.0015      | -  ong|na | MiB      |\n"
                              "|             | -  me     |          |\n"
                              "+-------------+-----------+----------+\n"
                              "| #1          | \\x1b[1    | N/A      |\n"
                              "| 0.0005      | -  m\\x0a  | B        |\n"
                              "|             | -  \\xff   |          |\n"
                              "+-------------+-----------+----------+\n"
                              "\n"
                              "3 lost\n");
    free(text);
}

static void long_facts_take_several_lines(void **state)
{
    static const struct out_section section = {.name = "totals"};
    char *text = NULL;
    size_t size;
    struct out_options options = {.format = OUT_FORMAT_TABLE, .report = "test", .width = 40};
    struct diag diag = {0};
    struct out *out;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    out_facts(out, &section,
              (struct out_fact[]){
                  {"a", "batch size", out_text("not recorded")},
                  {"b", "overhead", out_text("unknown: nothing was launched on a device")},
              },
              2);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    assert_string_equal(text, "----------  --------------------\n"
                              "batch size  not recorded\n"
                              "overhead    unknown: nothing was\n"
                              "            launched on a device\n"
                              "----------  --------------------\n");
    free(text);
}

/* Titles are not cut, values have what they leave. */
static void facts_fit_a_narrow_terminal(void **state)
{
    static const struct out_section section = {.name = "totals"};
    char *text = NULL;
    size_t size;
    struct out_options options = {.format = OUT_FORMAT_TABLE, .report = "test", .width = 47};
    struct diag diag = {0};
    struct out *out;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    out_facts(out, &section,
              (struct out_fact[]){{"a", "overhead time: run - instructions",
                                   out_text("1.700 ms, 8.01% of the total time")}},
              1);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    assert_string_equal(text, "---------------------------------  ------------\n"
                              "overhead time: run - instructions  1.700 ms,\n"
                              "                                   8.01% of the\n"
                              "                                   total time\n"
                              "---------------------------------  ------------\n");
    free(text);
}

static void json_is_exact(void **state)
{
    char *text = print(OUT_FORMAT_JSON, false, NULL);
    cJSON *root = cJSON_Parse(text);
    const cJSON *rows, *row;

    assert_non_null(root);
    CHECK_NEAR(cJSON_GetObjectItem(root, "format_version")->valuedouble, 1, 0);
    CHECK_NEAR(cJSON_GetObjectItem(cJSON_GetObjectItem(root, "totals"), "hidden")->valuedouble, 7,
               0);
    assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(root, "totals")), 3);
    rows = cJSON_GetObjectItem(cJSON_GetObjectItem(root, "ops"), "rows");
    assert_int_equal(cJSON_GetArraySize(rows), 2);
    row = cJSON_GetArrayItem(rows, 0);
    CHECK_NEAR(cJSON_GetObjectItem(row, "time_ns")->valuedouble, 1500000, 0);
    CHECK_NEAR(cJSON_GetObjectItem(row, "bytes")->valuedouble, 3851008, 0);
    assert_string_equal(cJSON_GetObjectItem(row, "note")->valuestring, "a,\"b\"");
    row = cJSON_GetArrayItem(rows, 1);
    assert_true(cJSON_IsNull(cJSON_GetObjectItem(row, "bytes")));
    assert_string_equal(cJSON_GetObjectItem(row, "name")->valuestring, "\033[1m\n\xef\xbf\xbd");
    row = cJSON_GetArrayItem(cJSON_GetObjectItem(root, "notes"), 0);
    assert_string_equal(cJSON_GetObjectItem(row, "kind")->valuestring, "warning");
    cJSON_Delete(root);
    free(text);
}

static void csv_has_tables_only(void **state)
{
    char *side, *text = print(OUT_FORMAT_CSV, false, &side);

    assert_string_equal(text,
                        "rank,time_ns,name,bytes,note\n"
                        "0,1500000,\xe5\x90\x8d\xe5\x89\x8d-long|name,3851008,\"a,\"\"b\"\"\"\n"
                        "1,500000,\"\\x1b[1m\n\\xff\",,\n");
    assert_string_equal(side, "total time: 0.0125 s\nhost: 3 s\nin words: 2 s\n3 lost\n");
    free(text);
    free(side);
}

/* A cell of text, as CSV has it. */
static void check_csv_cell(const char *text, const char *expected)
{
    static const struct out_column two[] = {{.name = "name"}, {.name = "delta_ns"}};
    const struct out_section section = {.name = "ops"};
    const struct out_value row[] = {out_text(text), out_integer(OUT_INT, -5)};
    char *printed = NULL, *wanted;
    size_t size;
    FILE *stream = open_memstream(&printed, &size);
    struct out_options options = {.format = OUT_FORMAT_CSV, .stream = stream};
    struct diag diag = {0};
    struct out *out;

    CHECK_OK(out_open(&options, &out));
    out_table_begin(out, &section, two, 2);
    out_row(out, row);
    out_table_end(out);
    CHECK_OK(out_close(&out, &diag));
    fclose(stream);
    assert_true(asprintf(&wanted, "name,delta_ns\n%s,-5\n", expected) > 0);
    assert_string_equal(printed, wanted);
    free(printed);
    free(wanted);
}

/* Spreadsheets compute what begins like a formula. */
static void csv_has_no_formulas(void **state)
{
    check_csv_cell("=1+1", "'=1+1");
    check_csv_cell("=HYPERLINK(\"http://x\",\"y\")", "\"'=HYPERLINK(\"\"http://x\"\",\"\"y\"\")\"");
    check_csv_cell("+cmd|' /C calc'!A0", "'+cmd|' /C calc'!A0");
    check_csv_cell("-2+3", "'-2+3");
    check_csv_cell("@SUM(A1)", "'@SUM(A1)");
    check_csv_cell("\t=1", "'\t=1");
    check_csv_cell("\r=1", "\"'\r=1\"");
    check_csv_cell("\n=1", "\"'\n=1\"");
    check_csv_cell("-", "'-");
    check_csv_cell("-e5", "'-e5");
    check_csv_cell("-0x10", "'-0x10");
    check_csv_cell("-1 ", "'-1 ");
    /* What has one already gets another, so that taking one away gives the text back. */
    check_csv_cell("'=1", "''=1");
    check_csv_cell("'quoted'", "''quoted'");
    /* Numbers are none, nor is what begins otherwise. */
    check_csv_cell("-1", "-1");
    check_csv_cell("+1.5e-3", "+1.5e-3");
    check_csv_cell("-.5", "-.5");
    check_csv_cell("-12.", "-12.");
    check_csv_cell("a=1", "a=1");
    check_csv_cell("1-2", "1-2");
    check_csv_cell("", "");
    check_csv_cell(" =1", " =1");
    /* What steers is written out; lines and tabs are not. */
    check_csv_cell("\x1b[2Ja\xe2\x80\xaeg\xff\n\tb", "\"\\x1b[2Ja\\u202eg\\xff\n\tb\"");
}

static void wiki_has_bars_and_escapes(void **state)
{
    char *text = print(OUT_FORMAT_WIKI, false, NULL);

    CHECK_CONTAINS(text, "h3. The ops\n|| # || time || bar || name || MiB ||\n");
    CHECK_CONTAINS(text, "| 0 | 0.0015 | ############### | \xe5\x90\x8d\xe5\x89\x8d-long\\|name | "
                         "3.67 |\n");
    CHECK_CONTAINS(text, "| 1 | 0.0005 | ##### | \\x1b[1m\\x0a\\xff | N/A |\n");
    CHECK_CONTAINS(text, "|| name || value ||\n| total time | 0.0125 |\n");
    free(text);
}

static void markdown_has_units_and_escapes(void **state)
{
    char *text = print(OUT_FORMAT_MARKDOWN, false, NULL);

    assert_string_equal(text,
                        "### Totals\n"
                        "\n"
                        "| name | value |\n"
                        "| :--- | ---: |\n"
                        "| total time | 12.500 ms |\n"
                        "| host | 3.000 s |\n"
                        "| in words | 2.000 s |\n"
                        "\n"
                        "### The ops\n"
                        "\n"
                        "| rank | time | name | memory |\n"
                        "| ---: | ---: | :--- | ---: |\n"
                        "| #0 | 1.500 ms | \xe5\x90\x8d\xe5\x89\x8d-long\\|name | 3.67 MiB |\n"
                        "| #1 | 500.000 µs | \\\\x1b\\[1m\\\\x0a\\\\xff | - |\n"
                        "\n"
                        "- **Warning:** 3 lost\n");
    free(text);
}

/* Columns whose texts try to leave their place in the page. */
static void fill_hostile(struct out *out)
{
    static const char hostile[] = "</script><img src=x onerror=\"alert(1)\">&amp;'";
    static const struct out_column hostile_columns[] = {
        {.name = "name", .title = "<b>name</b>"},
        {.name = "time_ns", .title = "time"},
    };
    static const struct out_chart chart = {
        .kind = OUT_CHART_BARS, .label = "name", .values = {"time_ns"}, .about = hostile};
    static const struct out_section facts = {.name = "facts", .title = hostile};
    static const struct out_section table = {.name = "ops", .chart = &chart};

    out_facts(out, &facts, (struct out_fact[]){{"a", hostile, out_text(hostile)}}, 1);
    out_table_begin(out, &table, hostile_columns, 2);
    for (int i = 0; i < 2; i++)
        out_row(out, (struct out_value[]){out_text(hostile), out_number(OUT_NS, 1.5 + i)});
    out_row(out, (struct out_value[]){out_text("other"), out_unknown(OUT_NS)});
    out_table_end(out);
    out_note(out, OUT_NOTE_PLAIN, "%s", hostile);
    out_note(out, OUT_NOTE_WARNING, "%s", hostile);
}

static void html_is_safe_and_complete(void **state)
{
    char *text = NULL, *body;
    size_t size;
    struct out_options options = {
        .format = OUT_FORMAT_HTML, .report = "test", .subject = "/a/<b>.db"};
    struct diag diag = {0};
    struct out *out;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    fill_hostile(out);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    CHECK_CONTAINS(text, "&lt;b&gt;.db (test)</title>");
    body = strstr(text, "<body>");
    assert_non_null(body);
    CHECK_LACKS(body, "<img");
    CHECK_CONTAINS(body, "<dt>&lt;/script&gt;&lt;img src=x onerror=&quot;alert(1)&quot;&gt;"
                         "&amp;amp;'</dt>");
    CHECK_CONTAINS(body, "<th scope=\"col\">&lt;b&gt;name&lt;/b&gt;</th>");
    CHECK_CONTAINS(body, "<td class=\"n\" data-v=\"1.5\">1.5 ns</td>");
    CHECK_CONTAINS(body, "<td class=\"n\">-</td>");
    /* Each text once, columns by place. */
    CHECK_CONTAINS(body, "[\"\\u003c/script\\u003e\\u003cimg src=x onerror=\\\"alert(1)\\\"\\u003e"
                         "\\u0026amp;'\", \"other\"]\n,[0, 0, 1]\n,[1.5, 2.5, null]\n]</script>");
    CHECK_CONTAINS(body, "<section id=\"warnings\">");
    free(text);
}

static void html_says_what_it_cuts(void **state)
{
    static const struct out_column line[] = {{.name = "number", .title = "number"}};
    static const struct out_section table = {.name = "many"};
    char *text = NULL;
    size_t size;
    struct out_options options = {.format = OUT_FORMAT_HTML, .report = "test"};
    struct diag diag = {0};
    struct out *out;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    out_table_begin(out, &table, line, 1);
    for (int i = 0; i < 7000; i++)
        out_row(out, (struct out_value[]){out_integer(OUT_INT, i)});
    out_table_end(out);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    CHECK_CONTAINS(text, "data-v=\"4999\"");
    CHECK_LACKS(text, "data-v=\"5000\"");
    CHECK_CONTAINS(text, "the first 5000 of 7000 lines");
    free(text);
}

static void shapes_survive_nonsense(void **state)
{
    static const char *const cases[][3] = {
        {"[[1,3],[]]", NULL, "{1,3}\n{}"},
        {"[[null,2],null]", NULL, "{?,2}\n{?}"},
        {"[[4,5],[6]]", "[null,[1]]", "{4,5}\n{6} -[1]"},
        {"[[4,5]]", "no json", "{4,5}"},
        {"no json", NULL, "no json"},
        {"{\"a\":1}", NULL, "{\"a\":1}"},
        {"[]", NULL, ""},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct out_value value = out_shapes(cases[i][0], cases[i][1]);
        struct text_buffer buffer = {0};

        out_format_value(&buffer, &value, 0);
        assert_string_equal(text_buffer_text(&buffer), cases[i][2]);
        text_buffer_deinit(&buffer);
    }
}

static void numbers_scale(void **state)
{
    static const struct {
        enum out_kind kind;
        double number;
        const char *text;
    } cases[] = {
        {OUT_FLOP, 236027904, "236.03 MFLOP"},
        {OUT_FLOP, 999, "999.00 FLOP"},
        {OUT_FLOP, 1000, "1.00 kFLOP"},
        {OUT_FLOP, 5e21, "5000000.00 PFLOP"},
        {OUT_FLOP_RATE, 1.5e12, "1.50 TFLOP/s"},
        {OUT_BYTES, 1023, "1023.00 B"},
        {OUT_BYTES, 1024, "1.00 KiB"},
        {OUT_BYTE_RATE, 6422528000.0, "5.98 GiB/s"},
        {OUT_SHARE, 0.09765625, "9.8%"},
        {OUT_BYTES, NAN, "N/A B"},
        {OUT_FLOP_RATE, INFINITY, "inf FLOP/s"},
        {OUT_NS, 5140000, "0.00514"},
        {OUT_NS, 5140, "5.14e-06"},
        {OUT_NS, 0, "0.0"},
        {OUT_NS, 1e9, "1.0"},
        {OUT_NS, 123.4e9, "1.23e+02"},
        {OUT_NS, 100e9, "1e+02"},
        {OUT_NS, 99.96e9, "1e+02"},
        {OUT_NS, 12.34e9, "12.3"},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct out_value value = out_number(cases[i].kind, cases[i].number);
        struct text_buffer buffer = {0};

        out_format_inline(&buffer, &value);
        assert_string_equal(text_buffer_text(&buffer), cases[i].text);
        text_buffer_deinit(&buffer);
    }
}

/* Cells of MegEngine's table have its words. */
static void cells_of_several_lines_are_megengines(void **state)
{
    static const struct {
        enum out_kind kind;
        double number;
        const char *text;
    } cases[] = {
        {OUT_FLOP, 236027904, "236.03\nMFLO"},
        {OUT_FLOP, 1000, "1.00\nKFLO"},
        {OUT_FLOP_RATE, 1.5e12, "1.50\nTFLOPS"},
        {OUT_FLOP_RATE, NAN, "N/A\nFLOPS"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct out_value value = out_number(cases[i].kind, cases[i].number);
        struct text_buffer buffer = {0};

        out_format_value(&buffer, &value, 0);
        assert_string_equal(text_buffer_text(&buffer), cases[i].text);
        text_buffer_deinit(&buffer);
    }
}

/* Where only ASCII can be shown, microseconds are, too. */
static void microseconds_are_spelt(void **state)
{
    static const char *const texts[] = {"1.500 µs", "1.500 us"};
    char text[48];

    (void)state;
    for (int is_ascii = 0; is_ascii < 2; is_ascii++) {
        struct out_options options = {.report = "test", .ascii = is_ascii, .stream = stdout};
        struct diag diag = {0};
        struct out *out;

        CHECK_OK(out_open(&options, &out));
        assert_string_equal(out_duration_text(text, sizeof(text), 1500), texts[is_ascii]);
        CHECK_OK(out_close(&out, &diag));
    }
}

static void parts_show_when_partial(void **state)
{
    static const int64_t parts[] = {0, 2, 4};
    static const char *const texts[] = {"", "2 of 4", ""};

    for (size_t i = 0; i < 3; i++) {
        struct out_value value = out_part(parts[i], 4);
        struct text_buffer buffer = {0};

        out_format_value(&buffer, &value, 0);
        assert_string_equal(text_buffer_text(&buffer), texts[i]);
        text_buffer_deinit(&buffer);
    }
}

static void full_disk_is_told(void **state)
{
    FILE *full = fopen("/dev/full", "w");

    if (!full)
        CHECK_SKIP("no /dev/full");
    for (int format = OUT_FORMAT_TABLE; format <= OUT_FORMAT_WIKI; format++) {
        const struct out_options options = {
            .format = (enum out_format)format, .report = "test", .stream = full};
        struct diag diag = {0};
        struct out *out;

        CHECK_OK(out_open(&options, &out));
        fill(out);
        assert_int_equal(out_close(&out, &diag), -ENOSPC);
        CHECK_CONTAINS(diag.text, "No space left");
        clearerr(full);
    }
    fclose(full);
}

/* A table of one line through the printer for people; the caller frees it. */
static char *print_compact(const struct out_column *compact, const struct out_value *values,
                           size_t count, size_t width)
{
    static const struct out_section section = {.name = "compact"};
    struct out_options options = {.report = "test", .ascii = true, .width = width};
    struct diag diag = {0};
    struct out *out;
    char *text = NULL;
    size_t size;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    out_table_begin(out, &section, compact, count);
    out_row(out, values);
    out_table_end(out);
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    return text;
}

static void compact_columns_stay_on_one_line(void **state)
{
    static const struct out_column compact[] = {
        {.name = "a", .title = "name", .wrap = 9, .compact = true},
        {.name = "b", .title = "time", .compact = true},
        {.name = "c", .title = "nothing known", .compact = true},
        {.name = "d", .title = "memory", .compact = true},
        {.name = "e", .title = "share", .compact = true},
    };
    const struct out_value values[] = {
        out_text("\xe5\x90\x8d\xe5\x89\x8d-and-\xe5\x90\x8d"),
        out_number(OUT_NS, -4721000),
        out_unknown(OUT_REAL),
        out_number(OUT_BYTES, 3851008),
        out_number(OUT_SHARE, 0.46667),
    };
    char *text = print_compact(compact, values, 5, 0);

    assert_string_equal(
        text, "+-----------+-----------+----------+--------+\n"
              "| name      |      time |   memory |  share |\n"
              "+===========+===========+==========+========+\n"
              "| \xe5\x90\x8d\xe5\x89\x8d...\xe5\x90\x8d | -4.721 ms | 3.67 MiB | 46.67% |\n"
              "+-----------+-----------+----------+--------+\n");
    free(text);
}

static void tables_fit_the_terminal(void **state)
{
    static const struct out_column compact[] = {
        {.name = "a", .title = "name", .wrap = 60, .compact = true},
        {.name = "b", .title = "time", .compact = true},
        {.name = "c", .title = "frames", .wrap = 60, .compact = true},
        {.name = "d", .title = "memory", .compact = true},
    };
    const struct out_value values[] = {
        out_text("a_name_of_forty_characters_that_is_wide!"),
        out_number(OUT_NS, 4721000),
        out_list("[\"the_first_frame_of_them\",\"b\",\"the_last_frame_of_them!\"]"),
        out_number(OUT_BYTES, 3851008),
    };
    char *text = print_compact(compact, values, 4, 61);

    assert_string_equal(text, "+------------------+----------+------------------+----------+\n"
                              "| name             |     time | frames           |   memory |\n"
                              "+==================+==========+==================+==========+\n"
                              "| a_name...s_wide! | 4.721 ms | ...first_fram... | 3.67 MiB |\n"
                              "|                  |          | b                |          |\n"
                              "|                  |          | ...last_frame... |          |\n"
                              "+------------------+----------+------------------+----------+\n");
    free(text);
    text = print_compact(compact, values, 4, 40);
    assert_string_equal(text, "+---------------------------+----------+\n"
                              "| name                      |     time |\n"
                              "+===========================+==========+\n"
                              "| a_name_of_f...at_is_wide! | 4.721 ms |\n"
                              "+---------------------------+----------+\n\n"
                              "Left out, as the terminal is 40 columns\n"
                              "wide: memory, frames; -o FILE and the\n"
                              "other formats have them.\n");
    free(text);
}

/* Rows of a table whose names grow, by pages of two, as wide as a terminal. */
static char *print_pages(enum out_format format, size_t row_count, size_t width)
{
    static const struct out_column compact[] = {
        {.name = "a", .title = "name", .wrap = 60, .compact = true},
        {.name = "b", .title = "time", .wiki = "time", .wiki_bar = "part", .compact = true},
        {.name = "c", .title = "odd", .compact = true},
    };
    static const char *const names[] = {"a", "bb", "ccc", "dd", "e"};
    static const struct out_section section = {.name = "pages", .title = "Many"};
    struct out_options options = {.format = format,
                                  .report = "test",
                                  .ascii = true,
                                  .all_notes = true,
                                  .width = width,
                                  .page_rows = 2};
    struct diag diag = {0};
    struct out *out;
    char *text = NULL;
    size_t size;

    options.stream = open_memstream(&text, &size);
    CHECK_OK(out_open(&options, &out));
    for (int table = 0; table < 2; table++) {
        out_table_begin(out, &section, compact, 3);
        for (size_t i = 0; i < row_count; i++)
            out_row(out, (struct out_value[]){out_text(names[i]),
                                              out_integer(OUT_INT, (int64_t)(i + 1) * 12),
                                              out_number(OUT_REAL, i < 3 ? NAN : 0.5)});
        out_table_end(out);
    }
    CHECK_OK(out_close(&out, &diag));
    fclose(options.stream);
    return text;
}

static size_t count_of(const char *text, const char *word)
{
    size_t count = 0;

    for (; (text = strstr(text, word)); text++)
        count++;
    return count;
}

static void long_tables_have_pages(void **state)
{
    static const char expected[] = "Many\n"
                                   "+------+------+\n"
                                   "| name | time |\n"
                                   "+======+======+\n"
                                   "| a    |   12 |\n"
                                   "| bb   |   24 |\n"
                                   "+------+------+\n"
                                   "\n"
                                   "+------+------+-----+\n"
                                   "| name | time | odd |\n"
                                   "+======+======+=====+\n"
                                   "| ccc  |   36 |   - |\n"
                                   "| dd   |   48 | 0.5 |\n"
                                   "+------+------+-----+\n"
                                   "\n"
                                   "+------+------+-----+\n"
                                   "| name | time | odd |\n"
                                   "+======+======+=====+\n"
                                   "| e    |   60 | 0.5 |\n"
                                   "+------+------+-----+\n"
                                   "\n"
                                   "Many\n"
                                   "+------+------+\n";
    char *text = print_pages(OUT_FORMAT_TABLE, 5, 0);

    (void)state;
    text[sizeof(expected) - 1] = '\0';
    assert_string_equal(text, expected);
    free(text);
    text = print_pages(OUT_FORMAT_TABLE, 2, 0); /* a page that is just full is followed by none */
    CHECK_U64(count_of(text, "name"), 2);
    free(text);
    text = print_pages(OUT_FORMAT_TABLE, 0, 0); /* without rows it has its head */
    CHECK_U64(count_of(text, "name"), 2);
    free(text);
    text = print_pages(OUT_FORMAT_TABLE, 5, 12); /* what all leave out is said once of each table */
    CHECK_U64(count_of(text, "name"), 6);
    CHECK_U64(count_of(text, "Left out"), 4);
    free(text);
}

/* Bars are as long as the page's largest number tells. */
static void long_tables_of_wikis_have_pages(void **state)
{
    char *text = print_pages(OUT_FORMAT_WIKI, 5, 0);

    (void)state;
    CHECK_CONTAINS(text, "h3. Many\n|| name || time || part || odd ||\n"
                         "| a | 12 | ######## | - |\n"
                         "| bb | 24 | ############### | - |\n"
                         "\n"
                         "|| name || time || part || odd ||\n"
                         "| ccc | 36 | ########### | - |\n"
                         "| dd | 48 | ############### | 0.5 |\n"
                         "\n"
                         "|| name || time || part || odd ||\n"
                         "| e | 60 | ############### | 0.5 |\n"
                         "\n"
                         "h3. Many\n");
    free(text);
    text = print_pages(OUT_FORMAT_WIKI, 2, 0);
    CHECK_U64(count_of(text, "|| name"), 2);
    free(text);
    text = print_pages(OUT_FORMAT_WIKI, 0, 0);
    CHECK_U64(count_of(text, "|| name"), 2);
    free(text);
}

static void long_tables_of_markdown_have_pages(void **state)
{
    static const char expected[] = "### Many\n\n"
                                   "| name | time |\n"
                                   "| :--- | ---: |\n"
                                   "| a | 12 |\n"
                                   "| bb | 24 |\n"
                                   "\n"
                                   "| name | time | odd |\n"
                                   "| :--- | ---: | ---: |\n"
                                   "| ccc | 36 | - |\n"
                                   "| dd | 48 | 0.5 |\n"
                                   "\n"
                                   "| name | time | odd |\n"
                                   "| :--- | ---: | ---: |\n"
                                   "| e | 60 | 0.5 |\n"
                                   "\n"
                                   "### Many\n\n"
                                   "| name | time |\n";
    char *text = print_pages(OUT_FORMAT_MARKDOWN, 5, 0);

    (void)state;
    text[sizeof(expected) - 1] = '\0';
    assert_string_equal(text, expected);
    free(text);
    for (size_t rows = 1; rows <= 2; rows++) { /* one page, which may be just full */
        text = print_pages(OUT_FORMAT_MARKDOWN, rows, 0);
        CHECK_U64(count_of(text, "name"), 2);
        CHECK_U64(count_of(text, "### Many"), 2);
        free(text);
    }
}

static void texts_of_a_list_lose_their_middle(void **state)
{
    static const struct out_column names[] = {
        {.name = "a", .title = "names", .wrap = 16, .compact = true},
    };
    const struct out_value value =
        out_list("[\"the_first_name_of_them\",\"b\",\"\",\"the_last_name_of_them!\"]");
    char *text = print_compact(names, &value, 1, 0);

    assert_string_equal(text, "+------------------+\n"
                              "| names            |\n"
                              "+==================+\n"
                              "| ...first_name... |\n"
                              "| b                |\n"
                              "|                  |\n"
                              "| ...last_name_... |\n"
                              "+------------------+\n");
    free(text);
}

static void compact_durations_have_units(void **state)
{
    static const struct {
        double ns;
        const char *text;
    } cases[] = {{0, "0 ns"},          {0.25, "0.2 ns"},      {999, "999 ns"},
                 {1000, "1.000 us"},   {9.5e5, "950.000 us"}, {1.888e6, "1.888 ms"},
                 {5.931e9, "5.931 s"}, {-3e3, "-3.000 us"},   {7.2e12, "7200.000 s"}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct out_value value = out_number(OUT_NS, cases[i].ns);
        struct text_buffer buffer = {0};

        out_format_compact(&buffer, &value);
        assert_string_equal(text_buffer_text(&buffer), cases[i].text);
        text_buffer_deinit(&buffer);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_minds_widths_and_escapes),
        cmocka_unit_test(long_facts_take_several_lines),
        cmocka_unit_test(facts_fit_a_narrow_terminal),
        cmocka_unit_test(json_is_exact),
        cmocka_unit_test(csv_has_tables_only),
        cmocka_unit_test(csv_has_no_formulas),
        cmocka_unit_test(wiki_has_bars_and_escapes),
        cmocka_unit_test(markdown_has_units_and_escapes),
        cmocka_unit_test(html_is_safe_and_complete),
        cmocka_unit_test(html_says_what_it_cuts),
        cmocka_unit_test(shapes_survive_nonsense),
        cmocka_unit_test(numbers_scale),
        cmocka_unit_test(cells_of_several_lines_are_megengines),
        cmocka_unit_test(microseconds_are_spelt),
        cmocka_unit_test(parts_show_when_partial),
        cmocka_unit_test(compact_columns_stay_on_one_line),
        cmocka_unit_test(tables_fit_the_terminal),
        cmocka_unit_test(long_tables_have_pages),
        cmocka_unit_test(long_tables_of_markdown_have_pages),
        cmocka_unit_test(long_tables_of_wikis_have_pages),
        cmocka_unit_test(texts_of_a_list_lose_their_middle),
        cmocka_unit_test(compact_durations_have_units),
        cmocka_unit_test(full_disk_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
