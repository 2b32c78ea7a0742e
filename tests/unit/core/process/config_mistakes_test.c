/* tests/unit/core/process/config_mistakes_test.c - every mistake, with its place and what to do */
#include "core/process/config.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/base/string.h"
#include "core/host/host.h"
#include "core/plugins/registry.h"

static struct options options;
static struct config_errors errors;
static struct snapshot *snapshot;

static int clean(void **state)
{
    snapshot_free(snapshot);
    snapshot = NULL;
    config_errors_deinit(&errors);
    memset(&options, 0, sizeof options);
    return 0;
}

struct wrong {
    const char *text;
    uint32_t line, column;
    const char *says;
};

#define ROOT_KEYS                                                                                  \
    "workers, plugins, plugin_directory, listen, upstream, server_tls, fixed_upstream, filters, "  \
    "routes, "                                                                                     \
    "connect_ports, deny_addresses, "                                                              \
    "limits, timeouts, drain_timeout, log, error_bodies, admin, user, group, pid_file, include"

#define GUARD                                                                                      \
    "anybody who can connect could use this proxy; add \"allow_clients: [ 10.0.0.0/8 ]\" with "    \
    "your networks, a filter that decides who may use it, or \"open: true\""

/* Files with exactly one mistake. */
static const struct wrong wrong_files[] = {
    /* keys */
    {"wrokers: 2\n", 1, 1, "wrokers: unknown key; did you mean \"workers\"?"},
    {"worker: 2\n", 1, 1, "worker: unknown key; did you mean \"workers\"?"},
    {"Listen: []\n", 1, 1, "Listen: unknown key; did you mean \"listen\"?"},
    {"workers: 2\nlog:\n  levle: info\n", 3, 3, "log.levle: unknown key; did you mean \"level\"?"},
    {"listen:\n  - adress: 127.0.0.1:1\n", 2, 5,
     "listen[0].adress: unknown key; did you mean \"address\"?"},
    {"timeouts: { exchange-idle: 1s }\n", 1, 13,
     "timeouts.exchange-idle: unknown key; did you mean \"exchange_idle\"?"},
    {"limits: { headers: 1KiB }\n", 1, 11, "limits.headers: unknown key; did you mean \"header\"?"},
    {"upstream: { a: { server: [ a:1 ] } }\n", 1, 18,
     "upstream.a.server: unknown key; did you mean \"servers\"?"},
    {"certificate: a.pem\n", 1, 1, "certificate: unknown key; known here: " ROOT_KEYS},
    {"log: { colour: x }\n", 1, 8, "log.colour: unknown key; known here: level, access"},
    {"log: { file: x }\n", 1, 8, "log.file: unknown key here; it belongs to \"access\""},
    {"tunnel_idle: 1h\n", 1, 1, "tunnel_idle: unknown key here; it belongs to \"timeouts\""},
    {"\"a\\e[1m\": 1\n", 1, 1, "a?[1m: unknown key; known here: " ROOT_KEYS},
    {"workers: 1\nworkers: 2\n", 2, 1, "workers: is given twice, first on line 1"},
    {"log: { level: info, level: info }\n", 1, 21, "log.level: is given twice, first on line 1"},
    {"listen:\n  - {}\n", 2, 5, "listen[0]: \"address\" is missing"},
    {"listen:\n  - address: 127.0.0.1:1\n  - { }\n", 3, 5, "listen[1]: \"address\" is missing"},
    {"upstream:\n  a: { protocol: h1 }\n", 2, 6, "upstream.a: \"servers\" is missing"},
    /* kinds */
    {"- workers: 1\n", 1, 1, "must be keys and values (" ROOT_KEYS "), not a list"},
    {"workers:2\n", 1, 1,
     "must be keys and values (" ROOT_KEYS "), not a single value; put a space after the colon"},
    {"workers:\n", 1, 1, "workers: has no value; give it one or leave it out"},
    {"log:\n  level:\n", 2, 3, "log.level: has no value; give it one or leave it out"},
    {"timeouts:\n", 1, 1, "timeouts: has no value; give it one or leave it out"},
    {"workers: [ 1 ]\n", 1, 10, "workers: must be a single value, not a list"},
    {"workers: { a: 1 }\n", 1, 10, "workers: must be a single value, not keys and values"},
    {"log: info\n", 1, 6, "log: must be keys and values (level, access), not a single value"},
    {"log: level:info\n", 1, 6,
     "log: must be keys and values (level, access), not a single value; put a space after the "
     "colon"},
    {"log: [ info ]\n", 1, 6, "log: must be keys and values (level, access), not a list"},
    {"listen: 127.0.0.1:1\n", 1, 9,
     "listen: must be a list, not a single value; begin each entry with \"- \""},
    {"listen:\n  address: 127.0.0.1:1\n", 2, 3,
     "listen: must be a list, not keys and values; begin each entry with \"- \""},
    {"listen:\n  - 127.0.0.1:1\n", 2, 5,
     "listen[0]: must be keys and values (address, allow_clients, open, v6only, mode, tls, "
     "protocols, "
     "filters), "
     "not a "
     "single "
     "value"},
    {"listen: [ { address: [ 127.0.0.1:1 ] } ]\n", 1, 22,
     "listen[0].address: must be a single value, not a list"},
    {"upstream: app\n", 1, 11, "upstream: must be keys and values, not a single value"},
    {"upstream: { a: { servers: a:1 } }\n", 1, 27,
     "upstream.a.servers: must be a list, not a single value; begin each entry with \"- \""},
    /* numbers */
    {"workers: many\n", 1, 10, "workers: \"many\" is not a whole number, or auto"},
    {"workers: -1\n", 1, 10, "workers: \"-1\" is not a whole number, or auto"},
    {"workers: 1.5\n", 1, 10, "workers: \"1.5\" is not a whole number, or auto"},
    {"workers: 0\n", 1, 10, "workers: 0 is out of range; write 1 to 256, or auto"},
    {"workers: 257\n", 1, 10, "workers: 257 is out of range; write 1 to 256, or auto"},
    {"workers: 99999999999999999999\n", 1, 10,
     "workers: 99999999999999999999 is out of range; write 1 to 256, or auto"},
    {"workers: 4294967297\n", 1, 10,
     "workers: 4294967297 is out of range; write 1 to 256, or auto"},
    {"workers: '2'\n", 1, 10, "workers: a number in quotes is text; leave out the quotes"},
    {"limits: { fields: 0 }\n", 1, 19, "limits.fields: 0 is out of range; write 8 to 256"},
    {"limits: { fields: 257 }\n", 1, 19, "limits.fields: 257 is out of range; write 8 to 256"},
    {"limits: { fields: none }\n", 1, 19, "limits.fields: \"none\" is not a whole number"},
    {"timeouts: { head: 10 }\n", 1, 19,
     "timeouts.head: \"10\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"timeouts:\n  idle: 70 s\n", 2, 9,
     "timeouts.idle: \"70 s\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"timeouts: { connect: 0s }\n", 1, 22,
     "timeouts.connect: 0s is out of range; write 1ms to 7d, or none"},
    {"timeouts: { tunnel_idle: 8d }\n", 1, 26,
     "timeouts.tunnel_idle: 8d is out of range; write 1ms to 7d, or none"},
    {"timeouts: { response: 99999999999999999h }\n", 1, 23,
     "timeouts.response: 99999999999999999h is out of range; write 1ms to 7d, or none"},
    {"limits: { request_line: 8KB }\n", 1, 25,
     "limits.request_line: \"8KB\" is not a size such as 512B or 8KiB"},
    {"limits: { request_line: 65KiB }\n", 1, 25,
     "limits.request_line: 65KiB is out of range; write 256B to 64KiB"},
    {"limits: { header: 65536 }\n", 1, 19,
     "limits.header: \"65536\" is not a size such as 64KiB or 1MiB"},
    {"limits: { header: 4GiB }\n", 1, 19,
     "limits.header: 4GiB is out of range; write 1KiB to 1MiB"},
    /* words */
    {"log: { level: warn }\n", 1, 15,
     "log.level: \"warn\" is not one of: debug, info, warning, error; did you mean \"warning\"?"},
    {"log: { level: loud }\n", 1, 15,
     "log.level: \"loud\" is not one of: debug, info, warning, error"},
    {"log: { level: INFO }\n", 1, 15,
     "log.level: \"INFO\" is not one of: debug, info, warning, error; did you mean \"info\"?"},
    {"upstream: { a: { servers: [ a:1 ], protocol: http } }\n", 1, 46,
     "upstream.a.protocol: \"http\" is not one of: h1, h2"},
    {"listen:\n  - address: 127.0.0.1:1\n    open: yes\n", 3, 11,
     "listen[0].open: \"yes\" is not true or false"},
    {"listen:\n  - address: 127.0.0.1:1\n    open: \"true\"\n", 3, 11,
     "listen[0].open: true in quotes is text; leave out the quotes"},
    {"listen:\n  - address: 127.0.0.1:1\n    open: [ true ]\n", 3, 11,
     "listen[0].open: must be a single value, not a list"},
    {"listen:\n  - address: \"[::1]:1\"\n    v6only: 1\n", 3, 13,
     "listen[0].v6only: \"1\" is not true or false"},
    /* limits, ports and networks */
    {"connections_max: 10\n", 1, 1, "connections_max: unknown key here; it belongs to \"limits\""},
    {"limits: { connection_max: 10 }\n", 1, 11,
     "limits.connection_max: unknown key; did you mean \"connections_max\"?"},
    {"limits: { connections_max: 0 }\n", 1, 28,
     "limits.connections_max: 0 is out of range; write 1 to 1048576, or auto"},
    {"limits: { connections_max: none }\n", 1, 28,
     "limits.connections_max: \"none\" is not a whole number, or auto"},
    {"limits: { connections_per_address: auto }\n", 1, 36,
     "limits.connections_per_address: \"auto\" is not a whole number, or none"},
    {"limits: { requests_per_connection: 1000000001 }\n", 1, 36,
     "limits.requests_per_connection: 1000000001 is out of range; write 1 to 1000000000, or none"},
    {"limits: { request_body_max: 0B }\n", 1, 29,
     "limits.request_body_max: 0B is out of range; write 1B to 1024TiB, or none"},
    {"limits: { request_body_max: 10MB }\n", 1, 29,
     "limits.request_body_max: \"10MB\" is not a size such as 64KiB, 10MiB or 4GiB, or none"},
    {"limits: { request_body_max: 1025TiB }\n", 1, 29,
     "limits.request_body_max: 1025TiB is out of range; write 1B to 1024TiB, or none"},
    {"limits: { body_rate_min: 1KiB }\n", 1, 26,
     "limits.body_rate_min: \"1KiB\" is not a rate such as 100B/s or 1KiB/s, or none"},
    {"limits: { body_rate_min: 2GiB/s }\n", 1, 26,
     "limits.body_rate_min: 2GiB/s is out of range; write 1B/s to 1GiB/s, or none"},
    {"timeouts: { body: 30 }\n", 1, 19,
     "timeouts.body: \"30\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"drain_timeout: soon\n", 1, 16,
     "drain_timeout: \"soon\" is not a duration such as 500ms, 10s, 5m or 1h, or none"},
    {"timeouts: { drain_timeout: 1s }\n", 1, 13,
     "timeouts.drain_timeout: unknown key; known here: head, idle, body, connect, handshake, "
     "response, "
     "exchange_idle, tunnel_idle"},
    {"connect_ports: 443\n", 1, 16,
     "connect_ports: must be a list, not a single value; begin each entry with \"- \""},
    {"connect_ports: [ 443, https ]\n", 1, 23,
     "connect_ports[1]: \"https\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports: [ 0 ]\n", 1, 18,
     "connect_ports[0]: \"0\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports:\n  - 65536\n", 2, 5,
     "connect_ports[0]: \"65536\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports: [ 1-70000 ]\n", 1, 18,
     "connect_ports[0]: \"1-70000\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports: [ 443- ]\n", 1, 18,
     "connect_ports[0]: \"443-\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports: [ 1-2-3 ]\n", 1, 18,
     "connect_ports[0]: \"1-2-3\" is not a port or a range of ports, such as 443 or 8000-8999"},
    {"connect_ports: [ 9000-8000 ]\n", 1, 18,
     "connect_ports[0]: \"9000-8000\" ends before it begins"},
    {"deny_addresses: [ privat ]\n", 1, 19,
     "deny_addresses[0]: \"privat\" is not a network such as 10.0.0.0/8 or fc00::/7, an address, "
     "or "
     "one of: loopback, link-local, private, metadata; did you mean \"private\"?"},
    {"deny_addresses: [ 10.0.0.0/8, example.com ]\n", 1, 31,
     "deny_addresses[1]: \"example.com\" is not a network such as 10.0.0.0/8 or fc00::/7, an "
     "address, or one of: loopback, link-local, private, metadata"},
    {"deny_addresses:\n  - 10.0.0.0/33\n", 2, 5,
     "deny_addresses[0]: \"10.0.0.0/33\" has no prefix length from 0 to 32 after the /"},
    {"deny_addresses: [ fc00::/ ]\n", 1, 19,
     "deny_addresses[0]: \"fc00::/\" has no prefix length from 0 to 128 after the /"},
    {"deny_addresses: [ 10.1.2.3/8 ]\n", 1, 19,
     "deny_addresses[0]: \"10.1.2.3/8\" has bits beyond its prefix length; write 10.0.0.0/8, not "
     "10.1.2.3/8"},
    {"deny_addresses: private\n", 1, 17,
     "deny_addresses: must be a list, not a single value; begin each entry with \"- \""},
    {"deny_address: [ private ]\n", 1, 1,
     "deny_address: unknown key; did you mean \"deny_addresses\"?"},
    /* who may use it */
    {"listen:\n  - address: 0.0.0.0:3128\n", 2, 14, "listen[0].address: " GUARD},
    {"listen:\n  - address: \"[::]:3128\"\n", 2, 14, "listen[0].address: " GUARD},
    {"listen: [ { address: 192.0.2.1:3128, open: false } ]\n", 1, 22, "listen[0].address: " GUARD},
    {"listen: [ { address: 127.0.0.1:1 }, { address: 10.0.0.1:1 } ]\n", 1, 48,
     "listen[1].address: " GUARD},
    {"listen:\n  - address: 0.0.0.0:1\n    allow_clients: []\n", 3, 20,
     "listen[0].allow_clients: has 0 entries; it must have 1 to 1024"},
    {"listen:\n  - address: 0.0.0.0:1\n    allow_clients: [ 10.0.0.0 / 8 ]\n", 3, 22,
     "listen[0].allow_clients[0]: \"10.0.0.0 / 8\" is not a network such as 10.0.0.0/8 or "
     "fc00::/7, "
     "an address, or one of: loopback, link-local, private, metadata"},
    {"listen:\n  - address: 0.0.0.0:1\n    allow_clients: [ private ]\n    open: true\n", 4, 5,
     "listen[0].open: contradicts allow_clients; remove one"},
    {"listen:\n  - address: unix:/a\n    allow_clients: [ private ]\n", 3, 5,
     "listen[0].allow_clients: cannot be checked on a unix: address; mode says who may connect "
     "there"},
    {"listen:\n  - address: 127.0.0.1:1\n    mode: 0600\n", 3, 5,
     "listen[0].mode: is for unix: addresses only"},
    {"listen:\n  - address: 127.0.0.1:1\n    v6only: true\n", 3, 5,
     "listen[0].v6only: is for IPv6 addresses only, such as \"[::]:3128\""},
    {"listen:\n  - address: unix:/a\n    mode: 0680\n", 3, 11,
     "listen[0].mode: \"0680\" is not a file's mode in octal digits, such as 0660"},
    {"listen:\n  - address: unix:/a\n    mode: 7777\n", 3, 11,
     "listen[0].mode: \"7777\" is more than 0777"},
    {"listen:\n  - address: unix:/a\n    mode: rw\n", 3, 11,
     "listen[0].mode: \"rw\" is not a file's mode in octal digits, such as 0660"},
    {"listen:\n  - address: unix:weir.sock\n", 2, 14,
     "listen[0].address: \"unix:weir.sock\" has no absolute path; write for example "
     "unix:/run/weir.sock"},
    {"listen:\n  - address: unix:/a\n  - address: unix:/a\n", 3, 14,
     "listen[1].address: is the same as that of listen[0]; remove one"},
    {"listen:\n  - { address: \"[::]:1\", open: true }\n  - address: 127.0.0.1:1\n", 3, 14,
     "listen[1].address: overlaps with that of listen[0]; remove one"},
    {"listen:\n  - address: \"[::1]:1\"\n  - { address: \"[::]:1\", open: true, v6only: true }\n",
     3, 16, "listen[1].address: overlaps with that of listen[0]; remove one"},
    {"listen:\n  - address: 127.0.0.1:1\n  - { address: 0.0.0.0:1, open: true }\n", 3, 16,
     "listen[1].address: overlaps with that of listen[0]; remove one"},
    {"listen:\n  - { address: 127.0.0.1:1, protocols: [ h1, h1 ] }\n", 2, 46,
     "listen[0].protocols[1]: h1 is listed twice; remove one"},
    {"listen:\n  - address: 127.0.0.1:1\n    protocols: [ h1, raw ]\n", 3, 22,
     "listen[0].protocols[1]: raw is a protocol that clients do not speak"},
    {"listen:\n  - address: 127.0.0.1:1\n    protocols: []\n", 3, 16,
     "listen[0].protocols: has 0 entries; it must have 1 to 16"},
    {"listen:\n  - address: 127.0.0.1:1\n    protocols: [ a/b ]\n", 3, 18,
     "listen[0].protocols[0]: \"a/b\" is not a name of 1 to 64 letters, digits, - and _"},
    /* logs, answers and operation */
    {"log: { access: json }\n", 1, 16,
     "log.access: must be keys and values (format, file, sample), not a single value"},
    {"log: { access: { formt: json } }\n", 1, 18,
     "log.access.formt: unknown key; did you mean \"format\"?"},
    {"log: { access: { sample: 0 } }\n", 1, 26,
     "log.access.sample: 0 is out of range; write 1 to 1000000"},
    {"log: { access: { file: '' } }\n", 1, 24,
     "log.access.file: \"\" is empty; write the path of a file"},
    {"error_bodies: error.html\n", 1, 15,
     "error_bodies: \"error.html\" has no {status}, {reason} or {text}; write !file PATH for a "
     "file"},
    {"error_bodies: \"{staus} {reason}\"\n", 1, 15,
     "error_bodies: \"{staus} {reason}\" has {staus}, which is not {status}, {reason} or {text}; "
     "did "
     "you mean \"status\"?"},
    {"error_bodies: [ a b ]\n", 1, 15, "error_bodies: must be a single value, not a list"},
    {"admin: 0.0.0.0:9100\n", 1, 8,
     "admin: \"0.0.0.0:9100\" could be reached from elsewhere; write 127.0.0.1 and a port, or "
     "unix:/run/admin.sock"},
    {"admin: localhost:9100\n", 1, 8,
     "admin: \"localhost:9100\" is a name, not an IP address; write for example 127.0.0.1:3128"},
    {"admin: unix:admin.sock\n", 1, 8,
     "admin: \"unix:admin.sock\" has no absolute path; write for example unix:/run/weir.sock"},
    {"admin: { address: 127.0.0.1:1 }\n", 1, 8,
     "admin: must be a single value, not keys and values"},
    {"user: \"no body\"\n", 1, 7, "user: \"no body\" is not the name or number of an account"},
    {"group: \"\"\n", 1, 8, "group: \"\" is not the name or number of an account"},
    {"user: a:b\n", 1, 7, "user: \"a:b\" is not the name or number of an account"},
    {"pid_file: \"\"\n", 1, 11, "pid_file: \"\" is empty; write the path of a file"},
    {"pidfile: a\n", 1, 1, "pidfile: unknown key; did you mean \"pid_file\"?"},
    /* tags and other files */
    {"workers: !env WEIR_TEST_UNSET\n", 1, 10,
     "workers: the environment has no variable \"WEIR_TEST_UNSET\""},
    {"workers: !env\n", 1, 10, "workers: the environment has no variable \"\""},
    {"workers: !file /nonexistent/weir\n", 1, 10,
     "workers: file \"/nonexistent/weir\" cannot be read: No such file or directory"},
    {"error_bodies: !file /\n", 1, 15, "error_bodies: file \"/\" cannot be read: Is a directory"},
    {"workers: !evn WORKERS\n", 1, 10,
     "a word that begins with ! must be !env or !file; put other text in quotes"},
    {"listen: !file listeners\n", 1, 9,
     "listen: file \"listeners\" cannot be read: No such file or directory"},
    {"include: /nonexistent/weir.yaml\n", 1, 10,
     "include: \"/nonexistent/weir.yaml\" cannot be read: No such file or directory"},
    {"include: /nonexistent/*.yaml\n", 1, 10,
     "include: \"/nonexistent/*.yaml\" cannot be read: No such file or directory"},
    {"include: /etc/*/weir.yaml\n", 1, 10,
     "include: \"/etc/*/weir.yaml\" may have *, ? and [ after its last / only"},
    {"include: [ a.yaml ]\n", 1, 10, "include: must be a single value, not a list"},
    {"include:\n", 1, 1, "include: has no value; give it one or leave it out"},
    {"listen:\n  - address: 127.0.0.1:1\n    include: a.yaml\n", 3, 5,
     "listen[0].include: unknown key; known here: address, allow_clients, open, v6only, mode, tls, "
     "protocols, filters"},
    /* addresses and names */
    {"listen:\n  - address: 127.0.0.1\n", 2, 14,
     "listen[0].address: \"127.0.0.1\" has no port; write for example 127.0.0.1:3128"},
    {"listen:\n  - address: 127.0.0.1:65536\n", 2, 14,
     "listen[0].address: \"127.0.0.1:65536\" is not an address with its port, such as "
     "127.0.0.1:3128 or \"[::1]:3128\""},
    {"listen:\n  - address: ::1:3128\n", 2, 14,
     "listen[0].address: \"::1:3128\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen:\n  - address: '::1:3128'\n", 2, 14,
     "listen[0].address: \"::1:3128\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen: [ { address: localhost:3128 } ]\n", 1, 22,
     "listen[0].address: \"localhost:3128\" is a name, not an IP address; write for example "
     "127.0.0.1:3128"},
    {"listen: [ { address: \"http://127.0.0.1:3128\" } ]\n", 1, 22,
     "listen[0].address: \"http://127.0.0.1:3128\" is a URL; write only the address and the port, "
     "such as 127.0.0.1:3128"},
    {"listen: [ { address: \"\" } ]\n", 1, 22,
     "listen[0].address: \"\" is not an address with its port, such as 127.0.0.1:3128 or "
     "\"[::1]:3128\""},
    {"listen:\n  - address: 127.0.0.1:1\n  - address: 127.0.0.1:2\n  - address: 127.0.0.1:1\n", 4,
     14, "listen[2].address: is the same as that of listen[0]; remove one"},
    {"listen: [ { address: \"[::1]:1\" }, { address: \"[0::1]:1\" } ]\n", 1, 46,
     "listen[1].address: is the same as that of listen[0]; remove one"},
    {"listen: []\n", 1, 9, "listen: has 0 entries; it must have 1 to 64"},
    {"upstream: { a: { servers: [] } }\n", 1, 27,
     "upstream.a.servers: has 0 entries; it must have 1 to 1024"},
    {"upstream:\n  a: { servers: [ a:1, b ] }\n", 2, 24,
     "upstream.a.servers[1]: \"b\" has no port; write for example 127.0.0.1:9000"},
    {"upstream:\n  a:\n    servers:\n      - http://a:1\n", 4, 9,
     "upstream.a.servers[0]: \"http://a:1\" is a URL; write only the host and the port, such as "
     "127.0.0.1:9000"},
    {"upstream:\n  \"a b\": { servers: [ a:1 ] }\n", 2, 3,
     "upstream.a b: is not a name of 1 to 64 letters, digits, - and _"},
    {"fixed_upstream: \"\"\n", 1, 17,
     "fixed_upstream: \"\" is not a name of 1 to 64 letters, digits, - and _"},
    /* what does not go together */
    {"fixed_upstream: app\n", 1, 17, "fixed_upstream: there is no upstream \"app\""},
    {"fixed_upstream: apq\nupstream: { app: { servers: [ a:1 ] } }\n", 1, 17,
     "fixed_upstream: there is no upstream \"apq\"; did you mean \"app\"?"},
    {"upstream:\n  app: { servers: [ a:1 ] }\n", 2, 3,
     "upstream.app: no request goes there; add \"fixed_upstream: app\", or a route"},
    {"upstream:\n  a: { servers: [ a:1 ] }\n  b: { servers: [ b:1 ] }\nfixed_upstream: a\n", 3, 3,
     "upstream.b: no request goes there; fixed_upstream is \"a\""},
};

