// SPDX-License-Identifier: GPL-2.0-only
/* The simulated NIC's ntuple rules, and the queue that a packet comes in on by them. */
#include <linux/etherdevice.h>
#include <linux/ip.h>
#include <linux/ipv6.h>

#include "nicsim.h"

/* What a packet is to a rule: its flow type, 0 for one that no rule can match, and its port. */
static u32 flow_type(struct sk_buff *skb, __be16 *port)
{
	struct iphdr ip;
	struct ipv6hdr ip6;
	__be16 ports[2];
	u32 at = ETH_HLEN;
	bool v4 = eth_hdr(skb)->h_proto == htons(ETH_P_IP);
	u8 protocol;

	if (v4) {
		if (skb_copy_bits(skb, at, &ip, sizeof(ip)))
			return 0;
		protocol = ip.protocol;
		at += ip.ihl * 4;
	} else if (eth_hdr(skb)->h_proto == htons(ETH_P_IPV6)) {
		if (skb_copy_bits(skb, at, &ip6, sizeof(ip6)))
			return 0;
		protocol = ip6.nexthdr;
		at += sizeof(ip6);
	} else {
		return 0;
	}
	if (skb_copy_bits(skb, at, ports, sizeof(ports)))
		return 0;
	*port = ports[1];
	if (protocol == IPPROTO_TCP)
		return v4 ? TCP_V4_FLOW : TCP_V6_FLOW;
	if (protocol == IPPROTO_UDP)
		return v4 ? UDP_V4_FLOW : UDP_V6_FLOW;
	return 0;
}

/* The rule for a packet; NULL: none. */
static const struct rule *rule_for(const struct sim *sim, struct sk_buff *skb)
{
	__be16 port = 0, wanted;
	u32 type = flow_type(skb, &port), number;

	for (number = 0; number < RULES; number++) {
		const struct ethtool_rx_flow_spec *spec = &sim->rules[number].spec;
		bool v4 = type == TCP_V4_FLOW || type == UDP_V4_FLOW;

		wanted = v4 ? spec->h_u.tcp_ip4_spec.pdst : spec->h_u.tcp_ip6_spec.pdst;
		if (sim->rules[number].used && spec->flow_type == type && wanted == port)
			return &sim->rules[number];
	}
	return NULL;
}

/* The queue that a packet comes in on. */
u32 sim_queue_for(struct sim *sim, struct sk_buff *skb)
{
	const struct rule *rule;
	u32 hash, queue, flow;

	skb_reset_mac_header(skb);
	skb_set_network_header(skb, ETH_HLEN);
	hash = skb_get_hash(skb);
	spin_lock_bh(&sim->lock);
	rule = rule_for(sim, skb);
	flow = sim->flows[hash % FLOWS];
	if (rule && rule->context)
		queue = sim->tables[rule->context][hash % TABLE] + rule->spec.ring_cookie;
	else if (rule)
		queue = rule->spec.ring_cookie;
	else
		queue = flow ? flow - 1 : sim->table[hash % TABLE];
	spin_unlock_bh(&sim->lock);
	return queue;
}

/*
 * Accelerated RFS: a flow goes to @queue from now on. It is forgotten when another of its hash
 * comes.
 */
int sim_steer_flow(struct net_device *dev, const struct sk_buff *skb, u16 queue, u32 flow)
{
	struct sim *sim = netdev_priv(dev);
	u32 place = skb_get_hash_raw(skb) % FLOWS;

	spin_lock_bh(&sim->lock);
	sim->flows[place] = queue + 1;
	sim->flows_added++;
	spin_unlock_bh(&sim->lock);
	return place;
}

/* Without ntuple filters, there are neither rules nor flows. */
int sim_set_features(struct net_device *dev, netdev_features_t features)
{
	struct sim *sim = netdev_priv(dev);

	if (features & NETIF_F_NTUPLE)
		return 0;
	spin_lock_bh(&sim->lock);
	memset(sim->rules, 0, sizeof(sim->rules));
	memset(sim->flows, 0, sizeof(sim->flows));
	spin_unlock_bh(&sim->lock);
	return 0;
}

