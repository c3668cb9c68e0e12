/* SPDX-License-Identifier: Apache-2.0 */
/* Finding, replacing, calling. */
#include "client/inject/python.h"

#include <dlfcn.h>

struct python python;

static bool find_functions(void)
{
#define FIND(result, name, arguments)                                                              \
    *(void **)&python.name = dlsym(RTLD_DEFAULT, #name);                                           \
    if (!python.name)                                                                              \
        return false;
    PYTHON_FUNCTIONS(FIND)
#undef FIND
    return true;
}

bool python_find(void)
{
    static int found = -1;
    object *base, *size = NULL;

    if (found >= 0)
        return found;
    found = 0;
    if (!find_functions())
        return false;
    python.none = dlsym(RTLD_DEFAULT, "_Py_NoneStruct");
    python.dict_type = dlsym(RTLD_DEFAULT, "PyDict_Type");
    python.module_def_type = dlsym(RTLD_DEFAULT, "PyModuleDef_Type");
    base = dlsym(RTLD_DEFAULT, "PyBaseObject_Type");
    if (base)
        size = python.PyObject_GetAttrString(base, "__basicsize__");
    if (size)
        python.head_bytes = (size_t)python.PyLong_AsLong(size);
    python_drop(size);
    /* Without a lock of the interpreter, or with its debugging, objects begin otherwise. */
    found = python.none && python.dict_type && python.module_def_type && python.head_bytes == 16;
    return found;
}

void python_drop(object *owned)
{
    if (owned)
        python.Py_DecRef(owned);
    else
        python.PyErr_Clear();
}

void python_replace(object *of, struct python_method *methods, bool is_type)
{
    for (; methods->name; methods++) {
        object *theirs = python.PyObject_GetAttrString(of, methods->name);
        object *ours = theirs ? python.PyCFunction_NewEx(methods, theirs, NULL) : NULL;
        object *bound = ours && is_type ? python.PyInstanceMethod_New(ours) : ours;

        if (bound)
            python.PyObject_SetAttrString(of, methods->name, bound);
        python.PyErr_Clear(); /* one that there is not stays away */
    }
}

object *python_call_with(object *function, object *arguments, ptrdiff_t place, object *item,
                         ptrdiff_t other_place, object *other)
{
    const ptrdiff_t had = python.PyTuple_Size(arguments);
    const ptrdiff_t count = had > place ? had : place + 1;
    object *changed = python.PyTuple_New(count), *result;

    if (!changed)
        return NULL;
    for (ptrdiff_t i = 0; i < count; i++) {
        object *next = i == place         ? item
                       : i == other_place ? other
                                          : python.PyTuple_GetItem(arguments, i);

        python.Py_IncRef(next);
        python.PyTuple_SetItem(changed, i, next);
    }
    result = python.PyObject_Call(function, changed, NULL);
    python.Py_DecRef(changed);
    return result;
}