static bool is_told(const struct wrong *wrong)
{
    const struct config_error *error = &errors.list[0];
    bool told = !snapshot && errors.count == 1 && error->line == wrong->line &&
                error->column == wrong->column && !strcmp(error->text, wrong->says);
    if (snapshot)
        print_error("\"%s\" is taken for right\n", wrong->text);
    else if (!told)
        print_error("\"%s\": %u mistakes, the first %u:%u: %s\n", wrong->text, errors.count,
                    error->line, error->column, errors.kept ? error->text : "");
    return told;
}

static void test_one_mistake(void **state)
{
    uint32_t untold = 0;
    for (size_t i = 0; i < sizeof wrong_files / sizeof *wrong_files; i++) {
        snapshot = config_read(string_of(wrong_files[i].text), &options, &errors);
        untold += !is_told(&wrong_files[i]);
        clean(state);
    }
    assert_int_equal(untold, 0);
}

static char *print_errors(void)
{
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    config_errors_print(&errors, stream);
    fclose(stream);
    return text;
}

static void test_all_mistakes_in_the_order_of_their_lines(void **state)
{
    errors.file = "etc/weir.yaml";
    assert_null(
        config_read(string_of("fixed_upstream: x\n"
                              "log: { level: loud, levle: info }\n"
                              "listen:\n  - address: 127.0.0.1:1\n  - address: 127.0.0.1:1\n"
                              "workers: 0\n"
                              "workers: 1\n"
                              "upstream: { a: { servers: [ b ] } }\n"),
                    &options, &errors));
    char *printed = print_errors();
    assert_string_equal(
        printed,
        "etc/weir.yaml:1:17: fixed_upstream: there is no upstream \"x\"\n"
        "etc/weir.yaml:2:15: log.level: \"loud\" is not one of: debug, info, warning, error\n"
        "etc/weir.yaml:2:21: log.levle: unknown key; did you mean \"level\"?\n"
        "etc/weir.yaml:5:14: listen[1].address: is the same as that of listen[0]; remove one\n"
        "etc/weir.yaml:6:10: workers: 0 is out of range; write 1 to 256, or auto\n"
        "etc/weir.yaml:7:1: workers: is given twice, first on line 6\n"
        "etc/weir.yaml:8:29: upstream.a.servers[0]: \"b\" has no port; write for example "
        "127.0.0.1:9000\n");
    free(printed);
}

