// SPDX-License-Identifier: GPL-2.0-only
/* The simulated NIC itself, its interrupts, and the cable. */
#include <linux/etherdevice.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "nicsim.h"

static struct platform_driver driver = {.driver.name = NAME};
static struct platform_device *parent;
static struct net_device *near, *far;
static int first_irq;

/* Interrupts */

static void raise_here(void *of)
{
	struct channel *c = of;

	generic_handle_irq_safe(c->irq);
}

static irqreturn_t handle(int irq, void *of)
{
	struct channel *c = of;

	napi_schedule_irqoff(&c->napi);
	return IRQ_HANDLED;
}

static int set_affinity(struct irq_data *data, const struct cpumask *wanted, bool force)
{
	struct channel *c = irq_data_get_irq_chip_data(data);
	u32 cpu = cpumask_any_and(wanted, cpu_online_mask);

	if (cpu >= nr_cpu_ids)
		return -EINVAL;
	WRITE_ONCE(c->cpu, cpu);
	irq_data_update_effective_affinity(data, cpumask_of(cpu));
	return IRQ_SET_MASK_OK;
}

static void nothing(struct irq_data *data)
{
}

static struct irq_chip chip = {
	.name = NAME,
	.irq_mask = nothing,
	.irq_unmask = nothing,
	.irq_set_affinity = set_affinity,
};

/* The way of a packet */

