/* SPDX-License-Identifier: GPL-2.0 */
/* The link below a qdisc: how long it has been idle, as RED counts it. */
#ifndef SANDGLASS_RED_LINK_H
#define SANDGLASS_RED_LINK_H

#include <linux/ktime.h>
#include <linux/rtnetlink.h>
#include <net/sch_generic.h>

#include "red.h"

/**
 * struct red_link - a link and when it last had something to send
 * @speed:	how long packets take on it
 * @phantom_rate: see red_phantom_rate()
 * @idle_since:	while the queue is empty: when the link has sent all, or red_link_phantoms() was
 *		last asked, in ns
 */
struct red_link {
	struct psched_ratecfg	speed;
	u64			phantom_rate;
	u64			idle_since;
};

/**
 * red_link_set() - say how fast the link is
 * @link:	link
 * @rate:	in byte/s; at least 1
 * @avpkt:	of phantom packets, in bytes; at least 1
 */
static inline void red_link_set(struct red_link *link, u64 rate, u32 avpkt)
{
	const struct tc_ratespec plain = { .linklayer = TC_LINKLAYER_ETHERNET };

	link->phantom_rate = red_phantom_rate(rate, avpkt);
	psched_ratecfg_precompute(&link->speed, &plain, rate);
}

/**
 * red_link_phantoms() - packets that the link could have sent since it has been idle
 * @link:	link, with nothing queued
 *
 * A second call counts from the first.
 *
 * Return: their number, for red_idle().
 */
static inline u64 red_link_phantoms(struct red_link *link)
{
	const u64 now = ktime_get_ns();
	u64 phantoms;

	if (now <= link->idle_since)
		return 0;
	phantoms = red_phantoms(link->phantom_rate, now - link->idle_since);
	link->idle_since = now;
	return phantoms;
}

/**
 * red_link_takes_last() - the last packet of the queue goes to the link
 * @link:	link
 * @skb:	packet
 */
static inline void red_link_takes_last(struct red_link *link, const struct sk_buff *skb)
{
	link->idle_since = ktime_get_ns() + psched_l2t_ns(&link->speed, qdisc_pkt_len(skb));
}

#endif