static void test_no_more_than_twenty_are_told(void **state)
{
    char text[1000] = "", *at = text;
    for (int i = 0; i < 25; i++)
        at += sprintf(at, "unknown%02d: 1\n", i);
    errors.file = "a.yaml";
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 25);
    assert_int_equal(errors.kept, 20);
    char *printed = print_errors();
    assert_non_null(strstr(printed, "a.yaml:20:1: unknown19: "));
    assert_null(strstr(printed, "unknown20"));
    const char *last = "\na.yaml: and 5 more\n";
    assert_string_equal(printed + strlen(printed) - strlen(last), last);
    free(printed);
}

static void test_a_file_that_is_not_there(void **state)
{
    assert_null(config_load("/nonexistent/weir.yaml", &options, &errors));
    char *printed = print_errors();
    assert_string_equal(printed,
                        "/nonexistent/weir.yaml: cannot be read: No such file or directory\n");
    free(printed);
}

static void test_hostile_texts_in_messages_are_cut(void **state)
{
    char text[20000], *at = stpcpy(text, "workers: ");
    memset(at, 'x', 9000);
    at = stpcpy(at + 9000, "\n? ");
    memset(at, 'y', 9000);
    strcpy(at + 9000, "\n: 1\n");
    assert_null(config_read(string_of(text), &options, &errors));
    assert_int_equal(errors.count, 2);
    for (int i = 0; i < 2; i++)
        assert_in_range(strlen(errors.list[i].text), 50, 400);
    assert_non_null(strstr(errors.list[0].text, "is not a whole number"));
    assert_non_null(strstr(errors.list[1].text, "unknown key"));
}

static int start(void **state)
{
    registry_start(host_table("test"));
    return 0;
}

static int end(void **state)
{
    registry_end();
    return 0;
}

#define TEST(name) cmocka_unit_test_teardown(name, clean)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_one_mistake),
        TEST(test_all_mistakes_in_the_order_of_their_lines),
        TEST(test_no_more_than_twenty_are_told),
        TEST(test_a_file_that_is_not_there),
        TEST(test_hostile_texts_in_messages_are_cut),
    };
    return cmocka_run_group_tests(tests, start, end);
}
