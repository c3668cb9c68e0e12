/* SPDX-License-Identifier: Apache-2.0 */
/* ONNX models from short texts: lines to fields of protobuf, as bytes at once. */
#include "tests/support/onnx_text.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"

/* A message as it grows. */
struct bytes {
    uint8_t *items;
    size_t count;
};

static void put_byte(struct bytes *to, uint8_t byte)
{
    if ((to->count & (to->count + 1)) == 0)
        to->items = realloc(to->items, 2 * to->count + 2);
    assert_non_null(to->items);
    to->items[to->count++] = byte;
}

static void put_varint(struct bytes *to, uint64_t value)
{
    for (; value > 0x7f; value >>= 7)
        put_byte(to, (uint8_t)(value | 0x80));
    put_byte(to, (uint8_t)value);
}

static void put_int(struct bytes *to, int field, int64_t value)
{
    put_varint(to, (uint64_t)field << 3);
    put_varint(to, (uint64_t)value);
}

static void put_bytes(struct bytes *to, int field, const void *data, size_t size)
{
    put_varint(to, (uint64_t)field << 3 | 2);
    put_varint(to, size);
    for (size_t i = 0; i < size; i++)
        put_byte(to, ((const uint8_t *)data)[i]);
}

static void put_text(struct bytes *to, int field, const char *text)
{
    put_bytes(to, field, text, strlen(text));
}

/* Takes the message. */
static void put_message(struct bytes *to, int field, struct bytes *message)
{
    put_bytes(to, field, message->items, message->count);
    free(message->items);
    *message = (struct bytes){0};
}

static void put_float(struct bytes *to, int field, float value)
{
    uint8_t raw[4];

    memcpy(raw, &value, sizeof(raw));
    put_varint(to, (uint64_t)field << 3 | 5);
    for (int i = 0; i < 4; i++)
        put_byte(to, raw[i]);
}

enum { BODIES_MAX = 4 };

struct model {
    struct bytes model, graph, function, body;
    struct bytes opsets; /* those of the model, for functions */
    bool is_function, is_body;
    int number;
    struct {
        char name[40];
        struct bytes graph;
    } bodies[BODIES_MAX]; /* to be nodes' attributes */
    int body_count;
};

/* Words */

/* The next word of a line, or NULL: blanks are between words. */
static char *next(char **at)
{
    char *word;

    *at += strspn(*at, " ");
    if (**at == '\0')
        return NULL;
    word = *at;
    *at += strcspn(*at, " ");
    if (**at != '\0')
        *(*at)++ = '\0';
    return word;
}

/* "a,b" into a field each. "-": an empty name. */
static void put_names(struct bytes *to, int field, char *names)
{
    for (char *name = names; name;) {
        char *comma = strchr(name, ',');

        if (comma)
            *comma = '\0';
        put_text(to, field, strcmp(name, "-") == 0 ? "" : name);
        name = comma ? comma + 1 : NULL;
    }
}

static int type_of(const char *name)
{
    static const struct {
        const char *name;
        int number;
    } types[] = {{"f32", 1},  {"u8", 2},   {"i8", 3},   {"i32", 6},  {"i64", 7},
                 {"bool", 9}, {"f16", 10}, {"f64", 11}, {"bf16", 16}};

    for (size_t i = 0; name && i < sizeof(types) / sizeof(types[0]); i++)
        if (strcmp(types[i].name, name) == 0)
            return types[i].number;
    fail_msg("no type \"%s\"", name ? name : "");
    return 0;
}

static struct bytes value_info(const char *name, char **rest)
{
    struct bytes info = {0}, type = {0}, tensor = {0}, shape = {0};
    const char *dtype = next(rest);
    char *dims = next(rest);

