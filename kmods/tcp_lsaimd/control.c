// SPDX-License-Identifier: GPL-2.0
/*
 * LS-AIMD: the window of a connection, from one ACK to the next
 *
 * snd_cwnd counts whole segments, so a window of fewer than delta is kept by
 * sk_pacing_rate, with delta segments as snd_cwnd's part, which is what a
 * receiver may want before it acknowledges. Linux does not pace a connection's
 * first 10 segments of data. Where segments leave in bursts, no pace keeps those
 * of a burst apart; the ACK sets the time of the next one.
 *
 * A module with ->cong_control() must do for itself what the kernel does for
 * others: shrink the window over a round trip (PRR), and restart after idle
 * time.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "lsaimd.h"

/* S_s, at least one segment, since the kernel takes 0 for an error. */
static u32 lsaimd_threshold_segments(const struct lsaimd *ca, u32 mss)
{
	if (ca->threshold == LSAIMD_CEILING)
		return TCP_INFINITE_SSTHRESH;
	return max(lsaimd_segments(ca->threshold, mss), 1U);
}

static void lsaimd_set_window(struct sock *sk, u64 window, u64 threshold)
{
	struct lsaimd *ca = inet_csk_ca(sk);

	ca->window = window;
	ca->threshold = threshold;
	ca->law.c = 0;	/* not a valid one: compute the increase anew */
}

/* Whether segments wait, for a window of fewer than delta. */
static bool lsaimd_is_waiting(const struct sock *sk)
{
	const struct lsaimd *ca = inet_csk_ca(sk);

	return lsaimd_waits(ca->window, tcp_sk(sk)->mss_cache, lsaimd_delta(ca->burst));
}

/*
 * One burst at a time while segments wait: a larger packet for segmentation
 * would leave at once what the pace is to spread.
 */
static void lsaimd_set_segmentation(struct sock *sk, bool waits)
{
	struct lsaimd *ca = inet_csk_ca(sk);

	if (waits && sk->sk_gso_max_segs > ca->burst) {
		ca->gso_segs = max(ca->gso_segs, sk->sk_gso_max_segs);
		sk->sk_gso_max_segs = ca->burst;
	} else if (!waits && ca->gso_segs) {
		sk->sk_gso_max_segs = ca->gso_segs;
		ca->gso_segs = 0;
	}
}

static void lsaimd_set_pace(struct sock *sk)
{
	const struct net *net = sock_net(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	const struct lsaimd *ca = inet_csk_ca(sk);
	bool waits = lsaimd_is_waiting(sk);
	u32 percent = 100;
	u64 rate;

	lsaimd_set_segmentation(sk, waits);
	if (!ca->srtt)
		return;
	if (!waits)
		percent = ca->window < ca->threshold / 2
			? READ_ONCE(net->ipv4.sysctl_tcp_pacing_ss_ratio)
			: READ_ONCE(net->ipv4.sysctl_tcp_pacing_ca_ratio);
	rate = lsaimd_rate(ca->window, ca->srtt, percent, tp->mss_cache);
	if (waits && ca->burst > 1)
		rate = U64_MAX;
	WRITE_ONCE(sk->sk_pacing_rate,
		   min_t(u64, rate, READ_ONCE(sk->sk_max_pacing_rate)));
}

/* The user may allow another burst at any time, and the receiver offer a larger window. */
static void lsaimd_set_burst(struct sock *sk, const struct lsaimd_clock *clock)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);

	ca->burst = lsaimd_burst(clock->burst, tp->max_window, tp->mss_cache);
}

/* The handshake's own ACKs and timeouts come before ->init(), those of a new child without SMSS. */
static bool lsaimd_has_begun(const struct lsaimd *ca)
{
	return ca->window;
}

/* What the window could use: the rest is not known to fit into the network. */
static u64 lsaimd_flight_of(const struct sock *sk)
{
	const struct lsaimd *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (ca->limited)
		return ca->window;
	return min(ca->window, lsaimd_window(max(tp->max_packets_out, 1U), tp->mss_cache));
}

/**
 * lsaimd_init() - begin with the window and the threshold that the kernel chose
 * @sk:	the socket
 */
