/* SPDX-License-Identifier: GPL-2.0 */
/*
 * LS-AIMD: what both congestion controls share; README.md has the states
 */
#ifndef TCP_LSAIMD_H
#define TCP_LSAIMD_H

#include <linux/inet_diag.h>
#include <linux/tcp.h>
#include <net/tcp.h>

#include "../compat.h"
#include "../dctcp.h"
#include "window.h"

/**
 * struct lsaimd_law - the constants of the additive increase
 * @c:	C, in 1/128
 * @k0:	in bytes
 * @k1:	in bytes
 */
struct lsaimd_law {
	u32	c;
	u32	k0;
	u32	k1;
};

/**
 * struct lsaimd_clock - how segments wait, where there is a choice
 * @after_ack:	whether they wait for d after the ACK, too
 * @srtt_shift:	an RTT's weight in SRTT_pace is 1/2^@srtt_shift
 * @burst:	how many leave at once, at most
 */
struct lsaimd_clock {
	bool	after_ack;
	u32	srtt_shift;
	u32	burst;
};

/**
 * struct lsaimd - a connection's state
 * @window:	W_B, in 1/2^24 byte
 * @threshold:	S_B, in 1/2^24 byte; the ceiling until the first reduction
 * @increase:	add_B, in 1/2^24 byte, for @threshold and @law
 * @prior_window: W_B before the latest reduction
 * @prior_threshold: S_B before the latest reduction
 * @prior_pace:	byte/s before a reduction on the ACK that is being taken in; or 0
 * @flight:	inflight_B that the latest reduction started from
 * @law:	constants that @increase was computed with
 * @srtt:	SRTT_pace in 1/8 us; 0: not measured yet
 * @alpha:	share of marked segments, in 1/2^20; LSAIMD_ALPHA_ONE for Reno
 * @round:	sequence number that ends the round trip over which @alpha counts
 * @delivered:	segments delivered when it began
 * @marked:	segments marked when it began
 * @receiver:	this end as a receiver
 * @gso_segs:	largest packet for segmentation that the socket may send again when
 *		segments do not wait; 0: it may
 * @burst:	segments that leave at once after a wait
 * @limited:	whether the window is what limits the sender
 */
struct lsaimd {
	u64			window;
	u64			threshold;
	u64			increase;
	u64			prior_window;
	u64			prior_threshold;
	u64			prior_pace;
	u64			flight;
	struct lsaimd_law	law;
	u32			srtt;
	u32			alpha;
	u32			round;
	u32			delivered;
	u32			marked;
	struct dctcp_receiver	receiver;
	u16			gso_segs;
	u8			burst;
	bool			limited;
};

/**
 * struct lsaimd_info - what getsockopt(TCP_CC_INFO) returns
 * @window_lo:	low half of W_B, in 1/2^24 byte
 * @window_hi:	high half
 * @increase_lo: low half of add_B, in 1/2^24 byte
 * @increase_hi: high half
 * @threshold:	S_B in bytes
 */
struct lsaimd_info {
	__u32	window_lo;
	__u32	window_hi;
	__u32	increase_lo;
	__u32	increase_hi;
	__u32	threshold;
};

void lsaimd_law(const struct sock *sk, struct lsaimd_law *law);
void lsaimd_clock(const struct sock *sk, struct lsaimd_clock *clock);

void lsaimd_init(struct sock *sk);
void lsaimd_release(struct sock *sk);
u32 lsaimd_ssthresh(struct sock *sk);
u32 lsaimd_undo_cwnd(struct sock *sk);
void lsaimd_tx_start(struct sock *sk);
void lsaimd_set_state(struct sock *sk, u8 state);
size_t lsaimd_get_info(struct sock *sk, u32 ext, int *attr, union tcp_cc_info *info);
void lsaimd_take_in(struct sock *sk, const struct rate_sample *sample);

extern struct tcp_congestion_ops lsaimd_reno;
extern struct tcp_congestion_ops lsaimd_dctcp;

#endif
