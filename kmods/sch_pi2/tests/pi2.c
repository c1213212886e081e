// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/sch_pi2/pi2.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "pi2.h"
