// SPDX-License-Identifier: GPL-2.0
/*
 * dctcp_inet - DCTCP with the changes for its use in the Internet
 *
 * M. Kuehlewind, D. P. Wagner, J. M. Reyes Espinosa, B. Briscoe: "Using Data
 * Center TCP (DCTCP) in the Internet", 2014, section III. What it changes in
 * the sender: alpha is finer and follows every ACK; the window is reduced
 * progressively, on every ECN-Echo of a round trip; and it may grow in CWR.
 *
 * Linux's own machine of congestion states runs as for Reno, but for CWR.
 * There, proportional rate reduction would own the window. A congestion
 * control with ->cong_control() owns it instead, but Linux then leaves more to
 * it: recovery, idle time, pacing. So a socket has such operations in CWR only,
 * and while anything is in flight.
 *
 * ->ssthresh() halves, for it answers losses: in Recovery, after a timeout, and
 * after a loss that a tail loss probe repaired. What a mark does to the window
 * is done when CWR begins, and on each of its ACKs. Congestion in the host's
 * own queue begins CWR too, and counts as a mark; if a segment was lost there,
 * that loss halves the window when it is found.
 */
#include <linux/build_bug.h>
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../dctcp.h"
#include "arithmetic.h"
#include "settings.h"

/**
 * struct dctcp_inet - a flow's state
 * @alpha:	moving average of the share of marked packets, in 2^-30
 * @delivered:	the socket's count of delivered packets at alpha's last update
 * @delivered_ce: the same of those with an echoed mark
 * @window_end:	sequence number that ends the round trip for alpha
 * @cwnd_cnt:	the socket's count of linear increase; Linux resets its own
 *		when CWR begins
 * @receiver:	this end as a receiver
 * @ece:	whether the ACK in work carries ECN-Echo
 * @in_order:	whether it acknowledges data, not by SACK alone
 */
struct dctcp_inet {
	u32	alpha;
	u32	delivered;
	u32	delivered_ce;
	u32	window_end;
	u32	cwnd_cnt;
	struct dctcp_receiver receiver;
	bool	ece;
	bool	in_order;
};

static struct tcp_congestion_ops dctcp_inet;
static struct tcp_congestion_ops dctcp_inet_cwr;
static struct tcp_congestion_ops dctcp_inet_reno;

static void dctcp_inet_use(struct sock *sk, const struct tcp_congestion_ops *ops)
{
	WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, ops);
}

static void dctcp_inet_start_window(const struct tcp_sock *tp, struct dctcp_inet *ca)
{
	ca->delivered = tp->delivered;
	ca->delivered_ce = tp->delivered_ce;
	ca->window_end = tp->snd_nxt;
}

static void dctcp_inet_init(struct sock *sk)
{
	const struct dctcp_inet_settings *set = dctcp_inet_settings(sock_net(sk));
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_inet *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	if (!dctcp_has_ecn(tp) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE) {
		/* The flags ask for ECT; Linux takes that back for what has no such flag. */
		dctcp_inet_use(sk, &dctcp_inet_reno);
		return;
	}
	memset(ca, 0, sizeof(*ca));
	ca->alpha = READ_ONCE(set->alpha_start) << (DCTCP_INET_BITS - 10);
	dctcp_receiver_init(sk, &ca->receiver);
	dctcp_inet_start_window(tp, ca);
}

/* At a time when all counts are up to date, and before the ACK changes the window. */
static void dctcp_inet_update_alpha(struct sock *sk)
{
	const struct dctcp_inet_settings *set = dctcp_inet_settings(sock_net(sk));
	const struct tcp_sock *tp = tcp_sk(sk);
	struct dctcp_inet *ca = inet_csk_ca(sk);
	u32 delivered = tp->delivered - ca->delivered;

	if (!READ_ONCE(set->alpha_per_ack) && before(tp->snd_una, ca->window_end))
		return;
	if (delivered)
		WRITE_ONCE(ca->alpha,
			   dctcp_inet_alpha(ca->alpha, delivered,
					    tp->delivered_ce - ca->delivered_ce,
					    READ_ONCE(set->alpha_bits),
					    READ_ONCE(set->shift_g)));
	dctcp_inet_start_window(tp, ca);
}

/* Kernels with Accurate ECN count its marks only after ->pkts_acked(), and call this then. */
static void dctcp_inet_in_ack_event(struct sock *sk, u32 flags)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);

	ca->ece = flags & CA_ACK_ECE;
	if (dctcp_has_accecn(tcp_sk(sk)))
		dctcp_inet_update_alpha(sk);
}