void lsaimd_init(struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);
	u64 threshold = LSAIMD_CEILING;
	struct lsaimd_clock clock;

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	BUILD_BUG_ON(sizeof(struct lsaimd_info) > sizeof(union tcp_cc_info));
	memset(ca, 0, sizeof(*ca));
	if (tp->snd_ssthresh < TCP_INFINITE_SSTHRESH)
		threshold = lsaimd_window(tp->snd_ssthresh, tp->mss_cache);
	lsaimd_set_window(sk, lsaimd_window(tcp_snd_cwnd(tp), tp->mss_cache), threshold);
	ca->flight = LSAIMD_CEILING;
	ca->alpha = LSAIMD_ALPHA_ONE;
	ca->srtt = tp->srtt_us;
	ca->limited = true;
	lsaimd_clock(sk, &clock);
	lsaimd_set_burst(sk, &clock);
	dctcp_receiver_init(sk, &ca->receiver);
	cmpxchg(&sk->sk_pacing_status, SK_PACING_NONE, SK_PACING_NEEDED);
	lsaimd_set_pace(sk);
}

/**
 * lsaimd_release() - leave the socket to another congestion control
 * @sk:	the socket
 */
void lsaimd_release(struct sock *sk)
{
	lsaimd_set_segmentation(sk, false);
}

/**
 * lsaimd_ssthresh() - reduce, for whatever reason
 * @sk:	the socket
 *
 * Return: S_s.
 */
u32 lsaimd_ssthresh(struct sock *sk)
{
	struct lsaimd *ca = inet_csk_ca(sk);
	u64 reduced;

	if (!lsaimd_has_begun(ca))
		return tcp_reno_ssthresh(sk);
	ca->prior_window = ca->window;
	ca->prior_threshold = ca->threshold;
	ca->flight = lsaimd_flight_of(sk);
	ca->prior_pace = READ_ONCE(sk->sk_pacing_rate);
	reduced = lsaimd_reduced(ca->flight, ca->alpha);
	lsaimd_set_window(sk, reduced, reduced);
	lsaimd_set_pace(sk);
	return lsaimd_threshold_segments(ca, tcp_sk(sk)->mss_cache);
}

/**
 * lsaimd_undo_cwnd() - take back a reduction for which there was no reason
 * @sk:	the socket
 *
 * Return: W_s, but at least delta segments.
 */
u32 lsaimd_undo_cwnd(struct sock *sk)
{
	struct lsaimd *ca = inet_csk_ca(sk);

	lsaimd_set_window(sk, max(ca->window, ca->prior_window),
			  max(ca->threshold, ca->prior_threshold));
	lsaimd_set_pace(sk);
	return max(lsaimd_segments(ca->window, tcp_sk(sk)->mss_cache), lsaimd_delta(ca->burst));
}

/* A loss halves, also where marks ask for less, in all once per round trip. */
static void lsaimd_halve(struct sock *sk)
{
	struct lsaimd *ca = inet_csk_ca(sk);
	u64 halved = lsaimd_reduced(ca->flight, LSAIMD_ALPHA_ONE);

	if (halved >= ca->threshold)
		return;
	lsaimd_set_window(sk, min(ca->window, halved), halved);
	lsaimd_set_pace(sk);
	tcp_sk(sk)->snd_ssthresh = lsaimd_threshold_segments(ca, tcp_sk(sk)->mss_cache);
}

/*
 * Linux asks ->ssthresh() once per round trip, but each timeout sets snd_cwnd
 * so that one segment may be sent. By that it differs from a smaller path MTU,
 * which enters the same state and asks for no smaller window.
 */
static bool lsaimd_timed_out(const struct sock *sk)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	return tcp_snd_cwnd(tp) == tcp_packets_in_flight(tp) + 1;
}

/**
 * lsaimd_set_state() - answer a loss
 * @sk:		the socket, still in its former state
 * @state:	its next
 *
 * After a timeout: with a segment, or less (RFC 5681, 3.1).
 */
void lsaimd_set_state(struct sock *sk, u8 state)
{
	struct lsaimd *ca = inet_csk_ca(sk);

	if (!lsaimd_has_begun(ca))
		return;
	if (state == TCP_CA_Recovery) {
		lsaimd_halve(sk);
	} else if (state == TCP_CA_Loss && lsaimd_timed_out(sk)) {
		lsaimd_halve(sk);
		lsaimd_set_window(sk, min(ca->threshold, lsaimd_window(1, tcp_sk(sk)->mss_cache)),
				  ca->threshold);
		lsaimd_set_pace(sk);
		ca->prior_pace = 0;	/* what is sent now sets the next wait */
	}
}

