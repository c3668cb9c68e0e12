/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interpreter of a Python program, by functions of its stable interface, found where it is: no
 * header of Python, and nothing where there is none. Objects are borrowed unless said.
 *
 * Inside client/inject only. Threads that hold the interpreter's lock.
 */
#ifndef OPTRACE_CLIENT_INJECT_PYTHON_H
#define OPTRACE_CLIENT_INJECT_PYTHON_H

#include <stdbool.h>
#include <stddef.h>

typedef struct python_object object;
typedef object *python_function(object *self, object *arguments, object *words);

/* PyMethodDef. */
struct python_method {
    const char *name;
    python_function *call;
    int flags; /* PYTHON_WITH_WORDS */
    const char *about;
};

/* PyModuleDef_Slot. */
struct python_slot {
    int id; /* PYTHON_EXEC */
    void *value;
};

enum { PYTHON_WITH_WORDS = 3, PYTHON_EXEC = 2, PYTHON_SLOTS_OFFSET = 56 };

/* X(result, name, arguments) */
#define PYTHON_FUNCTIONS(X)                                                                        \
    X(object *, PyObject_Call, (object *, object *, object *))                                     \
    X(object *, PyObject_CallMethod, (object *, const char *, const char *, ...))                  \
    X(object *, PyObject_CallObject, (object *, object *))                                         \
    X(object *, PyObject_GetAttrString, (object *, const char *))                                  \
    X(int, PyObject_SetAttrString, (object *, const char *, object *))                             \
    X(int, PyObject_IsInstance, (object *, object *))                                              \
    X(int, PyCallable_Check, (object *))                                                           \
    X(int, PyObject_IsTrue, (object *))                                                            \
    X(object *, PyImport_ImportModule, (const char *))                                             \
    X(object *, PyWeakref_NewRef, (object *, object *))                                            \
    X(object *, PyObject_Type, (object *))                                                         \
    X(object *, PyTuple_New, (ptrdiff_t))                                                          \
    X(ptrdiff_t, PyTuple_Size, (object *))                                                         \
    X(object *, PyTuple_GetItem, (object *, ptrdiff_t))                                            \
    X(int, PyTuple_SetItem, (object *, ptrdiff_t, object *))                                       \
    X(object *, PySequence_List, (object *))                                                       \
    X(int, PyList_Insert, (object *, ptrdiff_t, object *))                                         \
    X(int, PyList_SetSlice, (object *, ptrdiff_t, ptrdiff_t, object *))                            \
    X(object *, PyList_GetItem, (object *, ptrdiff_t))                                             \
    X(ptrdiff_t, PyList_Size, (object *))                                                          \
    X(object *, PyDict_New, (void))                                                                \
    X(ptrdiff_t, PyDict_Size, (object *))                                                          \
    X(int, PyDict_DelItemString, (object *, const char *))                                         \
    X(ptrdiff_t, PyBytes_Size, (object *))                                                         \
    X(object *, PyUnicode_FromString, (const char *))                                              \
    X(const char *, PyUnicode_AsUTF8, (object *))                                                  \
    X(object *, PyLong_FromLong, (long))                                                           \
    X(long, PyLong_AsLong, (object *))                                                             \
    X(object *, PyCFunction_NewEx, (struct python_method *, object *, object *))                   \
    X(object *, PyInstanceMethod_New, (object *))                                                  \
    X(void, PyErr_Fetch, (object **, object **, object **))                                        \
    X(void, PyErr_Restore, (object *, object *, object *))                                         \
    X(void, PyErr_Clear, (void))                                                                   \
    X(void, Py_IncRef, (object *))                                                                 \
    X(void, Py_DecRef, (object *))

#define PYTHON_MEMBER(result, name, arguments) result(*name) arguments;
struct python {
    PYTHON_FUNCTIONS(PYTHON_MEMBER)
    object *none;
    object *dict_type;
    object *module_def_type;
    size_t head_bytes; /* of an object: 16, but for unusual interpreters */
};
#undef PYTHON_MEMBER

extern struct python python;

/** Find all of it, once; false: it is not there, or no interpreter that we know. */
bool python_find(void);

/** What is wrong inside of us is nobody's error: drop a reference, which may be NULL. */
void python_drop(object *owned);

/** Put a method before each of these, which end in a name of NULL, of a type, or a function of a
 *  module. Ours gets the one before it as `self`. */
void python_replace(object *of, struct python_method *methods, bool is_type);

/** A call with items of the arguments in place of others; behind their end at most by one.
 *  Returns a new reference, or NULL with the program's error. */
object *python_call_with(object *function, object *arguments, ptrdiff_t place, object *item,
                         ptrdiff_t other_place, object *other);

#endif
