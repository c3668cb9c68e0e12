/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An extension of Python in place of ONNX Runtime's, made in PHASES phases, without a header of Python:
 * its InferenceSession is written in Python, and has no nodes.
 */
#include <stddef.h>

enum { FILE_INPUT = 257, HEAD_BYTES = 16, EXEC = 2 };

typedef struct object object;

struct slot {
    int id;
    void *value;
};

/* PyModuleDef. */
static struct definition {
    ptrdiff_t reference_count;
    object *type;
    void *init;
    ptrdiff_t index;
    object *copy;
    const char *name, *about;
    ptrdiff_t size;
    void *methods;
    struct slot *slots;
    void *traverse, *clear, *free;
} definition;

object *PyModule_GetDict(object *module);
object *PyModule_Create2(struct definition *definition, int version);
object *PyModuleDef_Init(struct definition *definition);
object *PyEval_GetBuiltins(void);
int PyDict_SetItemString(object *dict, const char *key, object *value);
object *PyRun_String(const char *source, int start, object *globals, object *locals);

static const char source[] = "class RunOptions:\n"
                             "    pass\n"
                             "class InferenceSession:\n"
                             "    def __init__(self, options, model, is_path, config):\n"
                             "        self.sum = 0\n"
                             "    def initialize_session(self, names, options, disabled):\n"
                             "        self.names = list(names)\n"
                             "    def run(self, outputs, feed, options=None):\n"
                             "        if 'x' not in feed:\n"
                             "            raise ValueError('no x')\n"
                             "        self.sum += feed['x']\n"
                             "        return [self.sum]\n"
                             "    def get_providers(self):\n"
                             "        return self.names\n"
                             "def get_version_string():\n"
                             "    return '1.20.1'\n";

static int fill(object *module)
{
    object *names = PyModule_GetDict(module);

    PyDict_SetItemString(names, "__builtins__", PyEval_GetBuiltins());
    return PyRun_String(source, FILE_INPUT, names, names) ? 0 : -1;
}

__attribute__((visibility("default"))) object *PyInit_onnxruntime_pybind11_state(void);

object *PyInit_onnxruntime_pybind11_state(void)
{
    static struct slot slots[] = {{EXEC, (void *)fill}, {0, NULL}};
    object *module;

    definition.reference_count = 1;
    definition.name = "onnxruntime_pybind11_state";
    if (PHASES == 2) {
        definition.slots = slots;
        return PyModuleDef_Init(&definition);
    }
    definition.size = -1;
    module = PyModule_Create2(&definition, 3);
    if (module && fill(module) < 0)
        return NULL;
    return module;
}
