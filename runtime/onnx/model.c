/* SPDX-License-Identifier: Apache-2.0 */
/* Reads ONNX models into a graph: the model, its inputs, outputs and initialisers. The nodes are
 * read by node.c. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/exec/layout_format.h"
#include "runtime/onnx/defer.h"
#include "runtime/onnx/file.h"
#include "runtime/onnx/model.h"
#include "runtime/onnx/node.h"
#include "runtime/onnx/ports.h"
#include "runtime/onnx/tensor.h"
#include "runtime/ops/lower/lower.h"

static const struct shape unknown_shape = {.rank = -1};

static int check_ir_version(const Onnx__ModelProto *model, struct diag *diag)
{
    if (!model->has_ir_version)
        return diag_set(diag, -EINVAL, "the model does not say its IR version");
    if (model->ir_version > MODEL_IR_VERSION_MAX)
        return diag_set(diag, -ENOTSUP,
                        "the model has IR version %" PRId64 ", which is too new: %d is the newest "
                        "that is supported",
                        model->ir_version, MODEL_IR_VERSION_MAX);
    if (model->ir_version < MODEL_IR_VERSION_MIN)
        return diag_set(diag, -ENOTSUP,
                        "the model has IR version %" PRId64 ", which is too old: %d is the oldest "
                        "that is supported",
                        model->ir_version, MODEL_IR_VERSION_MIN);
    if (!model->graph)
        return diag_set(diag, -EINVAL, "the model has no graph");
    return 0;
}

static int read_opsets(struct graph *graph, const Onnx__ModelProto *model, struct diag *diag)
{
    for (size_t i = 0; i < model->n_opset_import; i++) {
        const char *domain = model->opset_import[i]->domain;
        int64_t version = model->opset_import[i]->version;

        if (!domain || strcmp(domain, "ai.onnx") == 0)
            domain = "";
        if (domain[0] == '\0' && version > MODEL_OPSET_MAX)
            return diag_set(diag, -ENOTSUP,
                            "the model uses operator set %" PRId64 ", which is too new: %d is the "
                            "newest that is supported",
                            version, MODEL_OPSET_MAX);
        if (version < MODEL_OPSET_MIN)
            return diag_set(diag, -EINVAL,
                            "the model imports version %" PRId64 " of operator set '%s'", version,
                            domain);
        if (graph_opset(graph, domain) == version)
            continue; /* some exporters list one for each of their parts */
        if (graph_opset(graph, domain) != 0)
            return diag_set(diag, -EINVAL,
                            "the model imports operator set '%s' twice, as %" PRId64
                            " and %" PRId64,
                            domain, graph_opset(graph, domain), version);
        if (graph_add_opset(graph, domain, version) < 0)
            return -ENOMEM;
    }
    if (graph->opset_count == 0)
        return diag_set(diag, -EINVAL, "the model does not say which operator set it uses");
    return 0;
}

/* -EINVAL unless name is such a text and not empty; `what` is for the message. */
static int check_name(const char *name, const char *what, struct diag *diag)
{
    if (!name || name[0] == '\0')
        return diag_set(diag, -EINVAL, "%s of the graph has no name", what);
    if (!model_text_is_sound(name))
        return diag_set(diag, -EINVAL, "%s of the graph has a name that is not plain UTF-8", what);
    return 0;
}

static int add_named(struct graph *graph, const char *name, enum dtype dtype,
                     const struct shape *shape, struct value **out_value, struct diag *diag)
{
    int error;

    *out_value = graph_add_value(graph, name, dtype, shape, &error);
    if (!*out_value && error == -EEXIST)
        return diag_set(diag, -EINVAL, "the graph has two values with the name '%s'", name);
    return !*out_value ? -ENOMEM : 0;
}

