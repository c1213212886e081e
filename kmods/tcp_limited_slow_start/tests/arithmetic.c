// SPDX-License-Identifier: GPL-2.0
/* The function of kmods/tcp_limited_slow_start/arithmetic.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "arithmetic.h"
