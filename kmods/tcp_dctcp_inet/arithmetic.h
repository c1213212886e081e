/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The arithmetic of DCTCP for the Internet, free of sockets, so that it can be
 * tested in a program
 *
 * alpha is kept in units of 2^-30. It takes no other values than multiples of
 * its resolution, at which the original computes, so that a coarse resolution
 * does here what it does there.
 */
#ifndef TCP_DCTCP_INET_ARITHMETIC_H
#define TCP_DCTCP_INET_ARITHMETIC_H

#include <linux/bits.h>
#include <linux/math64.h>
#include <linux/minmax.h>
#include <linux/types.h>

#define DCTCP_INET_BITS		30	/* of alpha: the finest resolution */
#define DCTCP_INET_ONE		BIT(DCTCP_INET_BITS)
#define DCTCP_INET_MIN_WINDOW	2U	/* packets */

/**
 * dctcp_inet_alpha() - the moving average of the share of marked packets
 * @alpha:	before, in 2^-30
 * @delivered:	packets acknowledged since, at least 1
 * @marked:	how many of them the receiver echoed a mark for
 * @bits:	the resolution is 2^-@bits, up to 30
 * @shift_g:	g is 2^-@shift_g, up to @bits
 *
 * alpha = (1 - g) * alpha + g * F, equation (2) of the paper, with both terms
 * rounded down to the resolution as in the patch for Linux 3.2. So it does not
 * fall below (2^@shift_g - 1) units of the resolution.
 *
 * Return: alpha in 2^-30, up to 1.
 */
static inline u32 dctcp_inet_alpha(u32 alpha, u32 delivered, u32 marked, u32 bits, u32 shift_g)
{
	u64 share = div_u64((u64)min_t(u32, marked, delivered) << bits, delivered);
	u32 units = alpha >> (DCTCP_INET_BITS - bits);

	units += (u32)(share >> shift_g) - (units >> shift_g);
	return units << (DCTCP_INET_BITS - bits);
}

/**
 * dctcp_inet_window() - the window that a mark leaves at most
 * @cwnd_max:	packets, at the start of CWR
 * @alpha:	in 2^-30
 *
 * (1 - alpha / 2) * @cwnd_max, equation (1) of the paper. The reduction is
 * rounded down, so that less than a packet is none.
 *
 * Return: packets, at least 2.
 */
static inline u32 dctcp_inet_window(u32 cwnd_max, u32 alpha)
{
	u32 reduction = ((u64)cwnd_max * alpha) >> (DCTCP_INET_BITS + 1);

	return max_t(u32, cwnd_max - reduction, DCTCP_INET_MIN_WINDOW);
}

#endif