static int read_initialisers(struct graph *graph, const Onnx__GraphProto *proto,
                             struct model_place place, struct diag *diag)
{
    if (proto->n_sparse_initializer > 0)
        return diag_set(diag, -ENOTSUP,
                        "the model has sparse initialisers, which are not "
                        "supported");
    for (size_t i = 0; i < proto->n_initializer; i++) {
        Onnx__TensorProto *tensor = proto->initializer[i];
        struct onnx_share share = {.graph = graph,
                                   .raw = place.cut ? &place.cut->raws.items[i] : NULL,
                                   .may_share = place.may_share,
                                   .may_defer = place.cut && place.may_defer && place.may_defer[i],
                                   .is_mapped = place.is_mapped};
        struct tensor_view view;
        struct value *value;
        char what[160];
        int rc = check_name(tensor->name, "an initialiser", diag);

        if (rc < 0)
            return rc;
        snprintf(what, sizeof(what), "initialiser '%.120s'", tensor->name);
        rc = onnx_tensor_share(tensor, place.folder_fd, what, place.cut ? &share : NULL, &view,
                               diag);
        if (rc < 0)
            return rc;
        rc = add_named(graph, tensor->name, view.dtype, &view.shape, &value, diag);
        if (rc < 0 && !share.is_shared)
            free(view.data);
        if (rc < 0)
            return rc;
        if (share.is_deferred)
            value_defer_data(value, view.data);
        else if (share.is_shared)
            value_share_data(value, view.data);
        else
            value_set_data(value, view.data);
    }
    return 0;
}

/* The dims that an input or output declares; open ones are -1, with their symbolic name. */
static int read_dims(const Onnx__TensorShapeProto *proto, const char *what, struct value *value,
                     struct diag *diag)
{
    struct shape *shape = &value->shape;
    int64_t total = 1;

    if (proto->n_dim > SHAPE_MAX_RANK)
        return diag_set(diag, -EINVAL, "%s has %zu dimensions; the limit is %d", what, proto->n_dim,
                        SHAPE_MAX_RANK);
    shape->rank = (int)proto->n_dim;
    for (size_t i = 0; i < proto->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = proto->dim[i];

        shape->dims[i] = dim->has_dim_value ? dim->dim_value : -1;
        if (!dim->has_dim_value && dim->dim_param && dim->dim_param[0] != '\0') {
            if (!model_text_is_sound(dim->dim_param))
                return diag_set(diag, -EINVAL, "%s has a dimension name that is not plain UTF-8",
                                what);
            value->dim_names[i] = strdup(dim->dim_param);
            if (!value->dim_names[i])
                return -ENOMEM;
        }
        if (dim->has_dim_value && dim->dim_value < 0)
            return diag_set(diag, -EINVAL, "%s has the negative dimension %" PRId64, what,
                            dim->dim_value);
        if (shape->dims[i] > 0 && shape->dims[i] > TENSOR_MAX_BYTES / total)
            return diag_set(diag, -EINVAL, "%s is too large", what);
        total *= shape->dims[i] > 0 ? shape->dims[i] : 1;
    }
    return 0;
}

/* Type and shape of an input or output. */
static int read_type(const Onnx__ValueInfoProto *info, const char *role, struct value *value,
                     struct diag *diag)
{
    const Onnx__TypeProto *type = info->type;
    char what[160];

    snprintf(what, sizeof(what), "%s '%.120s'", role, info->name);
    if (type && (type->has_sequence_type || type->has_map_type || type->has_sparse_tensor_type ||
                 type->has_optional_type))
        return diag_set(diag, -ENOTSUP, "%s is not a tensor, and only tensors are supported", what);
    if (!type || !type->tensor_type)
        return diag_set(diag, -EINVAL, "%s has no type", what);
    value->dtype = (enum dtype)type->tensor_type->elem_type;
    if (type->tensor_type->elem_type < 0 || dtype_bytes(value->dtype) == 0)
        return diag_set(diag, -ENOTSUP, "%s has element type %d (%s), which is not supported", what,
                        (int)type->tensor_type->elem_type, dtype_name(value->dtype));
    return !type->tensor_type->shape ? 0 : read_dims(type->tensor_type->shape, what, value, diag);
}

