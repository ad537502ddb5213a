/* The module: its functions, its types, and the tables that are made once. */
#include "kernel.h"

#define FUNCTION(name) {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL, NULL}

static PyMethodDef functions[] = {
    FUNCTION(scan_records), FUNCTION(scan_plain), FUNCTION(is_plain), FUNCTION(list_records), FUNCTION(to_old_messages),
    FUNCTION(to_records), FUNCTION(fill_columns), FUNCTION(hash_keys), FUNCTION(put_offsets), FUNCTION(get_offsets),
    FUNCTION(kept_records), FUNCTION(load_offsets), FUNCTION(walk_batches), FUNCTION(walk_listed), FUNCTION(whole_end),
    FUNCTION(gather), FUNCTION(count_headers), FUNCTION(fill_headers), FUNCTION(mark_substring), FUNCTION(walk_flat),
    FUNCTION(take_run), FUNCTION(store_entries), FUNCTION(usual_frame), FUNCTION(crc32c), FUNCTION(crc32c_ways),
    FUNCTION(list_client_records), FUNCTION(murmur2), FUNCTION(partition_of), FUNCTION(walk_json), FUNCTION(find_record),
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, .m_name = "headrace_record_kernel", .m_size = -1, .m_methods = functions,
};

PyMODINIT_FUNC PyInit_headrace_record_kernel(void)
{
    make_crc_tables();
    make_crc32c_tables();
    PyObject *module = PyModule_Create(&definition);
    if (module && (add_batch_builder(module) || add_send_path(module)))
        Py_CLEAR(module);
    return module;
}
