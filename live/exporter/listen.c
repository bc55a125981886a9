/* SPDX-License-Identifier: MIT */
/* Opens the listening socket. Addresses are numeric: no name is resolved. */
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "live/exporter/http.h"

static bool is_port(const char *text)
{
	return *text && strlen(text) <= 5 && strspn(text, "0123456789") == strlen(text) &&
	       atoi(text) <= 65535;
}

/* Splits "[::1]:9000" into address and port. A port alone means 127.0.0.1. ":PORT" means all
 * addresses, as in other Prometheus exporters. */
static bool split_address(const char *text, char *host, size_t room, const char **port)
{
	const char *colon = strrchr(text, ':');
	size_t n = colon ? (size_t)(colon - text) : 0;

	*port = colon ? colon + 1 : text;
	if (!is_port(*port) || n >= room)
		return false;
	if (!n || (n == strlen("localhost") && !memcmp(text, "localhost", n))) {
		strcpy(host, colon == text ? "0.0.0.0" : "127.0.0.1");
		return true;
	}
	if (*text == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	} else if (memchr(text, ':', n)) {
		return false;
	}
	memcpy(host, text, n);
	host[n] = 0;
	return true;
}

int nvs_http_listen(const char *text, char *message, size_t room)
{
	struct addrinfo hints = {.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE,
				 .ai_socktype = SOCK_STREAM};
	struct addrinfo *found = NULL;
	const char *port = NULL;
	char host[64];
	int fd, yes = 1;

	if (!split_address(text, host, sizeof(host), &port) ||
	    getaddrinfo(host, port, &hints, &found)) {
		snprintf(message, room,
			 "--listen must be ADDRESS:PORT, as in 127.0.0.1:9000 or [::1]:9000, or a "
			 "port, "
			 "not '%s'",
			 text);
		errno = EINVAL;
		return -1;
	}
	fd = socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd >= 0 && found->ai_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof(yes));
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) ||
	    bind(fd, found->ai_addr, found->ai_addrlen) || listen(fd, SOMAXCONN)) {
		snprintf(message, room, "cannot listen on %s: %s", text, strerror(errno));
		if (fd >= 0)
			close(fd);
		errno = EADDRINUSE;
		fd = -1;
	}
	freeaddrinfo(found);
	return fd;
}

void nvs_http_url(int listener, char *url, size_t room, bool *open)
{
	union {
		struct sockaddr any;
		struct sockaddr_in four;
		struct sockaddr_in6 six;
	} at;
	socklen_t n = sizeof(at);
	char text[INET6_ADDRSTRLEN] = "?";

	memset(&at, 0, sizeof(at));
	getsockname(listener, &at.any, &n);
	if (at.any.sa_family == AF_INET6) {
		inet_ntop(AF_INET6, &at.six.sin6_addr, text, sizeof(text));
		snprintf(url, room, "http://[%s]:%u/metrics", text, ntohs(at.six.sin6_port));
		*open = !IN6_IS_ADDR_LOOPBACK(&at.six.sin6_addr);
	} else {
		inet_ntop(AF_INET, &at.four.sin_addr, text, sizeof(text));
		snprintf(url, room, "http://%s:%u/metrics", text, ntohs(at.four.sin_port));
		*open = ntohl(at.four.sin_addr.s_addr) >> 24 != 127;
	}
}
