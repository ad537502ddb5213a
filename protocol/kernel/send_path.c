/* What most records that are sent have in common, in one call: a known topic, an open batch with room, bytes or None, now.
   And records with keys that come at once, each into its partition's open batch, up to the first one that does not fit.

   Everything else is the slow way's, which decides and reports what is wrong: an unknown topic, a batch that is full or old, headers,
   a timestamp of the caller's, memory that is used up, a turn of the engine that is due. So this does nothing that Python
   would have to know of before the next turn.

   SendTarget   a partition's open batch, while it is open
   SendRoute    a topic: its targets by partition, and the one that records without a key go to
   SendPath     a producer

   Stands for client/send_path.py, whose `send` always goes the slow way. */
#include "kernel.h"
#include "binary_column.h"
#include "builder.h"
#include <structmember.h>
#include <time.h>

#define PARTITIONS_MAX (1 << 20)
#define NS_OF_MS 1000000

typedef struct {
    PyObject_HEAD
    PyObject *batch;    /* both NULL while it is closed */
    builder_t *builder;
} target_t;

typedef struct {
    PyObject_HEAD
    target_t *sticky; /* NULL: to be chosen */
    target_t **targets; /* by partition; NULL: not used yet */
    Py_ssize_t count;
} route_t;

typedef struct {
    PyObject_HEAD
    PyTypeObject *delivery; /* a tuple of three: producer, batch, place in it */
    PyObject *producer, *slow; /* NULL after `close` */
    PyObject *routes; /* dict: topic to route */
    long long batch_size, allowance, open_bytes, next_turn_ns, wall_offset_ns;
} path_t;

static PyTypeObject *target_type, *route_type;

/* open(builder, batch): records may be added from now on. */
static PyObject *open_target(target_t *self, PyObject *const *args, Py_ssize_t count)
{
    if (!takes("open", 2, count))
        return NULL;
    if (!PyObject_TypeCheck(args[0], builder_type)) {
        PyErr_Format(PyExc_TypeError, "builder: %s is not BatchBuilder", Py_TYPE(args[0])->tp_name);
        return NULL;
    }
    Py_XSETREF(self->builder, (builder_t *)Py_NewRef(args[0]));
    Py_XSETREF(self->batch, Py_NewRef(args[1]));
    Py_RETURN_NONE;
}

/* close(): none any more. */
static PyObject *close_target(target_t *self, PyObject *unused)
{
    Py_CLEAR(self->builder);
    Py_CLEAR(self->batch);
    Py_RETURN_NONE;
}

static void free_target(target_t *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->builder);
    Py_XDECREF(self->batch);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int take_target(PyObject *from, const char *name)
{
    if (PyObject_TypeCheck(from, target_type))
        return 1;
    PyErr_Format(PyExc_TypeError, "%s: %s is not SendTarget", name, Py_TYPE(from)->tp_name);
    return 0;
}

/* resize(partitions): at least as many as before. */
static PyObject *resize(route_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long wanted;
    if (!takes("resize", 1, count) || !take_number(args[0], "partitions", self->count, PARTITIONS_MAX, &wanted))
        return NULL;
    target_t **targets = PyMem_Realloc(self->targets, (size_t)(wanted ? wanted : 1) * sizeof *targets);
    if (!targets)
        return PyErr_NoMemory();
    self->targets = targets;
    while (self->count < wanted)
        targets[self->count++] = NULL;
    Py_RETURN_NONE;
}

/* place(partition, target): a partition that is used from now on. */
static PyObject *place(route_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long index;
    if (!takes("place", 2, count) || !take_number(args[0], "partition", 0, self->count - 1, &index) || !take_target(args[1], "target"))
        return NULL;
    Py_XSETREF(self->targets[index], (target_t *)Py_NewRef(args[1]));
    Py_RETURN_NONE;
}

/* stick(target or None): where records without a key go. */
static PyObject *stick(route_t *self, PyObject *const *args, Py_ssize_t count)
{
    if (!takes("stick", 1, count))
        return NULL;
    if (args[0] == Py_None)
        Py_CLEAR(self->sticky);
    else if (take_target(args[0], "target"))
        Py_XSETREF(self->sticky, (target_t *)Py_NewRef(args[0]));
    else
        return NULL;
    Py_RETURN_NONE;
}

static void free_route(route_t *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->sticky);
    while (self->count)
        Py_XDECREF(self->targets[--self->count]);
    PyMem_Free(self->targets);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline long long monotonic_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (long long)now.tv_sec * 1000000000 + now.tv_nsec;
}

