// SPDX-License-Identifier: GPL-2.0
/*
 * prague - TCP Prague, the congestion control of L4S
 *
 * draft-briscoe-iccrg-prague-congestion-control-01, whose sections are named
 * below; where it leaves something open, as the Linux module of L4STeam does it,
 * version 0.6, which README.md tells.
 *
 * It needs Accurate ECN (RFC 9768) and sends ECT(1). Where the other end has no
 * Accurate ECN, the socket gets the operations of Reno, without ECT(1).
 *
 * The window has a fraction. A mark or a loss reduces it at once, and
 * tp->snd_cwnd comes after it by a packet per ACK, up or down. So does it after
 * a timeout, from the one packet that Linux leaves.
 *
 * What marks are to the window happens when Linux enters CWR, on the ACK that
 * reports the first of them. CWR is entered too when a queue of the host's own
 * is full, or when a tail loss probe has repaired a loss. No mark has come since
 * the last ACK then, and that is how these are told apart: they are losses.
 */
#include <linux/build_bug.h>
#include <linux/inet_diag.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "../compat.h"
#include "arithmetic.h"
#include "settings.h"

#define PRAGUE_PACING_SHIFT	12	/* bursts of 2^-12 s, 244 us; section 2.5.2 */

/**
 * struct prague - a flow's state
 * @window:	the congestion window, in 2^-20 packets
 * @loss_window: the same before the last loss
 * @cut_us:	when a mark last reduced it
 * @round_us:	when the round began
 * @round_end:	sequence number of the first data sent in the round
 * @round_delivered: the socket's count of delivered packets when it began
 * @round_marked: the same of those with a reported mark
 * @delivered:	the socket's count of delivered packets after the last ACK
 * @marked:	the same of those with a reported mark
 * @answered:	that count when CWR last began for marks
 * @rounds:	ended since slow start
 * @alpha:	moving average of the share of marked packets, in 2^-24
 * @cut_alpha:	what it was at @cut_us
 * @saw_mark:	whether one has ever been reported
 * @plain_shift: the socket's pacing shift before
 */
struct prague {
	u64	window;
	u64	loss_window;
	u64	cut_us;
	u64	round_us;
	u32	round_end;
	u32	round_delivered;
	u32	round_marked;
	u32	delivered;
	u32	marked;
	u32	answered;
	u32	rounds;
	u32	alpha;
	u32	cut_alpha;
	bool	saw_mark;
	u8	plain_shift;
};

/**
 * struct prague_info - what getsockopt(TCP_CC_INFO) gets, and the lab's recorder
 * @window_lo:	the window in 2^-20 packets, lower half
 * @window_hi:	upper half
 * @alpha:	in 2^-24
 * @rtt_us:	the virtual round-trip time
 * @rounds:	ended since slow start
 */
struct prague_info {
	u32	window_lo;
	u32	window_hi;
	u32	alpha;
	u32	rtt_us;
	u32	rounds;
};

static struct tcp_congestion_ops prague_reno;

static u32 prague_srtt(const struct sock *sk)
{
	return tcp_sk(sk)->srtt_us >> 3;
}

static u32 prague_virtual_rtt(const struct sock *sk)
{
	const struct prague_settings *set = prague_settings(sock_net(sk));
	const struct prague *ca = inet_csk_ca(sk);

	/* After a timeout there is slow start again. */
	if (ca->rounds < READ_ONCE(set->transition) || tcp_in_slow_start(tcp_sk(sk)))
		return prague_srtt(sk);
	return prague_rtt(prague_srtt(sk), READ_ONCE(set->rtt_mode), READ_ONCE(set->rtt_target));
}

/* Whether less than a round has gone by since: that is time only if rounds are longer than real. */
static bool prague_is_recent(const struct sock *sk, u64 us)
{
	return tcp_sk(sk)->tcp_mstamp - us < prague_virtual_rtt(sk);
}

static bool prague_has_longer_rounds(const struct sock *sk)
{
	return prague_virtual_rtt(sk) > prague_srtt(sk);
}

static void prague_start_round(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);

	ca->round_us = tp->tcp_mstamp;
	ca->round_end = tp->snd_nxt;
	ca->round_delivered = tp->delivered;
	ca->round_marked = tp->delivered_ce;
}

static void prague_init(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	if (!tcp_ecn_mode_accecn(tp) && sk->sk_state != TCP_LISTEN && sk->sk_state != TCP_CLOSE) {
		/* The flags ask for ECT(1); Linux takes that back for what has no such flags. */
		WRITE_ONCE(inet_csk(sk)->icsk_ca_ops, &prague_reno);
		return;
	}
	memset(ca, 0, sizeof(*ca));
	ca->window = prague_bounded((u64)tcp_snd_cwnd(tp) << PRAGUE_WINDOW_BITS);
	ca->delivered = tp->delivered;
	ca->marked = tp->delivered_ce;
	ca->answered = tp->delivered_ce;
	prague_start_round(sk);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	ca->plain_shift = READ_ONCE(sk->sk_pacing_shift);
	WRITE_ONCE(sk->sk_pacing_shift, PRAGUE_PACING_SHIFT);
}

