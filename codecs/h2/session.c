/* codecs/h2/session.c - one nghttp2 session: its options, its callbacks, its first SETTINGS */
#include "codecs/h2/connection.h"

enum {
    STREAMS_FIRST = 100,         /* of a server, before it has said how many */
    CONNECTION_WINDOW = 1048576, /* renewed on receipt: only the way to the peer and back counts */
    SEND_BLOCK_BYTES = 1048576   /* of fields, once: what core let through is not judged again */
};

/* Made once; sessions copy what is in them. */
static nghttp2_session_callbacks *callbacks;
static nghttp2_option *options;

static void make_callbacks(void)
{
    nghttp2_session_callbacks_set_on_begin_frame_callback(callbacks, h2_on_begin_frame);
    nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks, h2_on_begin_headers);
    nghttp2_session_callbacks_set_on_header_callback2(callbacks, h2_on_header);
    nghttp2_session_callbacks_set_on_invalid_header_callback2(callbacks, h2_on_invalid_header);
    nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks, h2_on_data);
    nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks, h2_on_frame);
    nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks, h2_on_invalid_frame);
    nghttp2_session_callbacks_set_on_stream_close_callback(callbacks, h2_on_stream_close);
    nghttp2_session_callbacks_set_send_data_callback(callbacks, h2_on_send_data);
    nghttp2_session_callbacks_set_on_frame_send_callback(callbacks, h2_on_frame_sent);
}

/* Windows are renewed when core has passed bytes on; priorities are those of RFC 9218. */
static void make_options(void)
{
    nghttp2_option_set_no_auto_window_update(options, 1);
    nghttp2_option_set_no_closed_streams(options, 1);
    nghttp2_option_set_builtin_recv_extension_type(options, NGHTTP2_PRIORITY_UPDATE);
    nghttp2_option_set_max_send_header_block_length(options, SEND_BLOCK_BYTES);
    nghttp2_option_set_peer_max_concurrent_streams(options, STREAMS_FIRST);
}

void h2_session_start(void)
{
    if (callbacks || nghttp2_session_callbacks_new(&callbacks) != 0 ||
        nghttp2_option_new(&options) != 0)
        return;
    make_callbacks();
    make_options();
}

static int submit_settings(nghttp2_session *session, const weir_connection *connection)
{
    bool client = h2_is_client(connection);
    nghttp2_settings_entry entries[] = {
        {NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, h2_of(connection)->first_window},
        {NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, connection->limits->header_bytes},
        {NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1},
        {client ? NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS : NGHTTP2_SETTINGS_ENABLE_PUSH,
         client ? connection->limits->streams : 0},
        {NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1},
    };
    size_t count = sizeof entries / sizeof *entries - !client;
    return nghttp2_submit_settings(session, NGHTTP2_FLAG_NONE, entries, count);
}

bool h2_session_open(weir_connection *connection)
{
    struct h2 *h2 = h2_of(connection);
    h2->first_window = h2_window_first(h2_is_client(connection) ? connection->limits->streams : 1);
    h2_window_settings_sent(connection);
    int rc = h2_is_client(connection)
                 ? nghttp2_session_server_new2(&h2->session, callbacks, connection, options)
                 : nghttp2_session_client_new2(&h2->session, callbacks, connection, options);
    return rc == 0 && submit_settings(h2->session, connection) == 0 &&
           nghttp2_session_set_local_window_size(h2->session, NGHTTP2_FLAG_NONE, 0,
                                                 CONNECTION_WINDOW) == 0;
}
