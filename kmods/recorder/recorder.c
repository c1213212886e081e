// SPDX-License-Identifier: GPL-2.0
/*
 * recorder - what happened at the bottleneck and in the senders, packet by packet
 *
 * Probes on tracepoints write fixed-size records into memory, which is read
 * when the run is over:
 *
 *   /proc/recorder/packets   one record per packet that met a watched device's
 *                            root qdisc: arrival, departure or drop, ECN field
 *                            before and after, backlog met on arrival
 *   /proc/recorder/headers   the headers of each of these packets as it came, from
 *                            that of IP on, in the same order
 *   /proc/recorder/acks      one record per segment that reaches an established
 *                            TCP sender with data in flight, with the sender's
 *                            state just before it takes the segment in
 *   /proc/recorder/queues    samples of each watched queue and of its qdisc's
 *                            own statistics (the xstats of tc -s)
 *   /proc/recorder/control   commands in, status out
 *
 * The recorder must not change what it records. Records are kept in memory so
 * that no process has to run; and time stamps in the lab come from
 * time_travel_now(), because there a read of the clock moves the clock.
 *
 * Commands, one per write:
 *   watch DEVICE MAJOR LIMIT packets|bytes   a device of the writer's network
 *                namespace, the handle of the qdisc whose statistics count,
 *                and how much it holds before it must drop; until the device
 *                is unregistered
 *   zero NS      CLOCK_MONOTONIC time that becomes time zero of the records
 *   start [headers] [packets] [acks] [queues=INTERVAL_NS]   queues are sampled
 *                at whole multiples of the interval after time zero; headers are
 *                those of packets, which have to be recorded too: of all of them,
 *                so that EBUSY is the answer once there are packets without
 *   stop
 */
#include <linux/hashtable.h>
#include <linux/hrtimer.h>
#include <linux/inet_diag.h>
#include <linux/ip.h>
#include <linux/module.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/nsproxy.h>
#include <linux/proc_fs.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/tcp.h>
#include <linux/tracepoint.h>
#include <linux/udp.h>
#include <linux/vmalloc.h>
#include <net/dsfield.h>
#include <net/gen_stats.h>
#include <net/inet_ecn.h>
#include <net/ipv6.h>
#include <net/net_namespace.h>
#include <net/pkt_sched.h>
#include <net/sch_generic.h>
#include <net/tcp.h>
#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
#include <linux/time-internal.h>
#endif

#include "../compat.h"
#include "outcome.h"

#define CHUNK_ORDER	4
#define CHUNK_SIZE	(PAGE_SIZE << CHUNK_ORDER)
#define MAX_CHUNKS	65536
#define MAX_CC		32
#define XSTATS_SIZE	64
#define CC_INFO_SIZE	20
#define HEADERS_SIZE	102	/* IPv6 and TCP with all options, 100 bytes, at the least */
#define ICMP_HEADER	8	/* with what an echo has: identifier and sequence number */

/* The end of the tracepoint kfree_skb's arguments. */
#ifdef HAVE_KFREE_SKB_SOCKET
#define DROP_CAUSE	enum skb_drop_reason reason, const struct sock *sk
#else
#define DROP_CAUSE	enum skb_drop_reason reason
#endif

/* The arguments of consume_skb. */
#ifdef HAVE_CONSUME_SKB_LOCATION
#define CONSUMED	struct sk_buff *skb, void *location
#else
#define CONSUMED	struct sk_buff *skb
#endif

struct packet_record {
	s64	enqueue_ns;
	s64	leave_ns;	/* of the dequeue or of the drop */
	__be32	saddr;		/* of IPv6 the last 32 bits, which tell hosts apart */
	__be32	daddr;
	__be16	sport;
	__be16	dport;
	u32	seq;		/* TCP sequence number, else IPv4 identification */
	u32	size;		/* bytes as the shaper counts them */
	u32	payload;	/* bytes of TCP or UDP data */
	u32	queue_packets;
	u32	queue_bytes;
	u16	watch;
	u16	drop_reason;	/* low half of this kernel's enum skb_drop_reason */
	u8	protocol;
	u8	ecn_in;
	u8	ecn_out;
	u8	outcome;
} __packed;

struct header_record {
	u16	length;
	u8	headers[HEADERS_SIZE];
} __packed;

struct ack_record {
	s64	time_ns;
	u64	bytes_acked;
	__be32	saddr;
	__be32	daddr;
	__be16	sport;
	__be16	dport;
	u32	cwnd;
	u32	ssthresh;
	u32	srtt_us;
	u32	min_rtt_us;
	u32	in_flight;
	u32	delivered;
	u32	delivered_ce;
	u32	lost;
	u32	retransmits;
	u32	pacing_rate;	/* bytes per second, capped */
	u8	ca_state;
	u8	cc;
	u16	cc_info_size;
	u8	cc_info[CC_INFO_SIZE];	/* as for getsockopt(TCP_CC_INFO) */
} __packed;

struct queue_record {
	s64	time_ns;
	u64	sent_bytes;
	u64	sent_packets;
	u32	backlog_packets;
	u32	backlog_bytes;
	u32	drops;
	u32	overlimits;
	u16	watch;
	u16	xstats_size;
	u32	reserved;
	u8	xstats[XSTATS_SIZE];
} __packed;