static void prague_release(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	WRITE_ONCE(sk->sk_pacing_shift, ca->plain_shift);
}

/* The slow-start threshold is the window that a reduction leaves. */
static void prague_set_threshold(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);

	WRITE_ONCE(tcp_sk(sk)->snd_ssthresh, prague_packets(ca->window));
}

/* A packet nearer to the window, for each ACK. */
static void prague_follow_window(struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 window = prague_packets(ca->window);
	u32 cwnd = tcp_snd_cwnd(tp);

	if (cwnd < window)
		tcp_snd_cwnd_set(tp, min(cwnd + 1, tp->snd_cwnd_clamp));
	else if (cwnd > window)
		tcp_snd_cwnd_set(tp, cwnd - 1);
}

/* Section 2.3.2: alpha is defined from the first mark on. */
static void prague_see_mark(struct sock *sk)
{
	const struct prague_settings *set = prague_settings(sock_net(sk));
	struct prague *ca = inet_csk_ca(sk);

	if (ca->saw_mark)
		return;
	ca->saw_mark = true;
	if (READ_ONCE(set->alpha_start))
		WRITE_ONCE(ca->alpha, PRAGUE_ALPHA_ONE);
}

static void prague_reduce_for_mark(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 alpha = ca->saw_mark ? ca->alpha : PRAGUE_ALPHA_ONE;

	prague_see_mark(sk);
	/* After a timeout the window that is in use is still on its way up. */
	if (tcp_in_slow_start(tp))
		ca->window = min(ca->window, (u64)tcp_snd_cwnd(tp) << PRAGUE_WINDOW_BITS);
	/* CWR lasts a real round trip; a round may be longer. */
	if (!prague_has_longer_rounds(sk) || !prague_is_recent(sk, ca->cut_us)) {
		ca->window = prague_reduced(ca->window, alpha);
		ca->cut_us = tp->tcp_mstamp;
		ca->cut_alpha = alpha;
	}
	prague_set_threshold(sk);
}

static void prague_reduce_for_loss(struct sock *sk)
{
	const struct prague_settings *set = prague_settings(sock_net(sk));
	struct prague *ca = inet_csk_ca(sk);
	u32 alpha = prague_is_recent(sk, ca->cut_us) ? ca->cut_alpha : 0;

	ca->loss_window = ca->window;
	ca->window = prague_after_loss(ca->window, READ_ONCE(set->loss_percent), alpha,
				       READ_ONCE(set->loss_credit));
	prague_set_threshold(sk);
}

/* Whether the ACK in work reports marks, and CWR has not begun for them. */
static bool prague_has_new_marks(const struct sock *sk)
{
	const struct prague *ca = inet_csk_ca(sk);
	u32 marked = tcp_sk(sk)->delivered_ce;

	return marked != ca->marked && marked != ca->answered;
}

static void prague_set_state(struct sock *sk, u8 state)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	/*
	 * In CWR Linux takes the window to be reduced already, and has Recovery
	 * end where CWR would: in the midst of repairs, and begin again.
	 */
	if (state == TCP_CA_Recovery && inet_csk(sk)->icsk_ca_state == TCP_CA_CWR)
		tp->high_seq = tp->snd_nxt;
	if (state == TCP_CA_CWR && prague_has_new_marks(sk)) {
		prague_reduce_for_mark(sk);
		/* Should the ACK begin CWR twice, the other time is for a loss. */
		ca->answered = tp->delivered_ce;
	} else if (state == TCP_CA_CWR || state == TCP_CA_Recovery) {
		prague_reduce_for_loss(sk);
	}
}

static void prague_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_LOSS)
		prague_reduce_for_loss(sk);
}

/* What Linux asks before it tells of an event; the reduction comes then. */
static u32 prague_ssthresh(struct sock *sk)
{
	return tcp_sk(sk)->snd_ssthresh;
}

static u32 prague_undo_cwnd(struct sock *sk)
{
	struct prague *ca = inet_csk_ca(sk);

	ca->window = max(ca->window, ca->loss_window);
	return max(tcp_snd_cwnd(tcp_sk(sk)), prague_packets(ca->window));
}

