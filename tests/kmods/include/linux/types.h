/* SPDX-License-Identifier: GPL-2.0 */
/* What the arithmetic of kmods/ needs of the kernel's headers, for a program. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint32_t u32;
typedef uint64_t u64;
typedef u32 __u32;
typedef u64 __u64;
typedef int32_t s32;
typedef int64_t s64;

#define U32_MAX UINT32_MAX
#define U64_MAX UINT64_MAX
