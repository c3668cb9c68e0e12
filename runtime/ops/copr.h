/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Operators of other people, in C: what a library offers so that load_and_run --c-opr-lib computes
 * nodes of a model with it. The binary interface is that of MegEngine's external C operators, so
 * that a library built for those serves here as it is.
 *
 *     load_and_run model.onnx --c-opr-lib ./libmine.so
 *
 * The library has one function, mgb_c_opr_init() (or another name, with --c-opr-init-interface). It
 * asks for the interface of its version and registers what it has:
 *
 *     void mgb_c_opr_init(copr_get_api_fn *get_api)
 *     {
 *         const struct copr_api *api = get_api(COPR_VERSION);
 *
 *         if (api != NULL)
 *             api->register_loader(&my_loader);
 *     }
 *
 * In the model, nodes are bound to a loader by name: their domain is COPR_DOMAIN, their operator
 * type is the loader's name, and their string attribute COPR_ATTRIBUTE holds the bytes that the
 * loader is given (none where it is absent).
 *
 * Everything but release() must be a pure function of its arguments: it may be called on any
 * thread, at load time to fold constants, and any number of times. Tensors are dense, row-major and
 * in the host's memory. A scalar is a tensor of shape {1} here.
 */
#ifndef OPTRACE_RUNTIME_OPS_COPR_H
#define OPTRACE_RUNTIME_OPS_COPR_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define COPR_VERSION   0x24
#define COPR_DOMAIN    "optrace.extern"
#define COPR_ATTRIBUTE "data"

enum { COPR_MAX_RANK = 8 };

enum copr_dtype {
    COPR_FLOAT32 = 0,
    COPR_INT32 = 1,
    COPR_UINT8 = 2,
    COPR_FLOAT16 = 3,
    COPR_INT16 = 4,
};

struct copr_shape {
    uint32_t rank; /* 1 to 8 */
    uint32_t dims[COPR_MAX_RANK];
};

struct copr_layout {
    uint32_t dtype; /* enum copr_dtype */
    struct copr_shape shape;
};

struct copr_tensor {
    struct copr_layout layout;
    void *data; /* outputs are there already, with the shapes that were inferred */
};

/** One operator: what create_desc() made of a node. */
struct copr_desc {
    uint32_t size;         /* sizeof(struct copr_desc) */
    uint32_t output_count; /* at least as many as the node has */
    const char *type_name; /* for messages */
    /** Frees the descriptor; no call follows. */
    void (*release)(struct copr_desc *self);
    size_t (*hash)(const struct copr_desc *self);
    int (*is_same)(const struct copr_desc *self, const struct copr_desc *other);
    /** Fills the outputs. There is no way to fail. */
    void (*execute)(const struct copr_desc *self, const struct copr_tensor *inputs,
                    const struct copr_tensor *outputs);
    /** Outputs come with rank 0; one that keeps it has no shape for these inputs, and the model is
     *  refused. */
    void (*infer_shape)(const struct copr_desc *self, const struct copr_shape *inputs,
                        struct copr_shape *outputs);
    /** Arrays of enum copr_dtype. Outputs come with UINT32_MAX; one that keeps it has no dtype for
     *  these inputs, and the model is refused. NULL: the inputs have one dtype, and so have the
     *  outputs. */
    void (*infer_dtype)(const struct copr_desc *self, const uint32_t *inputs, uint32_t *outputs);
    void *user_data;     /* the library's */
    void *dynamic_param; /* memory of a device; NULL here */
};

struct copr_loader {
    const char *name; /* of the operator type */
    /**
     * data  what the model holds for the node, of no particular alignment; valid during the call
     *
     * Returns NULL where the data is not right: the model is refused then.
     */
    struct copr_desc *(*create_desc)(size_t input_count, const void *data, size_t data_bytes);
};

struct copr_api {
    /** The loader stays the library's and must stay valid. Returns 0 where its name is taken. */
    int (*register_loader)(const struct copr_loader *loader);
    /** Returns 0 where there is none of that name. */
    int (*unregister_loader)(const char *name);
};

/** NULL where the interface is not that of the version. */
typedef const struct copr_api *copr_get_api_fn(int version);

#ifdef __cplusplus
}
#endif

#endif
