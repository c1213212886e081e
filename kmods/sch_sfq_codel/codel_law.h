/* SPDX-License-Identifier: GPL-2.0 */
/*
 * When CoDel signals, without the signal
 *
 * Mainline's codel_dequeue() signals by the packet that leaves. This is its path for packets that
 * can be marked, for signals that another packet carries. Include it after net/codel_impl.h.
 */
#ifndef SFQ_CODEL_CODEL_LAW_H
#define SFQ_CODEL_CODEL_LAW_H

#include <linux/skbuff.h>
#include <net/codel.h>

/* Begin to signal; soon after the last time, as often as then. */
static inline void codel_begin(const struct codel_params *params, struct codel_vars *vars,
			       codel_time_t now)
{
	const u32 delta = vars->count - vars->lastcount;

	if (delta > 1 && codel_time_before(now - vars->drop_next, 16 * params->interval)) {
		vars->count = delta;
		codel_Newton_step(vars);
	} else {
		vars->count = 1;
		vars->rec_inv_sqrt = ~0U >> REC_INV_SQRT_SHIFT;
	}
	vars->dropping = true;
	vars->lastcount = vars->count;
	vars->drop_next = codel_control_law(now, params->interval, vars->rec_inv_sqrt);
}

/**
 * codel_is_due() - whether CoDel signals now
 * @skb:	packet that has been taken from the queue, or NULL
 * @backlog:	what is left, in bytes
 * @params:	settings
 * @vars:	state
 * @stats:	statistics; signals are left to the caller
 * @len:	size of a packet
 * @time:	when a packet came
 *
 * Return: true when a packet is to be marked or dropped.
 */
static inline bool codel_is_due(const struct sk_buff *skb, u32 *backlog,
				struct codel_params *params, struct codel_vars *vars,
				struct codel_stats *stats, codel_skb_len_t len,
				codel_skb_time_t time)
{
	const codel_time_t now = codel_get_time();

	if (!codel_should_drop(skb, NULL, vars, params, stats, len, time, backlog, now)) {
		vars->dropping = false;
		return false;
	}
	if (!vars->dropping) {
		codel_begin(params, vars, now);
		return true;
	}
	if (codel_time_before(now, vars->drop_next))
		return false;
	vars->count++;
	codel_Newton_step(vars);
	vars->drop_next = codel_control_law(vars->drop_next, params->interval,
					    vars->rec_inv_sqrt);
	return true;
}

#endif
