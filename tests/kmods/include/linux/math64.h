/* SPDX-License-Identifier: GPL-2.0 */
#define div64_u64(dividend, divisor) ((u64)(dividend) / (u64)(divisor))
#define div_u64(dividend, divisor) ((u64)(dividend) / (u32)(divisor))
