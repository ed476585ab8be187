# Programs without traffic. Each runs with two lengths: the difference of what both take leaves out
# the cost of starting. Variables: $scheduler, $programs (NAME:LENGTH:LENGTH...), $seed.
calibrate entropy || fail "no entropy"
if [ -n "$scheduler" ]; then
	$scheduler >/tmp/scheduler.out 2>/tmp/scheduler.err &
	loaded=$!
	await /sys/kernel/sched_ext/state enabled
fi

# Two processes wake each other in turns.
pipe() { perf bench sched pipe --loop $1; }

# Forty processes send to forty others.
messaging() { perf bench sched messaging --group 2 --nr_loops $1; }

# Eight compilers at a time. Runs in a shell of its own, as it waits for all children.
compile() (
	for i in 1 2 3 4 5 6 7 8; do tcc -w -c /tmp/unit-$1.c -o /tmp/unit$i.o & done
	wait
	test -s /tmp/unit8.o
)

write_unit() { # write_unit FUNCTIONS: what compile compiles
	i=0
	while [ $i -lt $1 ]; do
		echo "int f$i(int x) { int y = x * $i; while (y > 3) y = y / 2 + f0(y); return y; }"
		i=$((i + 1))
	done >/tmp/unit-$1.c
}

measured() { # measured COMMAND...
	calibrate mark 0x10
	"$@" >/tmp/program 2>/tmp/program.err || fail "$* failed"
	calibrate mark 0x11
}

lengths() { echo ${1#*:} | tr : ' '; }

for program in $programs; do
	[ ${program%%:*} != compile ] || for functions in $(lengths $program); do write_unit $functions; done
done
sleep 0.2
calibrate mark 3
# From here on each seed has a copy of its own. It moves everything against the timer ticks.
calibrate branch >/tmp/branch
. /tmp/branch
calibrate spin 1 $((seed * 104729 + 1)) >/dev/null
calibrate mark 1
for program in $programs; do
	for length in $(lengths $program); do measured ${program%%:*} $length; done
done
calibrate mark 2
calibrate mark 4
if [ -n "$loaded" ]; then
	grep -q enabled /sys/kernel/sched_ext/state || fail "the scheduler was thrown out"
	kill -INT $loaded
	wait $loaded || fail "the scheduler failed"
fi
echo "@@dmesg"
dmesg
