// SPDX-License-Identifier: GPL-2.0
/*
 * abe_cubic - CUBIC with its own reduction for ECN marks (RFC 8511)
 *
 * CUBIC as in RFC 9438 with HyStart, in the form that tcp_cubic has in Linux
 * 6.12 with its module parameters at their defaults. With equal factors of
 * 70 % the two send the same packets at the same times.
 *
 * The factor of the cut that takes place also sets fast convergence. How fast
 * the window grows where CUBIC shares like Reno comes from the factor for
 * losses, since ABE changes the backoff only.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "abe.h"

#define HYSTART_LOW_WINDOW	16U	/* packets; below, slow start goes on */
#define HYSTART_MIN_SAMPLES	8	/* of the RTT in each round */
#define HYSTART_TRAIN_GAP_US	2000	/* ACKs closer than this form a train */
#define HYSTART_DELAY_MIN_US	4000U
#define HYSTART_DELAY_MAX_US	16000U
#define NEW_FLOW_INTERVAL	20U	/* growth of 5 % per RTT before any reduction */

/**
 * struct abe_cubic - a flow's state
 * @ack:	the last ACK
 * @interval:	packets to be acknowledged for each that cwnd grows
 * @wmax:	cwnd at the last reduction, or less by fast convergence
 * @seen_cwnd:	cwnd when @interval was computed
 * @seen:	jiffies when @interval was computed
 * @epoch:	jiffies when the window began to grow after a reduction; 0: not yet
 * @k:		time from @epoch until the window is @origin, in 1/1024 s
 * @origin:	window at which the cubic function is level, in packets
 * @acked:	packets acknowledged and not yet counted into @reno_cwnd
 * @reno_cwnd:	window that Reno would have in this epoch
 * @min_rtt:	in us; 0: none yet
 * @round_start: start of HyStart's round, in us
 * @round_end:	sequence number that ends the round
 * @train:	time of the last ACK of the train, in us
 * @round_rtt:	least RTT in the round, in us
 * @samples:	RTTs seen in the round, up to HYSTART_MIN_SAMPLES
 * @found:	HyStart has ended slow start
 */
struct abe_cubic {
	struct abe_ack	ack;
	u32	interval;
	u32	wmax;
	u32	seen_cwnd;
	u32	seen;
	u32	epoch;
	u32	k;
	u32	origin;
	u32	acked;
	u32	reno_cwnd;
	u32	min_rtt;
	u32	round_start;
	u32	round_end;
	u32	train;
	u32	round_rtt;
	u8	samples;
	bool	found;
};

static u32 abe_cubic_now_us(const struct sock *sk)
{
	return tcp_sk(sk)->tcp_mstamp;
}

static void abe_cubic_start_round(const struct sock *sk, struct abe_cubic *ca)
{
	ca->round_start = abe_cubic_now_us(sk);
	ca->train = ca->round_start;
	ca->round_end = tcp_sk(sk)->snd_nxt;
	ca->round_rtt = U32_MAX;
	ca->samples = 0;
}

static void abe_cubic_init(struct sock *sk)
{
	struct abe_cubic *ca = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ca) > ICSK_CA_PRIV_SIZE);
	memset(ca, 0, sizeof(*ca));
	abe_cubic_start_round(sk, ca);
}

static void abe_cubic_in_ack_event(struct sock *sk, u32 flags)
{
	struct abe_cubic *ca = inet_csk_ca(sk);

	abe_ack_arrives(sk, &ca->ack, flags);
}

static u32 abe_cubic_ssthresh(struct sock *sk)
{
	struct abe_cubic *ca = inet_csk_ca(sk);
	u32 cwnd = tcp_snd_cwnd(tcp_sk(sk));
	u32 factor = abe_beta(sk, ABE_CUBIC, abe_cause_of_cut(sk, &ca->ack));

	ca->epoch = 0;
	ca->wmax = cubic_wmax(cwnd, ca->wmax, factor);
	return abe_reduced(cwnd, factor);
}