/**
 * struct stream - an append-only sequence of records of one size
 * @chunks:	memory, CHUNK_SIZE bytes each
 * @record:	size of a record in bytes
 * @per_chunk:	records in a chunk; a record does not cross chunks
 * @count:	records written
 * @lost:	records for which there was no memory
 * @enabled:	whether records are taken
 */
struct stream {
	void		**chunks;
	size_t		record;
	size_t		per_chunk;
	u64		count;
	u64		lost;
	bool		enabled;
};

/**
 * struct watch - a device whose root qdisc is recorded
 * @node:	in watches_by_device
 * @dev:	the device, a reference is held; NULL when it was unregistered
 * @name:	its name, which outlives it
 * @index:	what records call it
 * @major:	handle of the qdisc whose statistics are sampled
 * @limit:	how much fits into the queue
 * @limit_bytes: whether @limit counts bytes
 * @latest:	the packet that came last
 */
struct watch {
	struct hlist_node	node;
	struct net_device __rcu	*dev;
	char			name[IFNAMSIZ];
	u16			index;
	u32			major;
	u32			limit;
	bool			limit_bytes;
	const struct sk_buff	*latest;
};

/**
 * struct queued - a packet between its arrival and its departure
 * @node:	in queued_by_skb
 * @arrival:	in waiting, in order of arrival
 * @skb:	the packet
 * @taken:	see struct drop, as @congested
 * @congested:	see struct drop
 * @packet:	what is known of it so far
 * @headers:	as it came; NULL where they are not recorded
 */
struct queued {
	struct hlist_node	node;
	struct list_head	arrival;
	const struct sk_buff	*skb;
	bool			taken;
	bool			congested;
	struct packet_record	packet;
	struct header_record	*headers;
};

/**
 * struct cc_seen - a congestion control that a sender has used
 * @ops:	it; never followed, since its module may be gone
 * @name:	its name, which tells it from another that is there now
 */
struct cc_seen {
	const struct tcp_congestion_ops *ops;
	char			name[TCP_CA_NAME_MAX];
};

static struct stream packets = { .record = sizeof(struct packet_record) };
static struct stream headers = { .record = sizeof(struct header_record) };
static struct stream acks = { .record = sizeof(struct ack_record) };
static struct stream queues = { .record = sizeof(struct queue_record) };

static DEFINE_HASHTABLE(watches_by_device, 6);
static DEFINE_HASHTABLE(queued_by_skb, 12);
static LIST_HEAD(waiting);
static struct watch *watches[U16_MAX];
static unsigned int n_watches;
static struct kmem_cache *queued_cache;
static struct kmem_cache *headers_cache;
static struct cc_seen cc_seen[MAX_CC];
static unsigned int n_cc;
static s64 zero_ns;		/* time zero on recorder_clock_ns() */
static ktime_t zero_time;	/* and on CLOCK_MONOTONIC */
static ktime_t sample_interval;
static struct hrtimer recorder_sample_timer;
static struct sk_buff *sample_skb;
static struct proc_dir_entry *proc_dir;
/*
 * One lock for all records is enough. Interrupts are off under it: packets are
 * freed in any context, and to enable softirqs afterwards could run some of
 * them earlier than they would run without the recorder.
 */
static DEFINE_SPINLOCK(recorder_lock);
/* Held over a command, and while a device's watch ends; taken within RTNL. */
static DEFINE_MUTEX(recorder_control_mutex);

static s64 recorder_clock_ns(void)
{
#ifdef CONFIG_UML_TIME_TRAVEL_SUPPORT
	if (time_travel_mode != TT_MODE_OFF)
		return time_travel_now();
#endif
	return ktime_get_ns();
}

static s64 recorder_now_ns(void)
{
	return recorder_clock_ns() - zero_ns;
}

/* Streams */

static void *recorder_stream_append(struct stream *s)
{
	size_t chunk = div_u64(s->count, s->per_chunk);
	size_t within = s->count - chunk * s->per_chunk;

	if (chunk >= MAX_CHUNKS)
		goto lost;
	if (!s->chunks[chunk]) {
		s->chunks[chunk] = (void *)__get_free_pages(GFP_ATOMIC | __GFP_NOWARN,
							    CHUNK_ORDER);
		if (!s->chunks[chunk])
			goto lost;
	}
	s->count++;
	return s->chunks[chunk] + within * s->record;
lost:
	s->lost++;
	return NULL;
}

static int recorder_stream_init(struct stream *s)
{
	s->per_chunk = CHUNK_SIZE / s->record;
	s->chunks = vcalloc(MAX_CHUNKS, sizeof(void *));
	return s->chunks ? 0 : -ENOMEM;
}

static void recorder_stream_free(struct stream *s)
{
	unsigned int i;

	if (!s->chunks)
		return;
	for (i = 0; i < MAX_CHUNKS && s->chunks[i]; i++)
		free_pages((unsigned long)s->chunks[i], CHUNK_ORDER);
	vfree(s->chunks);
}

