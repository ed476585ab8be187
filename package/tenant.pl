# Sends to itself over the loopback without an end, in bursts that make a flow long: one process
# sends, the other receives.
use strict;
use IO::Socket::INET;

my $listener = IO::Socket::INET->new(LocalAddr => '127.0.0.1', Listen => 1) or die $!;
my $burst = 'x' x (1 << 20);
if (fork) {
    my $in = $listener->accept or die $!;
    while (sysread($in, my $read, 1 << 20)) { }
} else {
    my $out = IO::Socket::INET->new(PeerAddr => '127.0.0.1', PeerPort => $listener->sockport) or die $!;
    while (syswrite($out, $burst)) { }
}