/* A timeout makes void all that is known of the path. */
static void abe_cubic_set_state(struct sock *sk, u8 state)
{
	if (state == TCP_CA_Loss)
		abe_cubic_init(sk);
}

/* Time without data to send does not count as time to grow. */
static void abe_cubic_tx_start(struct sock *sk)
{
	struct abe_cubic *ca = inet_csk_ca(sk);
	u32 now = tcp_jiffies32;
	s32 idle = now - tcp_sk(sk)->lsndtime;

	if (!ca->epoch || idle <= 0)
		return;
	ca->epoch += idle;
	if (after(ca->epoch, now))
		ca->epoch = now;
}

#ifndef HAVE_CWND_EVENT_TX_START
static void abe_cubic_cwnd_event(struct sock *sk, enum tcp_ca_event event)
{
	if (event == CA_EVENT_TX_START)
		abe_cubic_tx_start(sk);
}
#endif

static void abe_cubic_start_epoch(struct abe_cubic *ca, u32 cwnd, u32 acked)
{
	ca->epoch = tcp_jiffies32;
	ca->acked = acked;
	ca->reno_cwnd = cwnd;
	ca->k = ca->wmax > cwnd ? cubic_k(ca->wmax - cwnd) : 0;
	ca->origin = max(ca->wmax, cwnd);
}

/* The cubic function one round trip ahead. */
static void abe_cubic_follow_cubic(struct abe_cubic *ca, u32 cwnd)
{
	u64 time = (s32)(tcp_jiffies32 - ca->epoch);

	time += usecs_to_jiffies(ca->min_rtt);
	time <<= 10;
	do_div(time, HZ);
	ca->interval = cubic_interval(cwnd, cubic_target(time, ca->k, ca->origin));
	if (!ca->wmax)
		ca->interval = min(ca->interval, NEW_FLOW_INTERVAL);
}

/* Grow as fast as Reno would, where that is faster. */
static void abe_cubic_follow_reno(struct abe_cubic *ca, u32 cwnd, u32 factor)
{
	u32 each = cubic_reno_interval(cwnd, factor);
	u32 steps = ca->acked ? (ca->acked - 1) / each : 0;

	ca->acked -= steps * each;
	ca->reno_cwnd += steps;
	if (ca->reno_cwnd > cwnd)
		ca->interval = min(ca->interval, cwnd / (ca->reno_cwnd - cwnd));
}

static void abe_cubic_update_interval(struct abe_cubic *ca, u32 cwnd, u32 acked, u32 factor)
{
	ca->acked += acked;
	if (ca->seen_cwnd == cwnd && (s32)(tcp_jiffies32 - ca->seen) <= HZ / 32)
		return;
	/* The cubic function changes with the jiffies only. */
	if (!ca->epoch || tcp_jiffies32 != ca->seen) {
		ca->seen_cwnd = cwnd;
		ca->seen = tcp_jiffies32;
		if (!ca->epoch)
			abe_cubic_start_epoch(ca, cwnd, acked);
		abe_cubic_follow_cubic(ca, cwnd);
	}
	abe_cubic_follow_reno(ca, cwnd, factor);
	/* At most half as much again in a round trip. */
	ca->interval = max(ca->interval, 2U);
}

static void abe_cubic_cong_avoid(struct sock *sk, u32 ack, u32 acked)
{
	struct abe_cubic *ca = inet_csk_ca(sk);
	struct tcp_sock *tp = tcp_sk(sk);

	if (!tcp_is_cwnd_limited(sk))
		return;
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	abe_cubic_update_interval(ca, tcp_snd_cwnd(tp), acked, abe_beta(sk, ABE_CUBIC, ABE_LOSS));
	tcp_cong_avoid_ai(tp, ca->interval, acked);
}

/*
 * Segmentation offload delays ACKs by up to the time that four of its largest
 * packets take, two in the sender and two in the receiver. Not more than 1 ms
 * is forgiven.
 */