static ssize_t recorder_stream_read(struct file *file, char __user *buffer, size_t size,
				    loff_t *offset)
{
	struct stream *s = pde_data(file_inode(file));
	u64 chunk_bytes = s->per_chunk * s->record;
	u64 end = s->count * s->record;
	size_t done = 0;

	while (done < size && *offset < end) {
		size_t chunk = div64_u64(*offset, chunk_bytes);
		size_t within = *offset - chunk * chunk_bytes;
		size_t part = min3((u64)(size - done), chunk_bytes - within,
				   (u64)(end - *offset));

		if (copy_to_user(buffer + done, s->chunks[chunk] + within, part))
			return -EFAULT;
		done += part;
		*offset += part;
	}
	return done;
}

static const struct proc_ops recorder_stream_ops = {
	.proc_read	= recorder_stream_read,
	.proc_lseek	= default_llseek,
};

/* Packets */

static struct watch *recorder_watch_of(const struct net_device *dev)
{
	struct watch *w;

	hash_for_each_possible_rcu(watches_by_device, w, node, (unsigned long)dev)
		if (rcu_access_pointer(w->dev) == dev)
			return w;
	return NULL;
}

static struct queued *recorder_queued_of(const struct sk_buff *skb)
{
	struct queued *q;

	hash_for_each_possible(queued_by_skb, q, node, (unsigned long)skb)
		if (q->skb == skb)
			return q;
	return NULL;
}

/*
 * No header needs to be in a packet's linear data: what hands it over may have
 * left all of it in pages.
 */
static u8 recorder_ecn_of(const struct sk_buff *skb)
{
	const int begin = skb_network_offset(skb);

	switch (skb->protocol) {
	case htons(ETH_P_IP): {
		struct iphdr buffer;
		const struct iphdr *ip = skb_header_pointer(skb, begin, sizeof(buffer), &buffer);

		return ip ? ipv4_get_dsfield(ip) & INET_ECN_MASK : INET_ECN_NOT_ECT;
	}
	case htons(ETH_P_IPV6): {
		struct ipv6hdr buffer;
		const struct ipv6hdr *ip = skb_header_pointer(skb, begin, sizeof(buffer), &buffer);

		return ip ? ipv6_get_dsfield(ip) & INET_ECN_MASK : INET_ECN_NOT_ECT;
	}
	}
	return INET_ECN_NOT_ECT;
}

/*
 * @begin: where the header of TCP or UDP is in the packet
 * @length: bytes that IP carries, with that header
 * Return: bytes of that header, 0 where it is not whole.
 */
static unsigned int recorder_describe_data(struct packet_record *p, const struct sk_buff *skb,
					   int begin, unsigned int length)
{
	p->payload = length;
	switch (p->protocol) {
	case IPPROTO_TCP: {
		struct tcphdr buffer;
		const struct tcphdr *tcp = skb_header_pointer(skb, begin, sizeof(buffer), &buffer);

		if (!tcp)
			return 0;
		p->sport = tcp->source;
		p->dport = tcp->dest;
		p->seq = ntohl(tcp->seq);
		p->payload -= tcp->doff * 4;
		return tcp->doff * 4;
	}
	case IPPROTO_UDP: {
		struct udphdr buffer;
		const struct udphdr *udp = skb_header_pointer(skb, begin, sizeof(buffer), &buffer);

		if (!udp)
			return 0;
		p->sport = udp->source;
		p->dport = udp->dest;
		p->payload -= sizeof(*udp);
		return sizeof(*udp);
	}
	case IPPROTO_ICMP:
	case IPPROTO_ICMPV6:
		return ICMP_HEADER;
	}
	return 0;
}

static unsigned int recorder_describe_ipv4(struct packet_record *p, const struct sk_buff *skb)
{
	const int begin = skb_network_offset(skb);
	struct iphdr buffer;
	const struct iphdr *ip = skb_header_pointer(skb, begin, sizeof(buffer), &buffer);
	unsigned int header;

	if (!ip)
		return 0;
	header = ip->ihl * 4;
	p->saddr = ip->saddr;
	p->daddr = ip->daddr;
	p->protocol = ip->protocol;
	p->seq = ntohs(ip->id);
	if (ip->frag_off & htons(IP_OFFSET))
		return header;
	return header + recorder_describe_data(p, skb, begin + header,
					       ntohs(ip->tot_len) - header);
}

static unsigned int recorder_describe_ipv6(struct packet_record *p, const struct sk_buff *skb)
{
	struct ipv6hdr buffer;
	const struct ipv6hdr *ip = skb_header_pointer(skb, skb_network_offset(skb), sizeof(buffer),
						      &buffer);
	int begin = skb_network_offset(skb) + sizeof(*ip);
	__be16 fragment;
	u8 protocol;
	int l4;

	if (!ip)
		return 0;
	protocol = ip->nexthdr;
	l4 = ipv6_skip_exthdr(skb, begin, &protocol, &fragment);
	p->saddr = ip->saddr.s6_addr32[3];
	p->daddr = ip->daddr.s6_addr32[3];
	p->protocol = protocol;
	if (l4 < 0)
		return sizeof(*ip);
	/* A later fragment has no ports, and counts as one. */
	if (protocol == NEXTHDR_FRAGMENT)
		return l4 - begin + sizeof(*ip);
	return l4 - begin + sizeof(*ip) +
	       recorder_describe_data(p, skb, l4, ntohs(ip->payload_len) - (l4 - begin));
}

