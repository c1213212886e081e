/* SPDX-License-Identifier: GPL-2.0 */
/* RFC 3742's law, free of sockets, so that it can be tested in a program. */
#ifndef TCP_LIMITED_SLOW_START_ARITHMETIC_H
#define TCP_LIMITED_SLOW_START_ARITHMETIC_H

#include <linux/math64.h>
#include <linux/types.h>

/**
 * limited_slow_start() - what the ACK of a segment adds to the window
 * @cwnd:	bytes
 * @max_ssthresh: bytes, at least 1
 * @mss:	bytes
 *
 * A segment, as in slow start, up to @max_ssthresh; above it
 *
 *	K = int(cwnd / (0.5 max_ssthresh)), cwnd += int(MSS / K)
 *
 * which is about half of @max_ssthresh in a round trip: K is rounded down, so
 * it is never less, and never more than three quarters.
 *
 * Return: bytes.
 */
static inline u32 limited_slow_start(u64 cwnd, u64 max_ssthresh, u32 mss)
{
	if (cwnd <= max_ssthresh)
		return mss;
	return div64_u64(mss, div64_u64(2 * cwnd, max_ssthresh));
}

#endif
