/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Small libraries in place of OpenVINO's two, by the symbols that the real ones have: models that
 * have nodes of a name and three shapes. $FAKE_OPENVINO_VERSION is which it says to be.
 */
#include "tests/support/fake_openvino.h"

#include <stdlib.h>
#include <string.h>

#define NAMED(name) __asm__(name) __attribute__((visibility("default")))

/* std::string, std::shared_ptr and std::vector of libstdc++ */
struct text {
    char *bytes;
    size_t length;
    char inside[16];
};

struct control {
    void (**functions)(struct control *control);
    int uses, weak_uses;
};

struct pointer {
    void *object;
    struct control *control;
};

struct pointers {
    struct pointer *begin, *end, *limit;
};

struct node {
    struct control control;
    struct text name;
    const char *shapes[3];
};

#ifdef FAKE_OPENVINO_C

int runtime_model(const struct pointer *compiled, struct pointer **out_model)
    NAMED("ov_compiled_model_get_runtime_model");
void free_model(struct pointer *model) NAMED("ov_model_free");
int get_version(const char *out_version[2]) NAMED("ov_get_openvino_version");
void free_version(const char *version[2]) NAMED("ov_version_free");

int get_version(const char *out_version[2])
{
    const char *build = getenv("FAKE_OPENVINO_VERSION");

    out_version[0] = build ? build : "2026.4.1-22042-releases/2026/4";
    return 0;
}

void free_version(const char *version[2])
{
    version[0] = NULL;
}

int runtime_model(const struct pointer *compiled, struct pointer **out_model)
{
    const struct fake_model *const *model = compiled->object;

    if ((*model)->is_refused)
        return -1;
    *out_model = calloc(1, sizeof(**out_model));
    (*out_model)->object = (void *)*model;
    return 0;
}

void free_model(struct pointer *model)
{
    free(model);
}

#else

int fake_openvino_nodes;

void *create(void *result, void *compiled) NAMED("_ZN2ov13CompiledModel20create_infer_requestEv");
void *ordered(struct pointers *result, const struct fake_model *model)
    NAMED("_ZNK2ov5Model15get_ordered_opsEv");
const struct text *name(const struct node *node) NAMED("_ZNK2ov4Node17get_friendly_nameB5cxx11Ev");
size_t input_count(const struct node *node) NAMED("_ZNK2ov4Node14get_input_sizeEv");
size_t output_count(const struct node *node) NAMED("_ZNK2ov4Node15get_output_sizeEv");
const char *input(const struct node *node, size_t place)
    NAMED("_ZNK2ov4Node23get_input_partial_shapeEm");
const char *output(const struct node *node, size_t place)
    NAMED("_ZNK2ov4Node24get_output_partial_shapeEm");
void *to_text(struct text *result, const char *shape)
    NAMED("_ZNK2ov12PartialShape9to_stringB5cxx11Ev");

void *create(void *result, void *compiled)
{
    return result;
}

static void drop_node(struct control *control)
{
    fake_openvino_nodes--;
}

static void drop_control(struct control *control)
{
    free(control);
}

static void (*functions[])(struct control *control) = {NULL, NULL, drop_node, drop_control};

void *ordered(struct pointers *result, const struct fake_model *model)
{
    result->begin = calloc(model->count, sizeof(*result->begin));
    result->end = result->limit = result->begin + model->count;
    for (size_t i = 0; i < model->count; i++) {
        struct node *made = calloc(1, sizeof(*made));

        made->control = (struct control){functions, 1, 1};
        made->name.bytes = (char *)model->nodes[i].name;
        memcpy(made->shapes, model->nodes[i].shapes, sizeof(made->shapes));
        result->begin[i] = (struct pointer){made, &made->control};
        fake_openvino_nodes++;
    }
    return result;
}

const struct text *name(const struct node *node)
{
    return &node->name;
}

size_t input_count(const struct node *node)
{
    return (node->shapes[0] != NULL) + (node->shapes[1] != NULL);
}

size_t output_count(const struct node *node)
{
    return 1;
}

const char *input(const struct node *node, size_t place)
{
    return node->shapes[place];
}

const char *output(const struct node *node, size_t place)
{
    return node->shapes[2];
}

/* Short ones lie inside of it. */
void *to_text(struct text *result, const char *shape)
{
    result->length = strlen(shape);
    result->bytes =
        result->length < sizeof(result->inside) ? result->inside : malloc(result->length + 1);
    memcpy(result->bytes, shape, result->length + 1);
    return result;
}

#endif
