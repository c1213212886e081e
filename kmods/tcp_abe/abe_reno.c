// SPDX-License-Identifier: GPL-2.0
/*
 * abe_reno - NewReno with its own reduction for ECN marks (RFC 8511)
 *
 * Linux reduces from cwnd where the RFC says FlightSize, and so does this.
 */
#include <linux/build_bug.h>
#include <linux/module.h>
#include <net/tcp.h>

#include "abe.h"

static void abe_reno_init(struct sock *sk)
{
	struct abe_ack *ack = inet_csk_ca(sk);

	BUILD_BUG_ON(sizeof(*ack) > ICSK_CA_PRIV_SIZE);
	memset(ack, 0, sizeof(*ack));
}

static void abe_reno_in_ack_event(struct sock *sk, u32 flags)
{
	abe_ack_arrives(sk, inet_csk_ca(sk), flags);
}

static u32 abe_reno_ssthresh(struct sock *sk)
{
	enum abe_cause cause = abe_cause_of_cut(sk, inet_csk_ca(sk));

	return abe_reduced(tcp_snd_cwnd(tcp_sk(sk)), abe_beta(sk, ABE_RENO, cause));
}

struct tcp_congestion_ops abe_reno __read_mostly = {
	.init		= abe_reno_init,
	.in_ack_event	= abe_reno_in_ack_event,
	.ssthresh	= abe_reno_ssthresh,
	.cong_avoid	= tcp_reno_cong_avoid,
	.undo_cwnd	= tcp_reno_undo_cwnd,
	.owner		= THIS_MODULE,
	.name		= "abe_reno",
};
