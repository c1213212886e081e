/* SPDX-License-Identifier: GPL-2.0 */
#define div_s64(dividend, divisor) ((s64)(dividend) / (s32)(divisor))
#define div64_u64(dividend, divisor) ((u64)(dividend) / (u64)(divisor))
#define div_u64(dividend, divisor) ((u64)(dividend) / (u32)(divisor))
#define mul_u64_u64_shr(a, b, shift) ((u64)((unsigned __int128)(a) * (b) >> (shift)))
#define mul_u64_u32_shr(a, b, shift) mul_u64_u64_shr(a, b, shift)
#define mul_u64_u64_div_u64(a, b, divisor) ((u64)((unsigned __int128)(a) * (b) / (divisor)))
