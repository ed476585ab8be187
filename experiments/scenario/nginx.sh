# Becomes nginx in the lab's guest: ADDRESS PORT WORKERS SIZE. It serves the file /rpc of SIZE
# bytes. The guest has no users and no Debian configuration. These settings differ from nginx's
# defaults: sendfile and tcp_nopush are on, as in Debian; requests are not logged; connections stay
# open.
mkdir -p /etc /var/lib/nginx /var/log/nginx /tmp/www
echo root:x:0:0::/: > /etc/passwd
echo root:x:0: > /etc/group
head -c "$4" /dev/zero > /tmp/www/rpc
cat > /tmp/nginx.conf <<END
user root;
daemon off;
worker_processes $3;
pid /tmp/nginx.pid;
error_log stderr;
events { worker_connections 16384; }
http {
	access_log off;
	sendfile on;
	tcp_nopush on;
	keepalive_requests 1000000000;
	server { listen $1:$2; root /tmp/www; }
}
END
exec nginx -e stderr -c /tmp/nginx.conf