    put_text(&info, 1, name);
    if (!dtype)
        return info;
    put_int(&tensor, 1, type_of(dtype));
    for (char *dim = dims; dim && *dim != '\0'; dim += *dim == ',') {
        size_t letters = strspn(dim, "abcdefghijklmnopqrstuvwxyz");
        struct bytes one = {0};
        char *word = strndup(dim, letters);

        if (letters > 0)
            put_text(&one, 2, word);
        else
            put_int(&one, 1, strtoll(dim, &dim, 10));
        dim += letters;
        free(word);
        put_message(&shape, 1, &one);
    }
    put_message(&tensor, 2, &shape);
    put_message(&type, 1, &tensor);
    put_message(&info, 2, &type);
    return info;
}

static struct bytes constant(const char *name, char **rest)
{
    struct bytes tensor = {0};
    int type = type_of(next(rest));
    char *dims = next(rest), *at, *equals;
    int64_t count = 1;
    uint32_t state = 1;

    if (dims && strcmp(dims, "=") == 0) {
        equals = dims;
        dims = NULL;
    } else {
        equals = next(rest);
    }
    for (char *dim = dims; dim && *dim != '\0'; dim += *dim == ',') {
        int64_t size = strtoll(dim, &dim, 10);

        put_int(&tensor, 1, size);
        count *= size;
    }
    put_int(&tensor, 2, type);
    put_text(&tensor, 8, name);
    at = *rest;
    for (int64_t i = 0; i < count; i++) {
        state = state * 1664525u + 1013904223u;
        if (type == 1)
            put_float(&tensor, 4,
                      equals ? strtof(at, &at) : (float)(state >> 8) / (float)(1u << 23) - 1.0f);
        else if (type == 7)
            put_int(&tensor, 7, equals ? strtoll(at, &at, 10) : 0);
        else
            put_int(&tensor, 5, equals ? strtoll(at, &at, 10) : state >> 31);
    }
    return tensor;
}

static void put_body(const struct model *m, struct bytes *message, const char *name)
{
    for (int i = 0; i < m->body_count; i++) {
        if (strcmp(m->bodies[i].name, name) != 0)
            continue;
        put_bytes(message, 6, m->bodies[i].graph.items, m->bodies[i].graph.count);
        put_int(message, 20, 5);
        return;
    }
    fail_msg("no body \"%s\"", name);
}

/* name=1 name=1.5 name="text" name=[1,2] name=@reference name=$body */
static struct bytes attribute(const struct model *m, char *word)
{
    struct bytes message = {0};
    char *value = strchr(word, '=');

    if (!value)
        fail_msg("no attribute: \"%s\"", word);
    *value++ = '\0';
    put_text(&message, 1, word);
    if (value[0] == '"') {
        put_bytes(&message, 4, value + 1, strlen(value) - 2);
        put_int(&message, 20, 3);
    } else if (value[0] == '$') {
        put_body(m, &message, value + 1);
    } else if (value[0] == '@') {
        put_text(&message, 21, value + 1);
        put_int(&message, 20, 1);
    } else if (value[0] == '[') {
        for (char *at = value + 1; *at != ']' && *at != '\0'; at += *at == ',')
            put_int(&message, 8, strtoll(at, &at, 10));
        put_int(&message, 20, 7);
    } else if (strchr(value, '.')) {
        put_float(&message, 2, strtof(value, NULL));
        put_int(&message, 20, 1);
    } else {
        put_int(&message, 3, strtoll(value, NULL, 10));
        put_int(&message, 20, 2);
    }
    return message;
}

/* "domain.Op" */
static char *split_domain(char *name, const char **out_domain)
{
    char *dot = strrchr(name, '.');

    *out_domain = dot ? name : "";
    if (dot)
        *dot = '\0';
    return dot ? dot + 1 : name;
}

static struct bytes node(struct model *m, char **rest)
{
    struct bytes message = {0}, one;
    const char *domain;
    char *op_type = split_domain(next(rest), &domain), *inputs = next(rest), *word = next(rest);
    char name[64];

    snprintf(name, sizeof(name), "%.40s_%d", op_type, m->number++);
    if (strcmp(inputs, "->") != 0)
        put_names(&message, 1, inputs);
    if (strcmp(inputs, "->") != 0)
        word = next(rest);
    put_names(&message, 2, word);
    put_text(&message, 3, name);
    put_text(&message, 4, op_type);
    while ((word = next(rest))) {
        one = attribute(m, word);
        put_message(&message, 5, &one);
    }
    put_text(&message, 7, domain);
    return message;
}

