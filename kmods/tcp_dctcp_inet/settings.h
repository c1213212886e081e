/* SPDX-License-Identifier: GPL-2.0 */
#ifndef TCP_DCTCP_INET_SETTINGS_H
#define TCP_DCTCP_INET_SETTINGS_H

struct net;

/**
 * struct dctcp_inet_settings - net.ipv4.tcp_dctcp_inet.* of a network namespace
 * @shift_g:	g is 2^-@shift_g; 0 to @alpha_bits
 * @alpha_bits:	alpha has a resolution of 2^-@alpha_bits; @shift_g to 30
 * @alpha_per_ack: alpha is updated on every ACK (1) or once in a round trip (0)
 * @alpha_start: alpha of a new connection in 1/1024, 0 to 1024
 * @slow_start_at_ssthresh: slow start is cwnd <= ssthresh, as in Linux 3.2 (1),
 *	or cwnd < ssthresh (0)
 * @reduce_after_rtt: the window is reduced once, at the end of CWR's round
 *	trip (1), or on each ECN-Echo (0)
 */
struct dctcp_inet_settings {
	int	shift_g;
	int	alpha_bits;
	int	alpha_per_ack;
	int	alpha_start;
	int	slow_start_at_ssthresh;
	int	reduce_after_rtt;
};

const struct dctcp_inet_settings *dctcp_inet_settings(const struct net *net);
int dctcp_inet_settings_register(void);
void dctcp_inet_settings_unregister(void);

#endif
