# Varnish in front of photod: a shared cache of frames. A sample: replace the backend's address. Varnish does no TLS: put
# hitch, HAProxy or nginx before it, which pass the client's address with the PROXY protocol (varnishd -a :6086,PROXY).
# `varnishd -C -f FILE` checks it, `scripts/check-proxies` tries it. Tested with Varnish 7.1.
#
# Start varnishd with these parameters. On Debian, `systemctl edit varnish`: an empty ExecStart=, then the new one.
#
#   -p pipe_timeout=300           Longer than http.bodyTimeoutSeconds of photod (60), which answers a stalled upload
#                                 with 408, and than a large upload takes to be synced to disk. The default is 60.
#   -p http_resp_hdr_len=16k      The Link field of a list repeats the query, which has up to 8 KiB, and adds a cursor.
#                                 With the default (8k) a long query gets 503.
#
# Leave Varnish's HTTP/2 off, which is the default: it has no pipes, which this file uses for all large bodies.
#
# Settings of photod that belong to it, in photod.json or the environment:
#
#   "trustedProxies": ["127.0.0.1", "::1"]      Trust the forwarding headers of this proxy.
#   "allowedHosts": ["photos.example"]          The host name that browsers ask for.
#   "cache": {"allowPublic": true}              Mark frames that were requested with v= as public.
#
# Varnish stores only what photod marks as public: frames with v=, as long as there are no tokens. It serves a stored
# frame without asking photod, even after its asset was deleted or the first token was created. Then empty the cache:
#
#   varnishadm ban "obj.status != 0"
vcl 4.1;

backend photod {
    .host = "127.0.0.1";
    .port = "8080";
    # Or the socket of config/photod.socket:
    # .path = "/run/photod.sock";
    # Longer than changes.streamHeartbeatSeconds (15), and than a frame takes. The parameter pipe_timeout limits pipes.
    .first_byte_timeout = 300s;
    .between_bytes_timeout = 300s;
}

sub vcl_recv {
    # Replace forwarding headers that the client sent, because photod trusts them. The client's address is that of the
    # PROXY protocol, if it is used.
    unset req.http.Forwarded;
    set req.http.X-Forwarded-For = client.ip;
    set req.http.X-Forwarded-Host = req.http.Host;
    # "https" if TLS ends before Varnish:
    set req.http.X-Forwarded-Proto = "http";

    # Requests with bodies: the connection becomes a pipe. With `pass`, an upload would be passed on as it arrives too, but
    # Varnish reads no response before the body is complete, and an upload that photod refuses early would get 503.
    if (req.http.Content-Length ~ "[1-9]" || req.http.Transfer-Encoding) {
        return (pipe);
    }
    # Originals and archives: a pipe too, because they can be large. With `pass`, Varnish reads a response as fast as it
    # can, and keeps what a slow client has not read yet in memory that -s does not limit. photod decodes the path, so a
    # path with % may be one of these.
    if (req.url ~ "^[^?]*(%|/(archive|data)/*([?]|$))") {
        return (pipe);
    }
    # Varnish applies Range itself, but only if it is a single range, and also to other methods than GET: other requests
    # with Range would get 416 or 503. Without the field, the client gets the whole response.
    if (req.method != "GET" || req.http.Range !~ "^bytes=([0-9]{1,15}-[0-9]{0,15}|-[1-9][0-9]{0,14})$") {
        unset req.http.Range;
    }
    # Everything else is passed on as it arrives: events and degraded frames reach the client at once.
    if (req.method != "GET" && req.method != "HEAD") {
        return (pass);
    }
    # A final frame with its version. A requestID or a signature would be a new object each time; the other delivery
    # modes send several frames.
    if (req.url !~ "^/v1/assets/[^/?]+/image\?(?:[^#]*&)?v=." ||
        req.url ~ "(requestID|signature|multipart|deliveryMode=(opportunistic|fastFormat))") {
        return (pass);
    }
    # A response to a request with credentials is for that caller only.
    if (req.http.Authorization || req.http.Cookie ~ "(^|;\s*)photod-session=") {
        return (pass);
    }
    # Cookies of other programs on the same host don't change a frame.
    unset req.http.Cookie;
    return (hash);
}

sub vcl_pipe {
    # One request only: further requests on this connection would bypass vcl_recv, and could forge the client's address.
    set bereq.http.Connection = "close";
    return (pipe);
}

sub vcl_backend_response {
    if (bereq.uncacheable) {
        return (deliver);
    }
    # Private frames, problems and redirects: ask photod each time, without waiting for the same request of another client.
    if (beresp.status != 200 || beresp.http.Cache-Control !~ "(^|[ ,])public([ ,]|$)") {
        set beresp.ttl = 120s;
        set beresp.uncacheable = true;
        return (deliver);
    }
    # The lifetime comes from Cache-Control (a year). Varnish keeps one object for each variant by Vary: photod sends
    # Vary: Accept with format=auto, and Vary: Origin with corsOrigins.
    set beresp.grace = 0s;
    return (deliver);
}

sub vcl_deliver {
    # Shows whether a frame came from the cache. Remove it if clients should not see that.
    if (obj.hits > 0) {
        set resp.http.X-Cache = "HIT";
    } else {
        set resp.http.X-Cache = "MISS";
    }
}
