/* SPDX-License-Identifier: GPL-2.0 */
#define div64_u64(dividend, divisor) ((dividend) / (divisor))
