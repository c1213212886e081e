// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/sch_noise/noise.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "noise.h"
