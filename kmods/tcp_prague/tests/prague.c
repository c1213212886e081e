// SPDX-License-Identifier: GPL-2.0
/* The functions of kmods/tcp_prague/arithmetic.h as a library that Python can call. */
#include <linux/types.h>

#define inline
#define static
#include "arithmetic.h"