/* The initial window, of the route or the kernel's, in 1/2^24 byte. */
static u64 lsaimd_restart_window(struct sock *sk)
{
	const struct dst_entry *route = __sk_dst_get(sk);
	u32 segments = route ? dst_metric(route, RTAX_INITCWND) : 0;

	return lsaimd_window(segments ?: TCP_INIT_CWND, tcp_sk(sk)->mss_cache);
}

/**
 * lsaimd_tx_start() - data are sent when none were on their way
 * @sk:	the socket
 *
 * After an idle time, and not after one in which a segment waited: such a
 * window is below the restart window.
 */
void lsaimd_tx_start(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);
	s32 idle = tcp_jiffies32 - tp->lsndtime;
	u64 restart;

	if (!READ_ONCE(sock_net(sk)->ipv4.sysctl_tcp_slow_start_after_idle) ||
	    idle <= (s32)inet_csk(sk)->icsk_rto)
		return;
	restart = lsaimd_restart_window(sk);
	if (ca->window <= restart)
		return;
	/* Three quarters are what slow start leads back to (tcp_current_ssthresh()). */
	lsaimd_set_window(sk, lsaimd_idle(ca->window, restart, idle / inet_csk(sk)->icsk_rto),
			  ca->threshold == LSAIMD_CEILING ? ca->threshold
				: max(ca->threshold, ca->window - ca->window / 4));
	tcp_snd_cwnd_set(tp, lsaimd_segments(ca->window, tp->mss_cache));
	lsaimd_set_pace(sk);
}

/**
 * lsaimd_get_info() - the fractional window, for getsockopt(TCP_CC_INFO)
 * @sk:		the socket
 * @ext:	what is wanted; other requests than getsockopt's have no place for ours
 * @attr:	unused
 * @info:	filled with struct lsaimd_info
 *
 * Return: its size, or 0.
 */
size_t lsaimd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info)
{
	const struct lsaimd *ca = inet_csk_ca(sk);
	struct lsaimd_info *ours = (struct lsaimd_info *)info;

	if (ext != ~0U)
		return 0;
	*ours = (struct lsaimd_info) {
		.window_lo	= lower_32_bits(ca->window),
		.window_hi	= upper_32_bits(ca->window),
		.increase_lo	= lower_32_bits(ca->increase),
		.increase_hi	= upper_32_bits(ca->increase),
		.threshold	= ca->threshold >> LSAIMD_SHIFT,
	};
	return sizeof(*ours);
}

static void lsaimd_measure_rtt(struct sock *sk, const struct rate_sample *sample, u32 shift)
{
	struct lsaimd *ca = inet_csk_ca(sk);
	u32 rtt;

	if (sample->rtt_us < 0 || (sample->is_ack_delayed && ca->srtt))
		return;
	rtt = lsaimd_rtt(sample->rtt_us, tcp_min_rtt(tcp_sk(sk)),
			 sample->prior_in_flight < LSAIMD_DELTA);
	ca->srtt = lsaimd_srtt(ca->srtt, min(rtt, (1U << 28) - 1), shift);
}

/* Neither the application nor the receiver sends or takes less than the window. */
static bool lsaimd_is_limited(const struct sock *sk, const struct rate_sample *sample)
{
	const struct lsaimd *ca = inet_csk_ca(sk);
	const struct tcp_sock *tp = tcp_sk(sk);

	if (lsaimd_is_waiting(sk))
		return !sample->is_app_limited && tp->snd_wnd >= ca->window >> LSAIMD_SHIFT;
	return tcp_is_cwnd_limited(sk);
}

/* The constants are the namespace's and may change at any time. */
static void lsaimd_update_increase(struct sock *sk)
{
	struct lsaimd *ca = inet_csk_ca(sk);
	struct lsaimd_law law;

	lsaimd_law(sk, &law);
	if (law.c == ca->law.c && law.k0 == ca->law.k0 && law.k1 == ca->law.k1)
		return;
	ca->law = law;
	ca->increase = lsaimd_increase(law.c, law.k0, law.k1, ca->threshold);
}