static u32 abe_cubic_offload_delay_us(const struct sock *sk)
{
	unsigned long rate = READ_ONCE(sk->sk_pacing_rate);

	if (!rate)
		return 0;
	return min_t(u64, USEC_PER_MSEC,
		     div64_ul((u64)sk->sk_gso_max_size * 4 * USEC_PER_SEC, rate));
}

/* A train of ACKs longer than half a round trip fills the path. */
static bool abe_cubic_train_is_long(const struct sock *sk, struct abe_cubic *ca)
{
	u32 threshold = ca->min_rtt + abe_cubic_offload_delay_us(sk);
	u32 now = abe_cubic_now_us(sk);

	if ((s32)(now - ca->train) > HYSTART_TRAIN_GAP_US)
		return false;
	ca->train = now;
	/* Pacing spreads a window over half a round trip in slow start. */
	if (sk->sk_pacing_status == SK_PACING_NONE)
		threshold >>= 1;
	return now - ca->round_start > threshold;
}

/* A round trip longer by an eighth means a queue. */
static bool abe_cubic_delay_grew(struct abe_cubic *ca, u32 rtt)
{
	ca->round_rtt = min(ca->round_rtt, rtt);
	if (ca->samples < HYSTART_MIN_SAMPLES) {
		ca->samples++;
		return false;
	}
	return ca->round_rtt > ca->min_rtt + clamp(ca->min_rtt >> 3, HYSTART_DELAY_MIN_US,
						   HYSTART_DELAY_MAX_US);
}

static void abe_cubic_end_slow_start(struct sock *sk, struct abe_cubic *ca, int detected, int cwnd)
{
	struct tcp_sock *tp = tcp_sk(sk);

	ca->found = true;
	NET_INC_STATS(sock_net(sk), detected);
	NET_ADD_STATS(sock_net(sk), cwnd, tcp_snd_cwnd(tp));
	WRITE_ONCE(tp->snd_ssthresh, tcp_snd_cwnd(tp));
}

static void abe_cubic_hystart(struct sock *sk, struct abe_cubic *ca, u32 rtt)
{
	const struct tcp_sock *tp = tcp_sk(sk);

	if (after(tp->snd_una, ca->round_end))
		abe_cubic_start_round(sk, ca);
	if (tcp_snd_cwnd(tp) < HYSTART_LOW_WINDOW)
		return;
	if (abe_cubic_train_is_long(sk, ca))
		abe_cubic_end_slow_start(sk, ca, LINUX_MIB_TCPHYSTARTTRAINDETECT,
					 LINUX_MIB_TCPHYSTARTTRAINCWND);
	if (abe_cubic_delay_grew(ca, rtt))
		abe_cubic_end_slow_start(sk, ca, LINUX_MIB_TCPHYSTARTDELAYDETECT,
					 LINUX_MIB_TCPHYSTARTDELAYCWND);
}

static void abe_cubic_pkts_acked(struct sock *sk, const struct ack_sample *sample)
{
	struct abe_cubic *ca = inet_csk_ca(sk);
	u32 rtt;

	if (sample->rtt_us < 0)
		return;
	/* For a second after a reduction the RTT still holds the old queue. */
	if (ca->epoch && (s32)(tcp_jiffies32 - ca->epoch) < HZ)
		return;
	rtt = max(sample->rtt_us, 1);
	if (!ca->min_rtt || rtt < ca->min_rtt)
		ca->min_rtt = rtt;
	if (!ca->found && tcp_in_slow_start(tcp_sk(sk)))
		abe_cubic_hystart(sk, ca, rtt);
}

struct tcp_congestion_ops abe_cubic __read_mostly = {
	.init		= abe_cubic_init,
	.in_ack_event	= abe_cubic_in_ack_event,
	.ssthresh	= abe_cubic_ssthresh,
	.cong_avoid	= abe_cubic_cong_avoid,
	.set_state	= abe_cubic_set_state,
#ifdef HAVE_CWND_EVENT_TX_START
	.cwnd_event_tx_start = abe_cubic_tx_start,
#else
	.cwnd_event	= abe_cubic_cwnd_event,
#endif
	.pkts_acked	= abe_cubic_pkts_acked,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "abe_cubic",
};
