/* Included before each C file that mypyc writes: the C that calls of some of our functions become (README.md). */
#include "buffer.h"
#include "checksum.h"
#include "clock.h"
#include "memory.h"
#include "struct_access.h"
#include "struct_functions.h"  /* generated beside mypyc's files: one C function for each struct function of the sources */