/* Return: bytes of its headers, from that of IP on. */
static unsigned int recorder_describe(struct packet_record *p, const struct sk_buff *skb)
{
	p->size = qdisc_pkt_len(skb);
	switch (skb->protocol) {
	case htons(ETH_P_IP):
		return recorder_describe_ipv4(p, skb);
	case htons(ETH_P_IPV6):
		return recorder_describe_ipv6(p, skb);
	}
	return 0;
}

static void recorder_copy_headers(struct header_record *h, const struct sk_buff *skb,
				  unsigned int length)
{
	const int begin = skb_network_offset(skb);

	length = min3(length, (unsigned int)HEADERS_SIZE, skb->len - begin);
	if (!skb_copy_bits(skb, begin, h->headers, length))
		h->length = length;
}

/* Return: room for a packet, and for its headers where they are recorded; zeroes. */
static struct queued *recorder_alloc_queued(void)
{
	struct queued *q = kmem_cache_zalloc(queued_cache, GFP_ATOMIC | __GFP_NOWARN);

	if (!q || !headers.enabled)
		return q;
	q->headers = kmem_cache_zalloc(headers_cache, GFP_ATOMIC | __GFP_NOWARN);
	if (q->headers)
		return q;
	kmem_cache_free(queued_cache, q);
	return NULL;
}

static void recorder_forget(struct queued *q)
{
	hash_del(&q->node);
	list_del(&q->arrival);
	if (q->headers)
		kmem_cache_free(headers_cache, q->headers);
	kmem_cache_free(queued_cache, q);
}

static void recorder_finish(struct queued *q, s64 time, u8 outcome, u8 ecn, u16 reason)
{
	struct packet_record *p = recorder_stream_append(&packets);

	if (p) {
		*p = q->packet;
		p->leave_ns = time;
		p->outcome = outcome;
		p->ecn_out = ecn;
		p->drop_reason = reason;
	}
	if (q->headers) {
		struct header_record *h = recorder_stream_append(&headers);

		if (h)
			*h = *q->headers;
	}
	recorder_forget(q);
}

static void recorder_on_net_dev_queue(void *unused, struct sk_buff *skb)
{
	struct watch *w = recorder_watch_of(skb->dev);
	const struct Qdisc *root;
	unsigned long flags;
	struct queued *q;
	unsigned int length;

	if (!w || !packets.enabled)
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	q = recorder_queued_of(skb);
	if (q) {
		/* It left the queue in a way no tracepoint tells of. */
		packets.lost++;
		recorder_forget(q);
	}
	q = recorder_alloc_queued();
	if (!q) {
		packets.lost++;
		goto out;
	}
	root = rcu_dereference_bh(netdev_get_tx_queue(skb->dev, 0)->qdisc);
	q->skb = skb;
	q->packet = (struct packet_record){
		.enqueue_ns	= recorder_now_ns(),
		.watch		= w->index,
		.ecn_in		= recorder_ecn_of(skb),
		.queue_packets	= root->q.qlen,
		.queue_bytes	= root->qstats.backlog,
	};
	length = recorder_describe(&q->packet, skb);
	if (q->headers)
		recorder_copy_headers(q->headers, skb, length);
	w->latest = skb;
	hash_add(queued_by_skb, &q->node, (unsigned long)skb);
	list_add_tail(&q->arrival, &waiting);
out:
	spin_unlock_irqrestore(&recorder_lock, flags);
}

static void recorder_on_qdisc_enqueue(void *unused, struct Qdisc *qdisc,
				      const struct netdev_queue *txq, struct sk_buff *skb)
{
	unsigned long flags;
	struct queued *q;

	if (!packets.enabled || !recorder_watch_of(txq->dev))
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	q = recorder_queued_of(skb);
	if (q)
		q->taken = true;
	spin_unlock_irqrestore(&recorder_lock, flags);
}

#ifdef HAVE_QDISC_DROP_EVENT
static void recorder_on_qdisc_drop(void *unused, struct Qdisc *qdisc,
				   const struct netdev_queue *txq, struct net_device *dev,
				   struct sk_buff *skb, enum qdisc_drop_reason reason)
{
	unsigned long flags;
	struct queued *q;

	if (!packets.enabled || !recorder_watch_of(dev))
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	q = recorder_queued_of(skb);
	if (q)
		q->congested = reason == QDISC_DROP_CONGESTED ||
			       reason == QDISC_DROP_FLOOD_PROTECTION ||
			       reason == QDISC_DROP_L4S_STEP_NON_ECN;
	spin_unlock_irqrestore(&recorder_lock, flags);
}
#endif