/* "NAME[3]" is a tensor of a sequence. Dimensions of one name may be other sizes in others. */
static int add_part(struct graph *graph, const char *name, uint32_t place, const char *role,
                    const Onnx__TypeProto *type, struct value **out_value, struct diag *diag)
{
    Onnx__ValueInfoProto info = ONNX__VALUE_INFO_PROTO__INIT;
    int rc;

    if (asprintf(&info.name, "%s[%u]", name, place) < 0)
        return -ENOMEM;
    info.type = (Onnx__TypeProto *)type;
    rc = add_named(graph, info.name, DTYPE_NONE, &unknown_shape, out_value, diag);
    if (rc == 0 && type)
        rc = read_type(&info, role, *out_value, diag);
    for (int i = 0; rc == 0 && i < SHAPE_MAX_RANK; i++) {
        free((*out_value)->dim_names[i]);
        (*out_value)->dim_names[i] = NULL;
    }
    free(info.name);
    return rc;
}

/* A sequence or an optional becomes its tensors. */
static int add_parts(struct graph *graph, const char *name, const struct port_type *type,
                     struct value *whole, struct diag *diag)
{
    const struct port *port = &type->port;
    struct value **tensors = calloc(port->count + 1, sizeof(*tensors));
    int rc = tensors ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < port->count; i++) {
        rc = add_part(graph, name, i, "input", type->element, &tensors[i], diag);
        if (rc == 0 && graph_add_input(graph, tensors[i]) < 0)
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = port_join(graph, port, tensors, whole);
    free(tensors);
    return rc;
}

/* How many tensors it has is asked from who loads the model. */
static int count_parts(const struct model_sequences *sequences, uint32_t index, const char *name,
                       struct port *port, struct diag *diag)
{
    int rc = 0;

    if (sequences && (port->is_sequence || port->is_optional))
        rc = sequences->count(sequences->user, index, name, port, diag);
    if (port->is_empty)
        port->count = 0;
    if (rc == 0 && port->count > ONNX_PARTS_MAX)
        rc =
            diag_set(diag, -E2BIG, "input '%.120s' has more than %d tensors", name, ONNX_PARTS_MAX);
    return rc;
}

static int read_port(struct graph *graph, const Onnx__ValueInfoProto *info, struct value *value,
                     struct model_place place, struct diag *diag)
{
    struct port_type type;
    char what[160];
    int rc;

    snprintf(what, sizeof(what), "input '%.120s'", info->name);
    rc = port_type_read(info->type, what, &type, diag);
    if (rc == 0)
        rc = count_parts(place.sequences, graph->input_ports.count, info->name, &type.port, diag);
    if (rc == 0 && (type.port.is_sequence || type.port.is_empty)) {
        rc = add_parts(graph, info->name, &type, value, diag);
    } else if (rc == 0) { /* an optional that holds a tensor is that tensor */
        Onnx__ValueInfoProto inner = *info;

        inner.type = (Onnx__TypeProto *)type.element;
        rc = read_type(&inner, "input", value, diag);
        if (rc == 0 && graph_add_input(graph, value) < 0)
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = graph_add_port(&graph->input_ports, info->name, &type.port);
    port_type_deinit(&type);
    return rc;
}

/* All ports, or none where each is a tensor. */
static void end_ports(struct port_list *list)
{
    bool has_any = false;

    for (uint32_t i = 0; i < list->count; i++)
        has_any = has_any || list->items[i].is_sequence || list->items[i].is_optional;
    for (uint32_t i = 0; !has_any && i < list->count; i++)
        free(list->items[i].name);
    if (!has_any)
        list->count = 0;
}

/* Inputs that have an initialiser are constants: old models list all of them. What a body says of
 * its inputs is left aside: they are what they are fed. */
static int read_inputs(struct graph *graph, const Onnx__GraphProto *proto, struct model_place place,
                       struct diag *diag)
{
    bool is_body = place.depth > 0;