static struct bytes opset(char **rest)
{
    struct bytes message = {0};
    int64_t version = strtoll(next(rest), NULL, 10);
    const char *domain = next(rest);

    put_text(&message, 1, domain ? domain : "");
    put_int(&message, 2, version);
    return message;
}

static struct bytes function(char **rest)
{
    struct bytes message = {0};
    const char *domain;
    char *name = split_domain(next(rest), &domain), *word;

    put_text(&message, 1, name);
    put_text(&message, 10, domain);
    put_names(&message, 4, next(rest));
    next(rest); /* -> */
    put_names(&message, 5, next(rest));
    while ((word = next(rest)))
        put_text(&message, 6, word);
    return message;
}

static void add_line(struct model *m, char *line)
{
    char *rest = line, *word = next(&rest);
    struct bytes message = {0};

    if (!word)
        return;
    if (strcmp(word, "opset") == 0) {
        message = opset(&rest);
        if (!m->is_function)
            put_bytes(&m->opsets, 9, message.items, message.count);
        put_message(m->is_function ? &m->function : &m->model, m->is_function ? 9 : 8, &message);
    } else if (strcmp(word, "node") == 0) {
        message = node(m, &rest);
        put_message(m->is_body       ? &m->body
                    : m->is_function ? &m->function
                                     : &m->graph,
                    m->is_function && !m->is_body ? 7 : 1, &message);
    } else if (strcmp(word, "function") == 0) {
        m->function = function(&rest);
        m->is_function = true;
    } else if (strcmp(word, "body") == 0) {
        assert_true(m->body_count < BODIES_MAX);
        snprintf(m->bodies[m->body_count].name, sizeof(m->bodies[0].name), "%s", next(&rest));
        m->is_body = true;
    } else if (strcmp(word, "end") == 0 && m->is_body) {
        put_text(&m->body, 2, "body");
        m->bodies[m->body_count++].graph = m->body;
        m->body = (struct bytes){0};
        m->is_body = false;
    } else if (strcmp(word, "end") == 0) {
        for (size_t i = 0; i < m->opsets.count; i++)
            put_byte(&m->function, m->opsets.items[i]);
        put_message(&m->model, 25, &m->function);
        m->is_function = false;
    } else if (strcmp(word, "const") == 0) {
        word = next(&rest);
        message = constant(word, &rest);
        put_message(m->is_body ? &m->body : &m->graph, 5, &message);
    } else if (strcmp(word, "input") == 0 || strcmp(word, "output") == 0) {
        int field = strcmp(word, "input") == 0 ? 11 : 12;

        word = next(&rest);
        message = value_info(word, &rest);
        put_message(m->is_body ? &m->body : &m->graph, field, &message);
    } else {
        fail_msg("no line of a model: \"%s\"", word);
    }
}

uint8_t *onnx_text_pack(const char *text, size_t *out_size)
{
    char *copy = strdup(text);
    struct model m = {0};

    assert_non_null(copy);
    put_int(&m.model, 1, 8);
    put_text(&m.graph, 2, "text");
    for (char *line = copy; line;) {
        char *end = strchr(line, '\n');

        if (end)
            *end = '\0';
        add_line(&m, line);
        line = end ? end + 1 : NULL;
    }
    put_message(&m.model, 7, &m.graph);
    for (int i = 0; i < m.body_count; i++)
        free(m.bodies[i].graph.items);
    free(m.opsets.items);
    free(copy);
    *out_size = m.model.count;
    return m.model.items;
}

uint8_t *onnx_text_pack_tensor(const char *text, size_t *out_size)
{
    char *copy = strdup(text), *rest = copy;
    struct bytes tensor;

    assert_non_null(copy);
    tensor = constant("tensor", &rest);
    free(copy);
    *out_size = tensor.count;
    return tensor.items;
}
