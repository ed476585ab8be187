# All microbenchmarks. $far: a CPU of another node; $other: of the own node and, if it has several,
# another L3; $cores: CPUs of a node; $sizes: working sets in KiB, the last beyond all caches;
# $shared: one that an L2 holds; $filler: one that it does not.
last=${sizes##* }
all=$(seq 0 $((cores - 1)))
echo "@@lines"
calibrate mark 3
calibrate sleep 1000 100
calibrate sleep 100000 5
for n in 1 2 $(nproc); do calibrate spin $n 100000000; done
for size in $sizes; do calibrate chase 0 0 $size; done
calibrate chase 0 1 $last
calibrate chase $far 0 $last
calibrate chase $far 1 $last
calibrate shared 0 $far $shared $filler
for node in 0 1; do
	calibrate gather 0 $node $last
	calibrate stream $node 32 0
	calibrate stream $node 128 $all
	calibrate write 0 $node 32
done
for cpu in 1 $other $far; do calibrate bounce 0 $cpu; done
calibrate syscall 0
for cpu in 0 1 $far; do calibrate pipe 0 $cpu; done
