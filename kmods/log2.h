/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The binary logarithm of whole numbers, in fixed point
 */
#ifndef SANDGLASS_LOG2_H
#define SANDGLASS_LOG2_H

#include <linux/bitops.h>
#include <linux/types.h>

#define FIXED_LOG2_SHIFT	24

/**
 * fixed_log2() - the binary logarithm
 * @x:	a number from 1 to 2^64 - 1
 *
 * One squaring for each bit of the fraction: log2(m^2) = 2 log2(m) moves the
 * next bit in front of the point. The mantissa m has 31 bits behind its own,
 * and what squaring and cutting off lose makes less than 2^-28 of the result.
 *
 * Return: log2(x) in 1/2^24; exact for powers of two, otherwise never above
 * the exact value and less than 1.07 * 2^-24 below it.
 */
static inline u32 fixed_log2(u64 x)
{
	const int digits = fls64(x);
	u64 mantissa = x << (64 - digits) >> 32;	/* in 1/2^31, from 1 to 2 */
	u32 result = digits - 1;
	int bit;

	for (bit = 0; bit < FIXED_LOG2_SHIFT; bit++) {
		mantissa = mantissa * mantissa >> 31;
		result = result << 1 | mantissa >> 32;
		mantissa >>= mantissa >> 32;
	}
	return result;
}

#endif
