/* Runs the init function of a module of the core: mypyc hands out capsules, and its own loaders would be a file for each module. */
#include <Python.h>

static PyObject *load(PyObject *self, PyObject *capsule)
{
    void *init = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    return init == NULL ? NULL : ((PyObject *(*)(void))init)();
}

static PyMethodDef methods[] = {
    {"load", load, METH_O, "Run the init function that a capsule holds; returns the module."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "headrace_core_load", NULL, -1, methods, NULL, NULL, NULL, NULL};

PyMODINIT_FUNC PyInit_headrace_core_load(void)
{
    return PyModule_Create(&definition);
}
