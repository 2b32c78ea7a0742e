"""Who may include what, and where each library lives: docs/architecture.md's arrows as tables.

Changing a row is a change of the design and gets a commit of its own.
"""
# The rooms of core from the ground up: each may include those before it.
ROOMS = ["base", "io", "plugins", "connection", "upstream", "exchange", "host", "edge", "process"]
CORE = [f"core/{room}" for room in ROOMS]
CARRIER = ["abi", "codecs", "core/base", "core/io"]

# Folder or file: the folders it may include, and no others but itself. The closest row counts; a
# star stands for every folder that has no row of its own, and "codecs/*" among what may be
# included for all of them.
LAYERS = {
    "abi": [],
    **{room: ["abi", *CORE[:place]] for place, room in enumerate(CORE)},
    "codecs": ["abi"],  # helpers that several codecs share
    "codecs/*": ["abi", "codecs"],
    "codecs/tls": CARRIER,
    "codecs/quic": [*CARRIER, "codecs/tls"],
    "codecs/builtins.c": ["abi", "codecs", "codecs/*", "core/io", "core/plugins"],
    "plugins": ["abi"],
    "lua": ["abi"],
    "bench": ["abi", *CORE, "codecs", "codecs/*", "plugins"],
    "tests": ["abi", *CORE, "codecs", "codecs/*", "plugins", "lua", "bench"],
}

# Headers of their folder alone: what they show is nobody else's.
PRIVATE = ["core/io/uv_loop.h"]

# Header, or folder of headers, of each library: how its names begin, and which files may use it.
# Tests may use all of them.
LIBRARIES = {
    "uv.h": ("uv_", ["core/io/*.c", "core/io/uv_loop.h"]),
    "ares.h": ("ares_", ["core/io/dns.c"]),
    "libfyaml.h": ("fy_", ["core/process/yaml.c"]),
    "llhttp.h": ("llhttp_", ["codecs/h1/*"]),
    "nghttp2/": ("nghttp2_", ["codecs/h2/*"]),
    "nghttp3/": ("nghttp3_", ["codecs/h3/*"]),
    "ngtcp2/": ("ngtcp2_", ["codecs/quic/*"]),
    "openssl/": ("SSL_ EVP_ X509_ BIO_", ["codecs/tls/*", "codecs/quic/*", "bench/tls_clients.c"]),
    "lua.h": ("lua_", ["lua/*"]),
    "lauxlib.h": ("luaL_", ["lua/*"]),
    "lualib.h": ("luaopen_", ["lua/*"]),
    "pcre2.h": ("pcre2_", ["lua/*", "plugins/*"]),
    "crypt.h": ("crypt_", ["plugins/*"]),
    "cmocka.h": ("cmocka_", []),
    "sanitizer/": ("__asan_", ["core/base/poison.h"]),
}

# What belongs to the C library and the kernel, free for all.
SYSTEM = """assert ctype dirent dlfcn elf endian errno fcntl fnmatch ftw getopt glob grp
    inttypes limits locale malloc math netdb poll pthread pwd regex sched semaphore setjmp signal
    stdalign stdarg stdatomic stdbool stddef stdint stdio stdlib stdnoreturn string strings
    syslog termios threads time unistd wchar""".split()
SYSTEM_FOLDERS = ["arpa/", "linux/", "net/", "netinet/", "sys/"]

# Functions that only these files may call; nobody may call those without a file. Tests and bench
# are free.
CALLS = {
    "malloc calloc realloc reallocarray free strdup strndup": ["core/base/memory.c", "plugins/*"],
    "time clock_gettime gettimeofday": ["core/io/*"],
    "exit getenv": ["core/process/*"],
    "strcpy strcat strncpy strncat sprintf vsprintf gets strtok atoi atol alloca rand": [],
}