static PyObject *deliver(path_t *self, target_t *target)
{
    PyObject *place = PyLong_FromLongLong(target->builder->count - 1);
    PyObject *delivery = place ? self->delivery->tp_alloc(self->delivery, 3) : NULL;
    if (!delivery) {
        Py_XDECREF(place);
        return NULL;
    }
    PyTuple_SET_ITEM(delivery, 0, Py_NewRef(self->producer));
    PyTuple_SET_ITEM(delivery, 1, Py_NewRef(target->batch));
    PyTuple_SET_ITEM(delivery, 2, place);
    return delivery;
}

/* Where a record goes: by the hash of its key, or where those without a key go. NULL: not used yet. */
static inline target_t *target_of(const route_t *route, span_t key)
{
    if (key.size < 0)
        return route->sticky;
    if (!route->count)
        return NULL;
    return route->targets[(murmur2_of(key.at, (size_t)key.size) & 0x7FFFFFFF) % (uint32_t)route->count];
}

/* The record's target if the record may take the fast way; NULL without an exception if not. */
static target_t *fast_target(path_t *self, PyObject *topic, span_t key)
{
    if (!PyUnicode_CheckExact(topic) || self->open_bytes >= self->allowance)
        return NULL;
    PyObject *found = PyDict_GetItemWithError(self->routes, topic);
    if (!found || Py_TYPE(found) != route_type)
        return NULL;
    return target_of((route_t *)found, key);
}

/* send(topic, value=None, key=None, ...) -> a delivery; the slow way's answer, or None where there is no slow way. */
static PyObject *send(path_t *self, PyObject *const *args, Py_ssize_t count, PyObject *names)
{
    PyObject *value = count > 1 ? args[1] : Py_None, *key = count > 2 ? args[2] : Py_None;
    if (!self->producer) {
        PyErr_SetString(PyExc_RuntimeError, "the producer is closed");
        return NULL;
    }
    if (count < 1 || count > 3)
        goto slow;
    for (Py_ssize_t index = 0; names && index < PyTuple_GET_SIZE(names); index++) {
        PyObject *name = PyTuple_GET_ITEM(names, index);
        if (count < 3 && !PyUnicode_CompareWithASCIIString(name, "key"))
            key = args[count + index];
        else if (count < 2 && !PyUnicode_CompareWithASCIIString(name, "value"))
            value = args[count + index];
        else
            goto slow;
    }
    span_t value_span, key_span;
    if (!plain_span(value, &value_span) || !plain_span(key, &key_span))
        goto slow;
    long long now_ns = monotonic_ns();
    if (now_ns >= self->next_turn_ns)
        goto slow;
    target_t *target = fast_target(self, args[0], key_span);
    if (!target || !target->builder) {
        if (PyErr_Occurred())
            return NULL;
        goto slow;
    }
    builder_t *builder = target->builder;
    long long before = builder->used;
    int put = put_record(builder, (now_ns + self->wall_offset_ns) / NS_OF_MS, key_span, value_span, &no_headers, self->batch_size);
    if (put < 0)
        return NULL;
    if (!put)
        goto slow;
    self->open_bytes += builder->used - before;
    return deliver(self, target);
slow:
    if (self->slow == Py_None)
        Py_RETURN_NONE;
    return PyObject_Vectorcall(self->slow, args, (size_t)count, names);
}

/* NULL: there is no open batch. */
static inline target_t *open_target_of(const route_t *route, span_t key)
{
    target_t *target = target_of(route, key);
    return target && target->builder ? target : NULL;
}

/* 1: the record is in its partition's open batch; 0: there is none with room for it. -1 with an exception. */
static inline int spread_one(path_t *self, const route_t *route, span_t key, span_t value, int64_t time_ms)
{
    target_t *target = open_target_of(route, key);
    if (!target)
        return 0;
    long long before = target->builder->used;
    int put = put_record(target->builder, time_ms, key, value, &no_headers, self->batch_size);
    self->open_bytes += target->builder->used - before;
    return put;
}

/* The same for a key and a value of any kind that is taken. Their `__buffer__` may run code that changes the list. */
static int spread_held(path_t *self, const route_t *route, PyObject *values, PyObject *keys, Py_ssize_t index, int64_t time_ms)
{
    PyObject *value = Py_NewRef(PySequence_Fast_GET_ITEM(values, index)), *key = Py_NewRef(PySequence_Fast_GET_ITEM(keys, index));
    held_t value_held, key_held;
    int put = -1;
    if (!take_span(key, &key_held, "keys", index)) {
        if (!open_target_of(route, key_held.span)) {
            put = 0;
        } else if (!take_span(value, &value_held, "values", index)) {
            put = spread_one(self, route, key_held.span, value_held.span, time_ms);
            release_span(&value_held);
        }
        release_span(&key_held);
    }
    Py_DECREF(key);
    Py_DECREF(value);
    return put;
}

