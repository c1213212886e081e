/* SPDX-License-Identifier: GPL-2.0 */
/* The root, rounded down: a long double holds 64 bits, and may have been rounded up. */
static inline u32 int_sqrt64(u64 x)
{
	u64 root = __builtin_sqrtl((long double)x);

	return root * root > x ? root - 1 : root;
}
