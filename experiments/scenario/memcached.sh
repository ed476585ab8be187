# Becomes memcached in the lab's guest: ADDRESS PORT THREADS CONNECTIONS. The guest has no users,
# and memcached needs the name of one. The memory limit is so high that no value is evicted.
mkdir -p /etc
echo root:x:0:0::/: > /etc/passwd
exec memcached -u root -l "$1" -p "$2" -t "$3" -c "$4" -m 1024
