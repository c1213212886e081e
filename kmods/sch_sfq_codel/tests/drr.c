// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/sch_sfq_codel/drr.h as a library that Python can call. */
#include <linux/list.h>
#include <linux/types.h>

#define inline
#define static
#include "drr.h"
