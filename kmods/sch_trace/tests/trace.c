// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/sch_trace/trace.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "trace.h"