static void recorder_on_qdisc_dequeue(void *unused, struct Qdisc *qdisc,
				      const struct netdev_queue *txq, int n, struct sk_buff *skb)
{
	unsigned long flags;
	struct queued *q;

	if (!skb || !packets.enabled || !recorder_watch_of(txq->dev))
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	for (; skb; skb = skb->next) {
		q = recorder_queued_of(skb);
		if (q)
			recorder_finish(q, recorder_now_ns(), OUTCOME_SENT, recorder_ecn_of(skb),
					0);
	}
	spin_unlock_irqrestore(&recorder_lock, flags);
}

static struct drop recorder_drop_of(const struct queued *q, enum skb_drop_reason reason)
{
	const struct watch *w = watches[q->packet.watch];
	const struct packet_record *p = &q->packet;

	return (struct drop){
		.taken		= q->taken,
		.latest		= w->latest == q->skb,
		.full		= w->limit_bytes ? p->queue_bytes + p->size > w->limit
						 : p->queue_packets >= w->limit,
		.listed		= reason == SKB_DROP_REASON_QDISC_DROP,
		.congested	= q->congested,
	};
}

/* A packet is freed; if it has not been sent, the qdisc has dropped it. */
static void recorder_drop(struct sk_buff *skb, enum skb_drop_reason reason)
{
	unsigned long flags;
	struct queued *q;
	struct drop drop;

	if (!packets.enabled)
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	q = recorder_queued_of(skb);
	if (q) {
		drop = recorder_drop_of(q, reason);
		recorder_finish(q, recorder_now_ns(), outcome_of_drop(&drop), q->packet.ecn_in,
				reason);
	}
	spin_unlock_irqrestore(&recorder_lock, flags);
}

static void recorder_on_kfree_skb(void *unused, struct sk_buff *skb, void *location, DROP_CAUSE)
{
	recorder_drop(skb, reason);
}

/* CAKE takes ACKs out of its queue that a later one makes needless. */
static void recorder_on_consume_skb(void *unused, CONSUMED)
{
	recorder_drop(skb, SKB_NOT_DROPPED_YET);
}

/* Acknowledgements */

static u8 recorder_cc_index(const struct tcp_congestion_ops *ops)
{
	unsigned int i;

	for (i = 0; i < n_cc; i++)
		if (cc_seen[i].ops == ops && !strcmp(cc_seen[i].name, ops->name))
			return i;
	if (n_cc == MAX_CC)
		return MAX_CC;
	cc_seen[n_cc].ops = ops;
	strscpy(cc_seen[n_cc].name, ops->name, sizeof(cc_seen[n_cc].name));
	return n_cc++;
}

static u16 recorder_copy_cc_info(struct sock *sk, u8 *to)
{
	const struct tcp_congestion_ops *ops = inet_csk(sk)->icsk_ca_ops;
	union tcp_cc_info info;
	size_t size;
	int attr;

	if (!ops->get_info)
		return 0;
	size = ops->get_info(sk, ~0U, &attr, &info);
	memcpy(to, &info, min_t(size_t, size, CC_INFO_SIZE));
	return size;
}

static void recorder_on_tcp_probe(void *unused, struct sock *sk, const struct sk_buff *skb)
{
	const struct inet_connection_sock *icsk = inet_csk(sk);
	const struct inet_sock *inet = inet_sk(sk);
	const struct tcp_sock *tp = tcp_sk(sk);
	struct ack_record *a;
	unsigned long flags;

	if (!acks.enabled || !tp->packets_out)
		return;
	spin_lock_irqsave(&recorder_lock, flags);
	a = recorder_stream_append(&acks);
	if (a) {
		*a = (struct ack_record){
			.time_ns	= recorder_now_ns(),
			.bytes_acked	= tp->bytes_acked,
			.saddr		= inet->inet_saddr,
			.daddr		= inet->inet_daddr,
			.sport		= inet->inet_sport,
			.dport		= inet->inet_dport,
			.cwnd		= tcp_snd_cwnd(tp),
			.ssthresh	= tp->snd_ssthresh,
			.srtt_us	= tp->srtt_us >> 3,
			.min_rtt_us	= tcp_min_rtt(tp),
			.in_flight	= tcp_packets_in_flight(tp),
			.delivered	= tp->delivered,
			.delivered_ce	= tp->delivered_ce,
			.lost		= tp->lost,
			.retransmits	= tp->total_retrans,
			.pacing_rate	= min_t(u64, READ_ONCE(sk->sk_pacing_rate), U32_MAX),
			.ca_state	= icsk->icsk_ca_state,
			.cc		= recorder_cc_index(icsk->icsk_ca_ops),
		};
#if IS_ENABLED(CONFIG_IPV6)
		if (sk->sk_family == AF_INET6) {
			a->saddr = sk->sk_v6_rcv_saddr.s6_addr32[3];
			a->daddr = sk->sk_v6_daddr.s6_addr32[3];
		}
#endif
		a->cc_info_size = recorder_copy_cc_info(sk, a->cc_info);
	}
	spin_unlock_irqrestore(&recorder_lock, flags);
}

/* Queue samples */

static struct Qdisc *recorder_qdisc_of(const struct watch *w)
{
	const struct net_device *dev = rcu_dereference(w->dev);
	struct Qdisc *q;
	int bucket;