    for (size_t i = 0; i < proto->n_input; i++) {
        const Onnx__ValueInfoProto *info = proto->input[i];
        struct value *value;
        int rc = check_name(info->name, "an input", diag);

        if (rc < 0)
            return rc;
        value = graph_find_value(graph, info->name);
        if (value && value->data)
            continue;
        rc = add_named(graph, info->name, DTYPE_NONE, &unknown_shape, &value, diag);
        if (rc == 0 && !is_body)
            rc = read_port(graph, info, value, place, diag);
        else if (rc == 0 && graph_add_input(graph, value) < 0)
            rc = -ENOMEM;
        if (rc < 0)
            return rc;
    }
    end_ports(&graph->input_ports);
    return 0;
}

/* A body may hand on a value from outside. */
static int capture_output(struct graph *graph, const char *name, struct value **out_value)
{
    *out_value = graph_add_value(graph, name, DTYPE_NONE, &unknown_shape, NULL);
    if (!*out_value || graph_add_input(graph, *out_value) < 0)
        return -ENOMEM;
    graph->capture_count++;
    return 0;
}

/* A ZipMap's: what it maps becomes columns of one tensor. */
static bool is_map_of_lowered(const Onnx__TypeProto *type, const struct value *value)
{
    return value->producer->is_lowered && (type->has_sequence_type || type->has_map_type);
}

/* The tensors of a sequence, each under a name of its own. */
static int put_parts(struct graph *graph, const char *name, struct value *whole,
                     struct port_type *type, struct diag *diag)
{
    struct value **tensors = NULL;
    int rc = lower_output(graph, whole, &type->port, &tensors, diag);

    for (uint32_t i = 0; rc == 0 && i < type->port.count; i++) {
        struct value *value;

        rc = add_part(graph, name, i, "output", type->element, &value, diag);
        if (rc == 0 && (!graph_add_node(graph, "Identity", "", NULL, &tensors[i], 1, &value, 1) ||
                        graph_add_output(graph, value) < 0))
            rc = -ENOMEM;
    }
    free(tensors);
    return rc;
}

static int read_output_port(struct graph *graph, const Onnx__ValueInfoProto *info,
                            struct value *value, struct diag *diag)
{
    struct port_type type = {.port = {.count = 1}};
    struct diag reason = {0};
    bool is_map = false;
    char what[160];
    int rc = 0;

    snprintf(what, sizeof(what), "output '%.120s'", info->name);
    if (info->type)
        rc = port_type_read(info->type, what, &type, &reason);
    if (rc == -ENOTSUP && value->producer && is_map_of_lowered(info->type, value)) {
        type.port = (struct port){.count = 1};
        is_map = true;
        rc = 0;
    } else if (rc < 0) {
        diag_set(diag, rc, "%s", reason.text);
    }
    if (rc == 0 && (type.port.is_sequence || type.port.is_optional)) {
        rc = put_parts(graph, info->name, value, &type, diag);
    } else if (rc == 0) {
        /* An output's type may be left out; it is computed anyway, and then compared. That of
         * what stands for others may be no tensor's. */
        if (value->producer && info->type && !is_map)
            rc = read_type(info, "output", value, diag);
        if (rc == 0 && graph_add_output(graph, value) < 0)
            rc = -ENOMEM;
    }
    if (rc == 0)
        rc = graph_add_port(&graph->output_ports, info->name, &type.port);
    port_type_deinit(&type);
    return rc;
}

/* An output that is named once more: a value of its own, since each is read at its own place. */
static int repeat_output(struct graph *graph, const char *name, size_t place,
                         struct value **value_ptr)
{
    struct value *copy;
    char *label;