static int take_route(PyObject *from, route_t **route)
{
    *route = (route_t *)from;
    if (Py_TYPE(from) == route_type)
        return 1;
    PyErr_Format(PyExc_TypeError, "route: %s is not SendRoute", Py_TYPE(from)->tp_name);
    return 0;
}

/* spread(route, values, keys, timestamp_ms, start) -> index of the first record that was not taken: there is no open batch with room
   for it, or memory is used up. */
static PyObject *spread(path_t *self, PyObject *const *args, Py_ssize_t count)
{
    route_t *route;
    long long time_ms, start;
    if (!takes("spread", 5, count) || !take_route(args[0], &route) || !take_list(args[1], "values") || !take_list(args[2], "keys"))
        return NULL;
    PyObject *values = args[1], *keys = args[2];
    Py_ssize_t size = PySequence_Fast_GET_SIZE(values);
    if (PySequence_Fast_GET_SIZE(keys) != size) {
        PyErr_Format(PyExc_ValueError, "keys: %zd of them for %zd values", PySequence_Fast_GET_SIZE(keys), size);
        return NULL;
    }
    if (!take_number(args[3], "timestamp_ms", INT64_MIN, INT64_MAX, &time_ms) || !take_number(args[4], "start", 0, size, &start))
        return NULL;
    for (int put = 1; start < size; start++) {
        span_t key, value;
        if (start >= PySequence_Fast_GET_SIZE(values) || start >= PySequence_Fast_GET_SIZE(keys)) {
            PyErr_SetString(PyExc_ValueError, "values: the list changed while it was read");
            return NULL;
        }
        if (self->open_bytes >= self->allowance)
            put = 0;
        else if (plain_span(PySequence_Fast_GET_ITEM(keys, start), &key) && plain_span(PySequence_Fast_GET_ITEM(values, start), &value))
            put = spread_one(self, route, key, value, time_ms);
        else
            put = spread_held(self, route, values, keys, (Py_ssize_t)start, time_ms);
        if (put < 0)
            return NULL;
        if (!put)
            break;
    }
    return PyLong_FromLongLong(start);
}

/* spread_columns(route, values, keys, timestamp_ms, start, stop) -> the first row that was not taken. */
static PyObject *spread_columns(path_t *self, PyObject *const *args, Py_ssize_t count)
{
    route_t *route;
    long long time_ms, row, stop;
    column_t values = {.name = NULL}, keys = {.name = NULL};
    if (!takes("spread_columns", 6, count) || !take_route(args[0], &route)
        || !take_number(args[3], "timestamp_ms", INT64_MIN, INT64_MAX, &time_ms) || !take_number(args[5], "stop", 0, INT64_MAX / 2, &stop)
        || !take_number(args[4], "start", 0, stop, &row))
        return NULL;
    int put = -1;
    if (take_column(args[1], "values", stop, &values) && take_column(args[2], "keys", stop, &keys)) {
        span_t key, value;
        for (put = 1; put > 0 && row < stop; row += put > 0) {
            if (self->open_bytes >= self->allowance)
                put = 0;
            else if (!take_row(&keys, row, &key))
                put = -1;
            else if (!open_target_of(route, key))
                put = 0;
            else
                put = take_row(&values, row, &value) ? spread_one(self, route, key, value, time_ms) : -1;
        }
    }
    release_column(&values);
    release_column(&keys);
    return put < 0 ? NULL : PyLong_FromLongLong(row);
}

/* add(bytes): open batches grew, or were closed (less than 0). */
static PyObject *add(path_t *self, PyObject *const *args, Py_ssize_t count)
{
    long long bytes;
    if (!takes("add", 1, count) || take_numbers(args, 1, &bytes))
        return NULL;
    self->open_bytes += bytes;
    Py_RETURN_NONE;
}

static int visit_path(path_t *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->delivery);
    Py_VISIT(self->producer);
    Py_VISIT(self->slow);
    Py_VISIT(self->routes);
    return 0;
}

static int clear_path(path_t *self)
{
    Py_CLEAR(self->producer);
    Py_CLEAR(self->slow);
    Py_CLEAR(self->routes);
    Py_CLEAR(self->delivery);
    return 0;
}