	if (!dev)
		return NULL;
	q = rcu_dereference(dev->qdisc);	/* the root is not in the hash */
	if (TC_H_MAJ(q->handle) == w->major)
		return q;
	hash_for_each_rcu(dev->qdisc_hash, bucket, q, hash)
		if (TC_H_MAJ(q->handle) == w->major)
			return q;
	return NULL;
}

/*
 * The qdisc's own statistics, as tc would get them by netlink; but a timer
 * cannot take RTNL, which those qdiscs miss, once, that take their lock here.
 * Nor can it hold the tree's lock for them, which some take themselves. So on
 * another processor a qdisc may be changed or destroyed meanwhile: ours read
 * nothing here that they free without that lock, and of Linux's own, recording
 * stops before they go. RCU keeps the qdisc itself.
 */
static u16 recorder_copy_xstats(struct Qdisc *q, u8 *to)
{
	const struct nlattr *app;
	struct gnet_dump dump;
	u16 size = 0;

	if (!q->ops->dump_stats)
		return 0;
	skb_trim(sample_skb, 0);
	if (gnet_stats_start_copy(sample_skb, TCA_STATS2, NULL, &dump, TCA_PAD) < 0)
		return 0;
	if (q->ops->dump_stats(q, &dump) < 0 || gnet_stats_finish_copy(&dump) < 0)
		return 0;
	/* Not skb->data: padding may come before the nest. */
	app = nla_find_nested(dump.tail, TCA_STATS_APP);
	if (app) {
		size = nla_len(app);
		memcpy(to, nla_data(app), min_t(u16, size, XSTATS_SIZE));
	}
	return size;
}

static void recorder_take_sample(const struct watch *w)
{
	struct queue_record record = { .time_ns = recorder_now_ns(), .watch = w->index };
	struct Qdisc *q = recorder_qdisc_of(w);
	struct gnet_stats_basic_sync basic;
	struct queue_record *to;
	unsigned long flags;

	if (!q)
		return;
	gnet_stats_basic_sync_init(&basic);
	gnet_stats_add_basic(&basic, q->cpu_bstats, &q->bstats, false);
	record.sent_bytes = u64_stats_read(&basic.bytes);
	record.sent_packets = u64_stats_read(&basic.packets);
	record.backlog_packets = q->q.qlen;
	record.backlog_bytes = q->qstats.backlog;
	record.drops = q->qstats.drops;
	record.overlimits = q->qstats.overlimits;
	/* Not under our lock: some qdiscs take theirs here, under which ours is taken. */
	record.xstats_size = recorder_copy_xstats(q, record.xstats);
	spin_lock_irqsave(&recorder_lock, flags);
	to = recorder_stream_append(&queues);
	if (to)
		*to = record;
	spin_unlock_irqrestore(&recorder_lock, flags);
}

static enum hrtimer_restart recorder_take_samples(struct hrtimer *timer)
{
	unsigned int i, n;

	/* Pairs with the release in recorder_command_watch(). */
	n = smp_load_acquire(&n_watches);
	rcu_read_lock();
	for (i = 0; i < n; i++)
		recorder_take_sample(watches[i]);
	rcu_read_unlock();
	hrtimer_forward_now(timer, sample_interval);
	return HRTIMER_RESTART;
}

/* Tracepoints */

static struct {
	const char		*name;
	void			*probe;
	struct tracepoint	*tracepoint;
} recorder_probes[] = {
	{ "net_dev_queue", recorder_on_net_dev_queue },
	{ "qdisc_enqueue", recorder_on_qdisc_enqueue },
	{ "qdisc_dequeue", recorder_on_qdisc_dequeue },
#ifdef HAVE_QDISC_DROP_EVENT
	{ "qdisc_drop", recorder_on_qdisc_drop },
#endif
	{ "kfree_skb", recorder_on_kfree_skb },
	{ "consume_skb", recorder_on_consume_skb },
	{ "tcp_probe", recorder_on_tcp_probe },
};

static void recorder_find_tracepoint(struct tracepoint *tp, void *unused)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(recorder_probes); i++)
		if (!strcmp(tp->name, recorder_probes[i].name))
			recorder_probes[i].tracepoint = tp;
}

static void recorder_unregister_probes(void)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(recorder_probes); i++)
		if (recorder_probes[i].tracepoint)
			tracepoint_probe_unregister(recorder_probes[i].tracepoint,
						    recorder_probes[i].probe, NULL);
	tracepoint_synchronize_unregister();
}

static int recorder_register_probes(void)
{
	unsigned int i;
	int err;

	for_each_kernel_tracepoint(recorder_find_tracepoint, NULL);
	for (i = 0; i < ARRAY_SIZE(recorder_probes); i++) {
		if (!recorder_probes[i].tracepoint) {
			pr_err("recorder: this kernel has no tracepoint %s\n",
			       recorder_probes[i].name);
			err = -ENOENT;
			goto undo;
		}
	}
	for (i = 0; i < ARRAY_SIZE(recorder_probes); i++) {
		err = tracepoint_probe_register(recorder_probes[i].tracepoint,
						recorder_probes[i].probe, NULL);
		if (err)
			goto undo;
	}
	return 0;
undo:
	recorder_unregister_probes();
	return err;
}