    if (asprintf(&label, "%s#%zu", name, place) < 0)
        return -ENOMEM;
    copy = graph_add_value(graph, label, DTYPE_NONE, &unknown_shape, NULL);
    if (!copy) /* perhaps there is such a name */
        copy = graph_add_value(graph, NULL, DTYPE_NONE, &unknown_shape, NULL);
    free(label);
    if (!copy || !graph_add_node(graph, "Identity", "", NULL, value_ptr, 1, &copy, 1))
        return -ENOMEM;
    *value_ptr = copy;
    return 0;
}

static int read_outputs(struct graph *graph, const Onnx__GraphProto *proto, bool is_body,
                        struct diag *diag)
{
    if (proto->n_output == 0)
        return diag_set(diag, -EINVAL, "the graph has no output");
    for (size_t i = 0; i < proto->n_output; i++) {
        const Onnx__ValueInfoProto *info = proto->output[i];
        struct value *value;
        int rc = check_name(info->name, "an output", diag);

        if (rc < 0)
            return rc;
        value = graph_find_value(graph, info->name);
        if (!value && is_body)
            rc = capture_output(graph, info->name, &value);
        else if (value && value->is_output)
            rc = repeat_output(graph, info->name, i, &value);
        if (rc < 0)
            return rc;
        if (!value)
            return diag_set(diag, -EINVAL, "nothing computes the graph's output '%s'", info->name);
        if (!is_body)
            rc = read_output_port(graph, info, value, diag);
        else if (graph_add_output(graph, value) < 0)
            rc = -ENOMEM;
        if (rc < 0)
            return rc;
    }
    end_ports(&graph->output_ports);
    return 0;
}

static int set_texts(struct graph *graph, const Onnx__ModelProto *model)
{
    const struct {
        char **field;
        const char *text;
    } texts[] = {
        {&graph->name, model->graph->name},
        {&graph->producer_name, model->producer_name},
        {&graph->producer_version, model->producer_version},
    };

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        const char *text = texts[i].text;

        if (!text || !model_text_is_sound(text))
            continue;
        if (graph_set_text(texts[i].field, text) < 0)
            return -ENOMEM;
    }
    graph->ir_version = model->ir_version;
    return 0;
}

/* The last entry holds, so that another can be appended to a file. */
static int set_layouts(struct graph *graph, const Onnx__ModelProto *model, struct diag *diag)
{
    const char *text = NULL;

    for (size_t i = 0; i < model->n_metadata_props; i++) {
        const Onnx__StringStringEntryProto *entry = model->metadata_props[i];

        if (entry->key && strcmp(entry->key, FORMAT_KEY) == 0)
            text = entry->value ? entry->value : "";
    }
    if (!text)
        return 0;
    return format_check(text, diag) < 0 ? -EINVAL : graph_set_text(&graph->layouts, text);
}

/* What was learnt is for how many there are, and for branches: shapes are inferred from what is given then. What
 * decided something stays, so that the graph does not run for anything else. */
static void forget_inputs(struct graph *graph)
{
    for (uint32_t i = 0; i < graph->input_count; i++) {
        if (graph->inputs[i]->decides_nodes)
            continue;
        free(graph->inputs[i]->known);
        graph->inputs[i]->known = NULL;
    }
}

int model_read_graph(struct graph *graph, const Onnx__GraphProto *proto, struct model_place place,
                     struct diag *diag)
{
    int rc = read_initialisers(graph, proto, place, diag);

    if (rc == 0)
        rc = read_inputs(graph, proto, place, diag);
    if (rc == 0 && place.depth == 0 && place.sequences && place.sequences->learn)
        rc = place.sequences->learn(place.sequences->user, graph);
    if (rc == 0)
        rc = model_read_nodes(graph, proto, place, diag);
    if (rc == 0)
        rc = read_outputs(graph, proto, place.depth > 0, diag);
    forget_inputs(graph);
    if (rc == 0)
        lower_prune(graph);
    if (rc == 0)
        rc = graph_sort(graph, diag);
    return rc < 0 ? rc : graph_check(graph, diag);
}

static int read_model(struct graph *graph, const Onnx__ModelProto *model, struct model_place place,
                      struct diag *diag)
{
    struct model_functions functions = {0};
    bool *may_defer = NULL;
    int rc = check_ir_version(model, diag);

    if (rc == 0 && place.defers)
        rc = onnx_defer_choose(model, &may_defer);
    place.may_defer = may_defer;
    if (rc == 0)
        rc = set_texts(graph, model);
    if (rc == 0)
        rc = set_layouts(graph, model, diag);
    if (rc == 0)
        rc = read_opsets(graph, model, diag);
    if (rc == 0)
        rc = model_functions_init(&functions, model, diag);
    place.functions = &functions;
    if (rc == 0)
        rc = model_read_graph(graph, model->graph, place, diag);
    model_functions_deinit(&functions);
    free(may_defer);
    return rc;
}