/* Does a rule name a queue from @queue on? */
bool sim_names_queues_from(const struct sim *sim, u32 queue)
{
	u32 number;

	for (number = 0; number < RULES; number++) {
		const struct rule *rule = &sim->rules[number];

		if (rule->used && !rule->context && rule->spec.ring_cookie >= queue)
			return true;
	}
	return false;
}

bool sim_names_context(const struct sim *sim, u32 context)
{
	u32 number;

	for (number = 0; number < RULES; number++)
		if (sim->rules[number].used && sim->rules[number].context == context)
			return true;
	return false;
}

/* Does a rule name a destination port, and nothing else? */
static bool is_by_port(const struct ethtool_rx_flow_spec *spec)
{
	struct ethtool_rx_flow_spec port = {};

	switch (spec->flow_type) {
	case TCP_V4_FLOW:
	case UDP_V4_FLOW:
		port.m_u.tcp_ip4_spec.pdst = htons(U16_MAX);
		break;
	case TCP_V6_FLOW:
	case UDP_V6_FLOW:
		port.m_u.tcp_ip6_spec.pdst = htons(U16_MAX);
		break;
	default:
		return false;
	}
	return !memcmp(&port.m_u, &spec->m_u, sizeof(port.m_u)) &&
	       !memcmp(&port.m_ext, &spec->m_ext, sizeof(port.m_ext));
}

int sim_get_rules(struct net_device *dev, struct ethtool_rxnfc *asked, u32 *places)
{
	struct sim *sim = netdev_priv(dev);
	u32 number, used = 0;

	switch (asked->cmd) {
	case ETHTOOL_GRXCLSRLCNT:
	case ETHTOOL_GRXCLSRLALL:
		for (number = 0; number < RULES; number++) {
			if (!sim->rules[number].used)
				continue;
			if (asked->cmd == ETHTOOL_GRXCLSRLALL) {
				if (used == asked->rule_cnt)
					return -EMSGSIZE;
				places[used] = number;
			}
			used++;
		}
		asked->rule_cnt = used;
		asked->data = RULES;
		return 0;
	case ETHTOOL_GRXCLSRULE:
		if (asked->fs.location >= RULES || !sim->rules[asked->fs.location].used)
			return -ENOENT;
		asked->fs = sim->rules[asked->fs.location].spec;
		if (sim->rules[asked->fs.location].context) {
			asked->fs.flow_type |= FLOW_RSS;
			asked->rss_context = sim->rules[asked->fs.location].context;
		}
		return 0;
	default:
		return -EOPNOTSUPP;
	}
}

int sim_set_rules(struct net_device *dev, struct ethtool_rxnfc *asked)
{
	struct sim *sim = netdev_priv(dev);
	struct rule wanted = {.used = true, .spec = asked->fs};
	u32 place = asked->fs.location;

	if (!(dev->features & NETIF_F_NTUPLE))
		return -EOPNOTSUPP;
	if (place >= RULES)
		return -EINVAL;
	switch (asked->cmd) {
	case ETHTOOL_SRXCLSRLINS:
		if (wanted.spec.flow_type & FLOW_RSS) {
			wanted.spec.flow_type &= ~FLOW_RSS;
			wanted.context = asked->rss_context;
		}
		if (!is_by_port(&wanted.spec) || wanted.spec.ring_cookie >= dev->real_num_rx_queues)
			return -EINVAL;
		break;
	case ETHTOOL_SRXCLSRLDEL:
		if (!sim->rules[place].used)
			return -ENOENT;
		wanted.used = false;
		break;
	default:
		return -EOPNOTSUPP;
	}
	spin_lock_bh(&sim->lock);
	sim->rules[place] = wanted;
	spin_unlock_bh(&sim->lock);
	return 0;
}