static void lsaimd_grow(struct sock *sk, u32 acked)
{
	const struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);
	u64 slow_start;

	if (ca->window < ca->threshold) {
		slow_start = min(ca->threshold - ca->window,
				 lsaimd_window(acked, tp->mss_cache));
		ca->window += slow_start;
		acked -= lsaimd_segments(slow_start, tp->mss_cache);
		if (ca->window < ca->threshold)
			return;
	}
	ca->window = min(lsaimd_avoid(ca->window, ca->increase, tp->mss_cache,
				      lsaimd_delta(ca->burst), acked),
			 lsaimd_window(tp->snd_cwnd_clamp, tp->mss_cache));
}

/* Only tells how many segments may be on their way; when, the pace tells. */
static u32 lsaimd_next_cwnd(struct sock *sk, u32 acked, bool losses)
{
	const struct lsaimd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u32 segments = lsaimd_segments(ca->window, tp->mss_cache);
	u32 flight = tcp_packets_in_flight(tp);
	u32 prior = max(tp->prior_cwnd, 1U);

	if (lsaimd_is_waiting(sk))
		return lsaimd_delta(ca->burst);
	if (!tcp_in_cwnd_reduction(sk))
		return segments;
	if (!acked)
		return tcp_snd_cwnd(tp);
	tp->prr_delivered += acked;
	return flight + lsaimd_send(segments, prior, flight, tp->prr_delivered, tp->prr_out,
				    acked, losses);
}

/*
 * The latest segment set the time of the next by the pace that was then; but
 * the wait is to be the one of the window after the ACK.
 */
static void lsaimd_prolong_wait(struct sock *sk)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);
	u64 before = ca->prior_pace;

	ca->prior_pace = 0;
	if (before > sk->sk_pacing_rate && before != ~0UL && ca->srtt && lsaimd_is_waiting(sk))
		tp->tcp_wstamp_ns += lsaimd_longer(tp->mss_cache, before,
						   sk->sk_pacing_rate);
}

/*
 * The pace counts from the segment before, and by SRTT; after_ack, from the
 * round trip as it was. Nothing paces a burst: the time of the next one is set
 * here, to count from the burst before, or from the ACK.
 */
static void lsaimd_wait_after_ack(struct sock *sk, const struct rate_sample *sample,
				  bool after_ack)
{
	const struct lsaimd *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);
	u64 pace;
	u32 rtt;

	if (!ca->srtt || ca->window >= lsaimd_window(ca->burst, tp->mss_cache))
		return;
	rtt = ca->srtt;
	if (!after_ack && sample->rtt_us >= 0)
		rtt = min_t(u64, sample->rtt_us * 8ULL, U32_MAX);
	pace = min_t(u64, lsaimd_rate(ca->window, ca->srtt, 100, tp->mss_cache),
		     READ_ONCE(sk->sk_max_pacing_rate));
	tp->tcp_wstamp_ns = max(tp->tcp_wstamp_ns, tcp_clock_ns() +
				lsaimd_wait(ca->burst * tp->mss_cache, pace, rtt));
}

/**
 * lsaimd_take_in() - take in an ACK, and set snd_cwnd and the pace
 * @sk:		the socket
 * @sample:	what the ACK delivered
 *
 * The window grows in every state but Recovery; in CWR too, as the thesis asks for.
 */
void lsaimd_take_in(struct sock *sk, const struct rate_sample *sample)
{
	struct tcp_sock *tp = tcp_sk(sk);
	struct lsaimd *ca = inet_csk_ca(sk);
	u32 acked = sample->acked_sacked;
	struct lsaimd_clock clock;

	if (!lsaimd_has_begun(ca))
		return;
	lsaimd_clock(sk, &clock);
	lsaimd_set_burst(sk, &clock);
	lsaimd_measure_rtt(sk, sample, clock.srtt_shift);
	lsaimd_update_increase(sk);
	ca->limited = lsaimd_is_limited(sk, sample);
	if (acked && ca->limited && inet_csk(sk)->icsk_ca_state != TCP_CA_Recovery)
		lsaimd_grow(sk, acked);
	tcp_snd_cwnd_set(tp, clamp(lsaimd_next_cwnd(sk, acked, sample->losses > 0), 1U,
				   tp->snd_cwnd_clamp));
	lsaimd_set_pace(sk);
	lsaimd_prolong_wait(sk);
	if (clock.after_ack || (ca->burst > 1 && acked))
		lsaimd_wait_after_ack(sk, sample, clock.after_ack);
}