static void dctcp_inet_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);

	ca->in_order = sample->pkts_acked;
	if (!dctcp_has_accecn(tcp_sk(sk)))
		dctcp_inet_update_alpha(sk);
}

static void dctcp_inet_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	const struct dctcp_inet_settings *set = dctcp_inet_settings(sock_net(sk));
	struct dctcp_inet *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (READ_ONCE(set->slow_start_at_ssthresh) && cwnd == tp->snd_ssthresh &&
	    tcp_is_cwnd_limited(sk))
		/* As in Linux 3.2, whose slow start grows by a packet for an ACK. */
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
	else
		tcp_reno_cong_avoid(sk, ack, acked);
	ca->cwnd_cnt = tp->snd_cwnd_cnt;
}

static void dctcp_inet_set_window(struct tcp_sock *tp, u32 cwnd)
{
	tcp_snd_cwnd_set(tp, cwnd);
	WRITE_ONCE(tp->snd_ssthresh, max(cwnd, DCTCP_INET_MIN_WINDOW));
	tp->snd_cwnd_stamp = tcp_jiffies32;
}

/* Returns whether that is less than the window was. */
static bool dctcp_inet_reduce(struct sock *sk)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	/* Linux keeps the window that CWR begins with. */
	u32 window = dctcp_inet_window(tp->prior_cwnd, ca->alpha);

	if (window >= tcp_snd_cwnd(tp))
		return false;
	dctcp_inet_set_window(tp, window);
	tp->snd_cwnd_cnt = 0;
	ca->cwnd_cnt = 0;
	return true;
}

static bool dctcp_inet_reduces_late(const struct sock *sk)
{
	return READ_ONCE(dctcp_inet_settings(sock_net(sk))->reduce_after_rtt);
}

static void dctcp_inet_start_cwr(struct sock *sk)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	dctcp_inet_use(sk, &dctcp_inet_cwr);
	if (!dctcp_inet_reduces_late(sk) && dctcp_inet_reduce(sk))
		return;
	/* Slow start ends with the first mark, however small alpha is. */
	dctcp_inet_set_window(tp, tcp_snd_cwnd(tp));
	tp->snd_cwnd_cnt = ca->cwnd_cnt;
}

/* What Linux does for a loss, except in CWR, where it counts on a window that is reduced. */
static void dctcp_inet_start_recovery(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);

	tp->high_seq = tp->snd_nxt;
	tp->snd_cwnd_cnt = 0;
	tp->prior_cwnd = tcp_snd_cwnd(tp);
	tp->prr_delivered = 0;
	tp->prr_out = 0;
	WRITE_ONCE(tp->snd_ssthresh, tcp_reno_ssthresh(sk));
}

static void dctcp_inet_end_cwr(struct sock *sk, u8 state)
{
	struct tcp_sock *tp = tcp_sk(sk);

	dctcp_inet_use(sk, &dctcp_inet);
	if (state == TCP_CA_Recovery) {
		dctcp_inet_start_recovery(sk);
	} else if (state == TCP_CA_Loss) {
		/*
		 * Within the marked window Linux does not halve, and the
		 * window is gone; ssthresh is what the marks left of it.
		 */
		if (after(tp->high_seq, tp->snd_una))
			WRITE_ONCE(tp->snd_ssthresh,
				   max(tp->snd_ssthresh >> 1, DCTCP_INET_MIN_WINDOW));
	} else if (!after(tp->snd_una, tp->high_seq) && inet_csk(sk)->icsk_ca_initialized) {
		/* CWR that ends with the ACK that began it: a probe has repaired a loss. */
		tcp_snd_cwnd_set(tp, tp->prior_cwnd);
		dctcp_inet_set_window(tp, tcp_reno_ssthresh(sk));
	} else if (dctcp_inet_reduces_late(sk)) {
		dctcp_inet_reduce(sk);
	}
}

static void dctcp_inet_set_state(struct sock *sk, u8 state)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);

	if (state == TCP_CA_CWR)
		dctcp_inet_start_cwr(sk);
	else if (inet_csk(sk)->icsk_ca_state == TCP_CA_CWR)
		dctcp_inet_end_cwr(sk, state);
	if (state == TCP_CA_Recovery || state == TCP_CA_Loss)
		ca->cwnd_cnt = 0;
}