/* Control */

static int recorder_command_watch(char *arguments)
{
	char name[IFNAMSIZ], unit[8];
	unsigned int major, limit;
	struct net_device *dev;
	struct watch *w;

	if (n_watches == ARRAY_SIZE(watches))
		return -ENOSPC;
	if (sscanf(arguments, "%15s %x: %u %7s", name, &major, &limit, unit) != 4 ||
	    (strcmp(unit, "packets") && strcmp(unit, "bytes")))
		return -EINVAL;
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	dev = dev_get_by_name(current->nsproxy->net_ns, name);
	if (!dev) {
		kfree(w);
		return -ENODEV;
	}
	RCU_INIT_POINTER(w->dev, dev);
	strscpy(w->name, name, sizeof(w->name));
	w->index = n_watches;
	w->major = major << 16;
	w->limit = limit;
	w->limit_bytes = !strcmp(unit, "bytes");
	hash_add_rcu(watches_by_device, &w->node, (unsigned long)dev);
	watches[n_watches] = w;
	/* Pairs with the acquire in recorder_take_samples(): the watch first, then the number. */
	smp_store_release(&n_watches, n_watches + 1);
	return 0;
}

/* A device that goes away waits for our reference. */
static int recorder_on_netdevice_event(struct notifier_block *unused, unsigned long event,
				       void *info)
{
	struct net_device *dev = netdev_notifier_info_to_dev(info);
	unsigned int i;

	if (event != NETDEV_UNREGISTER)
		return NOTIFY_DONE;
	mutex_lock(&recorder_control_mutex);
	for (i = 0; i < n_watches; i++) {
		struct watch *w = watches[i];

		if (rcu_access_pointer(w->dev) == dev) {
			hash_del_rcu(&w->node);
			RCU_INIT_POINTER(w->dev, NULL);
			dev_put(dev);
		}
	}
	mutex_unlock(&recorder_control_mutex);
	return NOTIFY_DONE;
}

static struct notifier_block recorder_netdevice_notifier = {
	.notifier_call	= recorder_on_netdevice_event,
};

static int recorder_command_zero(char *arguments)
{
	s64 zero, monotonic;

	if (kstrtos64(strim(arguments), 0, &zero))
		return -EINVAL;
	/* In the lab this read moves the clock, so it comes first. */
	monotonic = ktime_get_ns();
	zero_ns = zero + recorder_clock_ns() - monotonic;
	zero_time = ns_to_ktime(zero);
	return 0;
}

static void recorder_start_sampling(s64 interval_ns)
{
	hrtimer_cancel(&recorder_sample_timer);
	sample_interval = ns_to_ktime(interval_ns);
	queues.enabled = true;
	hrtimer_set_expires(&recorder_sample_timer, ktime_add(zero_time, sample_interval));
	hrtimer_forward_now(&recorder_sample_timer, sample_interval);
	hrtimer_start_expires(&recorder_sample_timer, HRTIMER_MODE_ABS_SOFT);
}

/* Headers go with packets by their order alone: all packets have them, or none. */
static bool recorder_lacks_headers(void)
{
	return !headers.enabled && (headers.count != packets.count || !list_empty(&waiting));
}

static int recorder_command_start(char *arguments)
{
	bool with_headers = false, with_packets = false, with_acks = false;
	s64 interval_ns = 0;
	unsigned long flags;
	char *word;
	int err = 0;

	while ((word = strsep(&arguments, "\n "))) {
		if (!strcmp(word, "packets"))
			with_packets = true;
		else if (!strcmp(word, "headers"))
			with_headers = true;
		else if (!strcmp(word, "acks"))
			with_acks = true;
		else if (!strncmp(word, "queues=", 7) && !kstrtos64(word + 7, 0, &interval_ns) &&
			 interval_ns > 0)
			continue;
		else if (*word)
			return -EINVAL;
	}
	spin_lock_irqsave(&recorder_lock, flags);
	if (with_headers && recorder_lacks_headers()) {
		err = -EBUSY;
	} else {
		headers.enabled |= with_headers;
		packets.enabled |= with_packets;
		acks.enabled |= with_acks;
	}
	spin_unlock_irqrestore(&recorder_lock, flags);
	if (!err && interval_ns)
		recorder_start_sampling(interval_ns);
	return err;
}

static int recorder_command_stop(void)
{
	struct queued *q, *next;
	unsigned long flags;

	hrtimer_cancel(&recorder_sample_timer);
	spin_lock_irqsave(&recorder_lock, flags);
	packets.enabled = false;
	headers.enabled = false;
	acks.enabled = false;
	queues.enabled = false;
	list_for_each_entry_safe(q, next, &waiting, arrival)
		recorder_finish(q, recorder_now_ns(), OUTCOME_QUEUED, q->packet.ecn_in, 0);
	spin_unlock_irqrestore(&recorder_lock, flags);
	return 0;
}