static netdev_tx_t far_sends(struct sk_buff *skb, struct net_device *dev)
{
	struct sim *sim = netdev_priv(near);
	struct channel *c;
	u32 queue;

	if (!netif_running(near))
		goto lost;
	queue = sim_queue_for(sim, skb);
	if (queue >= near->real_num_rx_queues)
		goto lost;
	c = &sim->channels[queue];
	skb_orphan(skb);
	skb_queue_tail(&c->arrived, skb);
	if (smp_call_function_single_async(READ_ONCE(c->cpu), &c->raise) == -ENXIO)
		raise_here(c);
	return NETDEV_TX_OK;
lost:
	dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static netdev_tx_t near_sends(struct sk_buff *skb, struct net_device *dev)
{
	skb_orphan(skb);
	if (netif_running(far))
		dev_forward_skb(far, skb);
	else
		dev_kfree_skb_any(skb);
	return NETDEV_TX_OK;
}

static int poll(struct napi_struct *napi, int budget)
{
	struct channel *c = container_of(napi, struct channel, napi);
	struct sk_buff *skb;
	int done = 0;

	while (done < budget && (skb = skb_dequeue(&c->arrived))) {
		skb->protocol = eth_type_trans(skb, near);
		skb_record_rx_queue(skb, c - c->sim->channels);
		napi_gro_receive(napi, skb);
		done++;
	}
	if (done < budget && napi_complete_done(napi, done) && !skb_queue_empty(&c->arrived))
		napi_schedule(napi);
	return done;
}

/* The device: up and down, by callers that have its lock */

int sim_start(struct net_device *dev)
{
	struct sim *sim = netdev_priv(dev);
	int queue, error;

	for (queue = 0; queue < dev->real_num_rx_queues; queue++) {
		struct channel *c = &sim->channels[queue];

		snprintf(c->name, sizeof(c->name), "%s-TxRx-%d", dev->name, queue);
		netif_napi_add_config(dev, &c->napi, poll, queue);
		netif_napi_set_irq(&c->napi, c->irq);
		napi_enable(&c->napi);
		netif_queue_set_napi(dev, queue, NETDEV_QUEUE_TYPE_RX, &c->napi);
		netif_queue_set_napi(dev, queue, NETDEV_QUEUE_TYPE_TX, &c->napi);
		/* nobody else has these numbers */
		error = request_irq(c->irq, handle, 0, c->name, c);
		WARN_ON(error);
	}
	netif_carrier_on(dev);
	netif_tx_start_all_queues(dev);
	return 0;
}

int sim_stop(struct net_device *dev)
{
	struct sim *sim = netdev_priv(dev);
	int queue;

	netif_carrier_off(dev);
	netif_tx_disable(dev);
	for (queue = 0; queue < dev->real_num_rx_queues; queue++) {
		struct channel *c = &sim->channels[queue];

		netif_napi_set_irq(&c->napi, -1);
		free_irq(c->irq, c);
		netif_queue_set_napi(dev, queue, NETDEV_QUEUE_TYPE_RX, NULL);
		netif_queue_set_napi(dev, queue, NETDEV_QUEUE_TYPE_TX, NULL);
		napi_disable(&c->napi);
		netif_napi_del(&c->napi);
		skb_queue_purge(&c->arrived);
	}
	return 0;
}

static const struct net_device_ops near_ops = {
	.ndo_open = sim_start,
	.ndo_stop = sim_stop,
	.ndo_start_xmit = near_sends,
	.ndo_rx_flow_steer = sim_steer_flow,
	.ndo_set_features = sim_set_features,
	.ndo_set_mac_address = eth_mac_addr,
};

static const struct net_device_ops far_ops = {
	.ndo_start_xmit = far_sends,
	.ndo_set_mac_address = eth_mac_addr,
};

/* The module */

static void connect_irq(struct sim *sim, u32 queue)
{
	struct channel *c = &sim->channels[queue];

	c->sim = sim;
	c->irq = first_irq + queue;
	skb_queue_head_init(&c->arrived);
	INIT_CSD(&c->raise, raise_here, c);
	irq_set_chip_data(c->irq, c);
	irq_set_chip_and_handler(c->irq, &chip, handle_simple_irq);
	irq_modify_status(c->irq, IRQ_NOREQUEST, 0);
}

static struct net_device *device(const char *name, const struct net_device_ops *ops, int size)
{
	struct net_device *dev = alloc_etherdev_mq(size, CHANNELS);

	if (!dev)
		return NULL;
	strscpy(dev->name, name, sizeof(dev->name));
	dev->netdev_ops = ops;
	eth_hw_addr_random(dev);
	return dev;
}

static int __init begin(void)
{
	struct sim *sim;
	int error, at;

	first_irq = irq_alloc_descs(-1, 0, CHANNELS, numa_node_id());
	if (first_irq < 0)
		return first_irq;
	error = platform_driver_register(&driver);
	if (error)
		goto no_driver;
	parent = platform_device_register_simple(NAME, PLATFORM_DEVID_NONE, NULL, 0);
	if (IS_ERR(parent)) {
		error = PTR_ERR(parent);
		goto no_parent;
	}
	error = -ENOMEM;
	near = device("sim%d", &near_ops, sizeof(*sim));
	far = device("simfar", &far_ops, 0);
	if (!near || !far)
		goto no_device;
	sim = netdev_priv(near);
	spin_lock_init(&sim->lock);
	for (at = 0; at < CHANNELS; at++)
		connect_irq(sim, at);
	sim_spread(sim->table, CHANNELS);
	near->ethtool_ops = &sim_ethtool;
	near->hw_features = NETIF_F_NTUPLE | NETIF_F_RXHASH;
	near->features = NETIF_F_RXHASH;
	/* accelerated RFS needs to know which queue goes to which CPU */
	error = netif_enable_cpu_rmap(near, CHANNELS);
	if (error)
		goto no_device;
	SET_NETDEV_DEV(near, &parent->dev);
	error = register_netdev(near);
	if (error)
		goto no_device;
	error = register_netdev(far);
	if (!error)
		return 0;
	unregister_netdev(near);
no_device:
	if (near)
		free_netdev(near);
	if (far)
		free_netdev(far);
	platform_device_unregister(parent);
no_parent:
	platform_driver_unregister(&driver);
no_driver:
	irq_free_descs(first_irq, CHANNELS);
	return error;
}

static void __exit end(void)
{
	unregister_netdev(far);
	unregister_netdev(near);
	free_netdev(far);
	free_netdev(near);
	platform_device_unregister(parent);
	platform_driver_unregister(&driver);
	irq_free_descs(first_irq, CHANNELS);
}

module_init(begin);
module_exit(end);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A NIC for tests that takes ntuple rules and RSS contexts");