/* As Linux decides in its other states. */
static bool dctcp_inet_may_grow(const struct sock *sk, const struct rate_sample *sample)
{
	const struct dctcp_inet *ca = inet_csk_ca(sk);

	if (tcp_sk(sk)->reordering > READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_reordering))
		return sample->acked_sacked;
	return ca->in_order;
}

/* As Linux does without ->cong_control(), in congestion avoidance. */
static void dctcp_inet_update_pacing_rate(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	u64 rate = (u64)tp->mss_cache * (USEC_PER_SEC / 100 << 3);

	rate *= READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_pacing_ca_ratio);
	rate *= max(tcp_snd_cwnd(tp), tp->packets_out);
	if (tp->srtt_us)
		do_div(rate, tp->srtt_us);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void dctcp_inet_control_in_cwr(struct sock *sk, const struct rate_sample *sample)
{
	const struct dctcp_inet *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (ca->ece) {
		if (!dctcp_inet_reduces_late(sk))
			dctcp_inet_reduce(sk);
	} else if (dctcp_inet_may_grow(sk, sample)) {
		dctcp_inet_cong_avoid(sk, tp->snd_una, sample->acked_sacked);
		tp->snd_cwnd_stamp = tcp_jiffies32;
	}
	dctcp_inet_update_pacing_rate(sk);
	/* CWR stays until something new is acknowledged; an idle time may come before. */
	if (!tp->packets_out)
		dctcp_inet_use(sk, &dctcp_inet);
}

static void dctcp_inet_cong_control(CONG_CONTROL_PARAMETERS)
{
	dctcp_inet_control_in_cwr(sk, sample);
}

static void dctcp_inet_tx_start(struct sock *sk)
{
	if (inet_csk(sk)->icsk_ca_state == TCP_CA_CWR)
		dctcp_inet_use(sk, &dctcp_inet_cwr);
}

static void dctcp_inet_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	struct dctcp_inet *ca = inet_csk_ca(sk);

	dctcp_receive(sk, &ca->receiver, event);
#ifndef HAVE_CWND_EVENT_TX_START
	if (event == CA_EVENT_TX_START)
		dctcp_inet_tx_start(sk);
#endif
}

/* For ss(8), as mainline's dctcp; alpha is in 2^-30. */
static size_t dctcp_inet_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct dctcp_inet *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (!(ext & (1 << (INET_DIAG_DCTCPINFO - 1) | 1 << (INET_DIAG_VEGASINFO - 1))))
		return 0;
	*attr = INET_DIAG_DCTCPINFO;
	info->dctcp = (struct tcp_dctcp_info) {
		.dctcp_enabled	= 1,
		.dctcp_ce_state	= ca->receiver.ce,
		.dctcp_alpha	= READ_ONCE(ca->alpha),
		.dctcp_ab_ecn	= tp->mss_cache * (tp->delivered_ce - ca->delivered_ce),
		.dctcp_ab_tot	= tp->mss_cache * (tp->delivered - ca->delivered),
	};
	return sizeof(info->dctcp);
}

static struct tcp_congestion_ops dctcp_inet __read_mostly = {
	.init		= dctcp_inet_init,
	.in_ack_event	= dctcp_inet_in_ack_event,
	.pkts_acked	= dctcp_inet_pkts_acked,
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= dctcp_inet_cong_avoid,
	.set_state	= dctcp_inet_set_state,
	.cwnd_event	= dctcp_inet_cwnd_event,
#ifdef HAVE_CWND_EVENT_TX_START
	.cwnd_event_tx_start = dctcp_inet_tx_start,
#endif
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.get_info	= dctcp_inet_get_info,
	.flags		= TCP_CONG_NEEDS_ECN,
	.owner		= THIS_MODULE,
	.name		= "dctcp_inet",
};

/* A path without ECN. */
static struct tcp_congestion_ops dctcp_inet_reno __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "dctcp_inet-reno",
};

static int __init dctcp_inet_register(void)
{
	int ret;

	dctcp_inet_cwr = dctcp_inet;
	dctcp_inet_cwr.cong_control = dctcp_inet_cong_control;
	ret = dctcp_inet_settings_register();
	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&dctcp_inet);
	if (ret)
		dctcp_inet_settings_unregister();
	return ret;
}

static void __exit dctcp_inet_unregister(void)
{
	tcp_unregister_congestion_control(&dctcp_inet);
	dctcp_inet_settings_unregister();
}

module_init(dctcp_inet_register);
module_exit(dctcp_inet_unregister);

MODULE_DESCRIPTION("DCTCP with the changes for its use in the Internet");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
