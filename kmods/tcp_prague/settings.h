/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TCP_PRAGUE_SETTINGS_H
#define TCP_PRAGUE_SETTINGS_H

struct net;

/**
 * struct prague_settings - net.ipv4.tcp_prague.* of a network namespace
 * @rtt_mode:	how the virtual round-trip time is made, PRAGUE_RTT_*
 * @rtt_target:	what of, in us, 1 to 1000000
 * @transition:	rounds after slow start before it counts, 0 to 1000000
 * @alpha_start: alpha at the first mark, 0 or 1
 * @loss_percent: what a loss leaves of the window, 1 to 100
 * @loss_credit: how a reduction by marks counts for a loss, PRAGUE_CREDIT_*
 */
struct prague_settings {
	int	rtt_mode;
	int	rtt_target;
	int	transition;
	int	alpha_start;
	int	loss_percent;
	int	loss_credit;
};

const struct prague_settings *prague_settings(const struct net *net);
int prague_settings_register(void);
void prague_settings_unregister(void);

#endif