/* close(): nothing is sent any more. */
static PyObject *close_path(path_t *self, PyObject *unused)
{
    Py_CLEAR(self->producer);
    Py_CLEAR(self->slow);
    Py_RETURN_NONE;
}

/* SendPath(delivery type, producer, slow or None, batch_size) */
static PyObject *make_path(PyTypeObject *type, PyObject *args, PyObject *named)
{
    PyObject *delivery, *producer, *slow;
    long long batch_size;
    if (named && PyDict_GET_SIZE(named)) {
        PyErr_SetString(PyExc_TypeError, "SendPath takes no named arguments");
        return NULL;
    }
    if (!PyArg_ParseTuple(args, "O!OOL", &PyType_Type, &delivery, &producer, &slow, &batch_size))
        return NULL;
    if (!PyType_IsSubtype((PyTypeObject *)delivery, &PyTuple_Type)) {
        PyErr_SetString(PyExc_TypeError, "delivery: it is no kind of tuple");
        return NULL;
    }
    path_t *self = (path_t *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->delivery = (PyTypeObject *)Py_NewRef(delivery);
    self->producer = Py_NewRef(producer);
    self->slow = Py_NewRef(slow);
    self->batch_size = batch_size;
    if (!(self->routes = PyDict_New()))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void free_path(path_t *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear_path(self);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

#define METHOD(name, function, flags) {name, (PyCFunction)(void (*)(void))function, flags, NULL}
#define NUMBER(name, flags) {#name, T_LONGLONG, offsetof(path_t, name), flags, NULL}

static PyMethodDef target_methods[] = {
    METHOD("open", open_target, METH_FASTCALL), METHOD("close", close_target, METH_NOARGS), {NULL, NULL, 0, NULL},
};
static PyMethodDef route_methods[] = {
    METHOD("resize", resize, METH_FASTCALL), METHOD("place", place, METH_FASTCALL), METHOD("stick", stick, METH_FASTCALL), {NULL, NULL, 0, NULL},
};
static PyMethodDef path_methods[] = {
    METHOD("send", send, METH_FASTCALL | METH_KEYWORDS), METHOD("spread", spread, METH_FASTCALL),
    METHOD("spread_columns", spread_columns, METH_FASTCALL), METHOD("add", add, METH_FASTCALL), METHOD("close", close_path, METH_NOARGS),
    {NULL, NULL, 0, NULL},
};
static PyMemberDef path_members[] = {
    NUMBER(open_bytes, READONLY), NUMBER(allowance, 0), NUMBER(next_turn_ns, 0), NUMBER(wall_offset_ns, 0),
    {"routes", T_OBJECT_EX, offsetof(path_t, routes), READONLY, NULL}, {NULL, 0, 0, 0, NULL},
};
static PyType_Slot target_slots[] = {{Py_tp_dealloc, free_target}, {Py_tp_methods, target_methods}, {0, NULL}};
static PyType_Slot route_slots[] = {{Py_tp_dealloc, free_route}, {Py_tp_methods, route_methods}, {0, NULL}};
static PyType_Slot path_slots[] = {
    {Py_tp_new, make_path}, {Py_tp_dealloc, free_path}, {Py_tp_traverse, visit_path}, {Py_tp_clear, clear_path},
    {Py_tp_methods, path_methods}, {Py_tp_members, path_members}, {0, NULL},
};
static PyType_Spec target_spec = {
    .name = "headrace_record_kernel.SendTarget", .basicsize = sizeof(target_t), .flags = Py_TPFLAGS_DEFAULT, .slots = target_slots,
};
static PyType_Spec route_spec = {
    .name = "headrace_record_kernel.SendRoute", .basicsize = sizeof(route_t), .flags = Py_TPFLAGS_DEFAULT, .slots = route_slots,
};
static PyType_Spec path_spec = {
    .name = "headrace_record_kernel.SendPath", .basicsize = sizeof(path_t), .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, .slots = path_slots,
};

int add_send_path(PyObject *module)
{
    PyObject *path_type = PyType_FromSpec(&path_spec);
    target_type = (PyTypeObject *)PyType_FromSpec(&target_spec);
    route_type = (PyTypeObject *)PyType_FromSpec(&route_spec);
    int failed = !path_type || !target_type || !route_type || PyModule_AddObjectRef(module, "SendPath", path_type) ||
        PyModule_AddObjectRef(module, "SendTarget", (PyObject *)target_type) || PyModule_AddObjectRef(module, "SendRoute", (PyObject *)route_type);
    Py_XDECREF(path_type);
    return failed ? -1 : 0;
}