static ssize_t recorder_control_write(struct file *file, const char __user *buffer, size_t size,
				      loff_t *at)
{
	char *text, *arguments, *command;
	int err;

	if (size > PAGE_SIZE)
		return -E2BIG;
	text = memdup_user_nul(buffer, size);
	if (IS_ERR(text))
		return PTR_ERR(text);
	arguments = text;
	command = strsep(&arguments, "\n ");
	if (!arguments)
		arguments = "";
	mutex_lock(&recorder_control_mutex);
	if (!strcmp(command, "watch"))
		err = recorder_command_watch(arguments);
	else if (!strcmp(command, "zero"))
		err = recorder_command_zero(arguments);
	else if (!strcmp(command, "start"))
		err = recorder_command_start(arguments);
	else if (!strcmp(command, "stop"))
		err = recorder_command_stop();
	else
		err = -EINVAL;
	mutex_unlock(&recorder_control_mutex);
	kfree(text);
	return err ? err : size;
}

static int recorder_control_show(struct seq_file *m, void *unused)
{
	unsigned long flags;
	unsigned int i;

	mutex_lock(&recorder_control_mutex);
	spin_lock_irqsave(&recorder_lock, flags);
	seq_printf(m, "packets %llu lost %llu\n", packets.count, packets.lost);
	seq_printf(m, "headers %llu lost %llu\n", headers.count, headers.lost);
	seq_printf(m, "acks %llu lost %llu\n", acks.count, acks.lost);
	seq_printf(m, "queues %llu lost %llu\n", queues.count, queues.lost);
	for (i = 0; i < n_watches; i++)
		seq_printf(m, "watch %u %s\n", i, watches[i]->name);
	for (i = 0; i < n_cc; i++)
		seq_printf(m, "cc %u %s\n", i, cc_seen[i].name);
	spin_unlock_irqrestore(&recorder_lock, flags);
	mutex_unlock(&recorder_control_mutex);
	return 0;
}

static int recorder_control_open(struct inode *inode, struct file *file)
{
	return single_open(file, recorder_control_show, NULL);
}

static const struct proc_ops recorder_control_ops = {
	.proc_open	= recorder_control_open,
	.proc_read	= seq_read,
	.proc_lseek	= seq_lseek,
	.proc_release	= single_release,
	.proc_write	= recorder_control_write,
};

static int __init recorder_create_files(void)
{
	proc_dir = proc_mkdir("recorder", NULL);
	if (proc_dir && proc_create("control", 0600, proc_dir, &recorder_control_ops) &&
	    proc_create_data("packets", 0400, proc_dir, &recorder_stream_ops, &packets) &&
	    proc_create_data("headers", 0400, proc_dir, &recorder_stream_ops, &headers) &&
	    proc_create_data("acks", 0400, proc_dir, &recorder_stream_ops, &acks) &&
	    proc_create_data("queues", 0400, proc_dir, &recorder_stream_ops, &queues))
		return 0;
	proc_remove(proc_dir);
	return -ENOMEM;
}

static void recorder_free_memory(void)
{
	unsigned int i;

	for (i = 0; i < n_watches; i++)
		kfree(watches[i]);
	recorder_stream_free(&packets);
	recorder_stream_free(&headers);
	recorder_stream_free(&acks);
	recorder_stream_free(&queues);
	kfree_skb(sample_skb);
	kmem_cache_destroy(headers_cache);
	kmem_cache_destroy(queued_cache);
}

static int __init recorder_init(void)
{
	int err = -ENOMEM;

	hrtimer_setup(&recorder_sample_timer, recorder_take_samples, CLOCK_MONOTONIC,
		      HRTIMER_MODE_ABS_SOFT);
	queued_cache = KMEM_CACHE(queued, 0);
	headers_cache = KMEM_CACHE(header_record, 0);
	sample_skb = alloc_skb(PAGE_SIZE, GFP_KERNEL);
	if (!queued_cache || !headers_cache || !sample_skb || recorder_stream_init(&packets) ||
	    recorder_stream_init(&headers) || recorder_stream_init(&acks) ||
	    recorder_stream_init(&queues))
		goto fail;
	err = recorder_register_probes();
	if (err)
		goto fail;
	err = register_netdevice_notifier(&recorder_netdevice_notifier);
	if (err)
		goto fail_probes;
	/* Last: from here on there are commands. */
	err = recorder_create_files();
	if (err)
		goto fail_notifier;
	return 0;
fail_notifier:
	unregister_netdevice_notifier(&recorder_netdevice_notifier);
fail_probes:
	recorder_unregister_probes();
fail:
	recorder_free_memory();
	return err;
}

static void __exit recorder_exit(void)
{
	proc_remove(proc_dir);
	/* This tells of every device as if it went away, which ends its watch. */
	unregister_netdevice_notifier(&recorder_netdevice_notifier);
	recorder_unregister_probes();
	recorder_command_stop();
	recorder_free_memory();
}

module_init(recorder_init);
module_exit(recorder_exit);
MODULE_DESCRIPTION("Per-packet and per-ACK recorder");
MODULE_AUTHOR("Sandglass");
MODULE_VERSION(SANDGLASS_VERSION);
MODULE_LICENSE("GPL");