static int parse(const uint8_t *bytes, size_t size, struct model_place place,
                 struct graph **out_graph, struct diag *diag)
{
    ProtobufCMessage *message = NULL;
    struct graph *graph;
    int rc;

    rc = onnx_unpack(&onnx__model_proto__descriptor, "model", 1, bytes, size, &message, diag);
    if (rc < 0)
        return rc;
    graph = graph_create();
    rc = !graph ? -ENOMEM : read_model(graph, (Onnx__ModelProto *)message, place, diag);
    onnx_free(message);
    if (rc == -ENOMEM)
        diag_set(diag, rc, "no memory for the model");
    if (rc == 0) {
        *out_graph = graph;
        graph = NULL;
    }
    graph_destroy(&graph);
    return rc;
}

int model_onnx_parse(const uint8_t *bytes, size_t size, int folder_fd, struct graph **out_graph,
                     struct diag *diag)
{
    return parse(bytes, size, (struct model_place){.folder_fd = folder_fd}, out_graph, diag);
}

/* Parameters are not held twice, in the message and in the graph. */
static int parse_cut(const uint8_t *bytes, size_t size, struct model_place place,
                     struct graph **out_graph, struct diag *diag)
{
    struct onnx_cut cut;
    int rc = onnx_cut_init(&cut, bytes, size);

    place.cut = &cut;
    if (rc == 0)
        rc = parse(cut.message.items, cut.message.count, place, out_graph, diag);
    else if (rc == -EINVAL) /* for the sentence that says where it is damaged */
        rc = model_onnx_parse(bytes, size, place.folder_fd, out_graph, diag);
    else
        diag_set(diag, rc, "no memory for the model");
    onnx_cut_deinit(&cut);
    return rc;
}

int model_onnx_parse_shared(const uint8_t *bytes, size_t size, int folder_fd,
                            struct graph **out_graph, struct diag *diag)
{
    return parse_cut(bytes, size, (struct model_place){.folder_fd = folder_fd, .may_share = true},
                     out_graph, diag);
}

static int open_folder(const char *path)
{
    char *copy = strdup(path);
    int fd = !copy ? -1 : open(dirname(copy), O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    free(copy);
    return fd;
}

static bool is_shared(const struct graph *graph)
{
    for (uint32_t i = 0; i < graph->value_count; i++)
        if (graph->values[i]->is_shared)
            return true;
    return false;
}

int model_onnx_load_with(const char *path, const struct model_loading *loading,
                         struct graph **out_graph, struct diag *diag)
{
    struct diag inner = {0};
    struct mapped_file file;
    struct graph *graph = NULL;
    int folder_fd;
    int rc = mapped_file_open(&file, path, diag);

    if (rc < 0)
        return rc;
    folder_fd = open_folder(path);
    rc = parse_cut(file.bytes, file.size,
                   (struct model_place){.folder_fd = folder_fd,
                                        .may_share = loading->shares,
                                        .defers = loading->defers,
                                        .is_mapped = true,
                                        .sequences = loading->sequences},
                   &graph, &inner);
    if (rc < 0)
        diag_set_at(diag, rc, inner.offset, "%.200s: %.290s", path, inner.text);
    if (folder_fd >= 0)
        close(folder_fd);
    if (rc == 0 && is_shared(graph) && file.size > 0) {
        rc = graph_add_map(graph, file.bytes, file.size);
        if (rc == 0)
            file = (struct mapped_file){0}; /* ownership moved to the graph */
    }
    if (rc == 0)
        rc = graph_set_text(&graph->path, path);
    if (rc < 0)
        graph_destroy(&graph);
    mapped_file_close(&file);
    if (rc == 0)
        *out_graph = graph;
    return rc;
}

int model_onnx_load(const char *path, struct graph **out_graph, struct diag *diag)
{
    return model_onnx_load_with(path, &(struct model_loading){0}, out_graph, diag);
}
