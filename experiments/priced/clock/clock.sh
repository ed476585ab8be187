# One program by the model's clock, without prices. Variables: src/clock.rs. With a network, the
# program runs on the client's CPUs, and gets the namespace at the wire's other end.
if [ -n "$client_cpus" ]; then
	taskset -cp $client_cpus $$ >/dev/null
	connect 1500 $client_cpu
	queues_to eth0 $queue_cpus
	# as the driver does for measured CPUs when there are no others
	set_xps on
	command="$command --here-net /proc/$client/ns/net"
fi
# not to the console itself: a terminal would get a live line
{
	echo "@@said"
	eval "$command" 2>&1
	code=$?
	echo "@@code"
	echo $code
} | cat
