// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/sch_pie_draft/pie.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "pie.h"