/* Section 2.3.2: a round ends when what was sent first in it is acknowledged. */
static void prague_update_alpha(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct prague *ca = inet_csk_ca(sk);
	u32 delivered = tp->delivered - ca->round_delivered;

	if (!after(tp->snd_una, ca->round_end))
		return;
	if (prague_has_longer_rounds(sk) && prague_is_recent(sk, ca->round_us))
		return;
	if (ca->saw_mark && delivered)
		WRITE_ONCE(ca->alpha, prague_alpha(ca->alpha, delivered,
						   tp->delivered_ce - ca->round_marked));
	if (!tcp_in_slow_start(tp))
		ca->rounds++;
	prague_start_round(sk);
}

/* Section 2.4.3, with 2.4.4: on every ACK, in CWR too. */
static void prague_increase_window(struct sock *sk, u32 unmarked)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 most = min((u64)tp->snd_cwnd_clamp << PRAGUE_WINDOW_BITS, PRAGUE_MAX_WINDOW);
	u32 per_rtt;

	if (tcp_in_slow_start(tp)) {
		unmarked = tcp_slow_start(tp, unmarked);
		ca->window = max(ca->window, (u64)tcp_snd_cwnd(tp) << PRAGUE_WINDOW_BITS);
		if (!unmarked)
			return;
	}
	per_rtt = prague_increase_per_rtt(prague_srtt(sk), prague_virtual_rtt(sk));
	ca->window = min(ca->window + prague_increase(ca->window, unmarked, per_rtt), most);
	prague_follow_window(sk);
}

/* Section 2.5.1, without Linux's 1.2 in congestion avoidance. */
static void prague_update_pacing_rate(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	u32 packets = max(tcp_snd_cwnd(tp), tcp_packets_in_flight(tp));
	bool doubled = tcp_snd_cwnd(tp) < tp->snd_ssthresh / 2;
	u64 rate;

	if (!prague_srtt(sk))
		return;
	rate = prague_pacing_rate(packets, tcp_mss_to_mtu(sk, tp->mss_cache), prague_srtt(sk),
				  doubled);
	WRITE_ONCE(sk->sk_pacing_rate, min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

static void prague_cong_control(CONG_CONTROL_PARAMETERS)
{
	struct prague *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 delivered = tp->delivered - ca->delivered;
	u32 marked = tp->delivered_ce - ca->marked;

	ca->delivered = tp->delivered;
	ca->marked = tp->delivered_ce;
	/* The first one may come while a loss is recovered from, without CWR. */
	if (marked)
		prague_see_mark(sk);
	if (inet_csk(sk)->icsk_ca_state < TCP_CA_Recovery && delivered > marked &&
	    tcp_is_cwnd_limited(sk))
		prague_increase_window(sk, delivered - marked);
	else
		prague_follow_window(sk);
	prague_update_alpha(sk);
	prague_update_pacing_rate(sk);
}

/* Whole only for getsockopt(TCP_CC_INFO): netlink has no attribute for it. */
static size_t prague_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct prague *ca = inet_csk_ca(sk);
	struct prague_info *ours = (struct prague_info *)info;

	BUILD_BUG_ON(sizeof(*ours) > sizeof(*info));
	if (ext != ~0U)
		return 0;
	*ours = (struct prague_info) {
		.window_lo	= lower_32_bits(ca->window),
		.window_hi	= upper_32_bits(ca->window),
		.alpha		= READ_ONCE(ca->alpha),
		.rtt_us		= prague_virtual_rtt(sk),
		.rounds		= ca->rounds,
	};
	return sizeof(*ours);
}

static struct tcp_congestion_ops prague __read_mostly = {
	.init		= prague_init,
	.release	= prague_release,
	.cong_control	= prague_cong_control,
	.ssthresh	= prague_ssthresh,
	.set_state	= prague_set_state,
	.cwnd_event	= prague_cwnd_event,
	.undo_cwnd	= prague_undo_cwnd,
	.get_info	= prague_get_info,
	.flags		= TCP_CONG_NEEDS_ECN | TCP_CONG_NEEDS_ACCECN | TCP_CONG_ECT_1_NEGOTIATION,
	.owner		= THIS_MODULE,
	.name		= "prague",
};

/* The other end has no Accurate ECN, section 2.3.1. */
static struct tcp_congestion_ops prague_reno __read_mostly = {
	.ssthresh	= tcp_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "prague-reno",
};

static int __init prague_register(void)
{
	int ret = prague_settings_register();

	if (ret)
		return ret;
	ret = tcp_register_congestion_control(&prague);
	if (ret)
		prague_settings_unregister();
	return ret;
}

static void __exit prague_unregister(void)
{
	tcp_unregister_congestion_control(&prague);
	prague_settings_unregister();
}

module_init(prague_register);
module_exit(prague_unregister);

MODULE_DESCRIPTION("TCP Prague, the congestion control of L4S");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
