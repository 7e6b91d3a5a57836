# Varnish in front of photod: a shared cache of frames. A sample: replace the backend's address. Varnish does no TLS: put
# hitch, HAProxy or nginx before it, which pass the client's address with the PROXY protocol (varnishd -a :6086,PROXY).
# `varnishd -C -f FILE` checks it, `scripts/check-proxies` tries it. Tested with Varnish 7.1.
#
# Settings of photod that belong to it, in photod.json or the environment:
#
#   "trustedProxies": ["127.0.0.1", "::1"]      Trust the forwarding headers of this proxy.
#   "allowedHosts": ["photos.example"]          The host name that browsers ask for.
#   "cache": {"allowPublic": true}              Mark frames that were requested with v= as public.
#
# Varnish stores only what photod marks as public: frames with v=, as long as there are no tokens. It serves a stored
# frame without asking photod, even after its asset was deleted or a token was made. Then empty the cache:
#
#   varnishadm ban "obj.status != 0"
vcl 4.1;

backend photod {
    .host = "127.0.0.1";
    .port = "8080";
    # Or the socket of config/photod.socket:
    # .path = "/run/photod.sock";
    # Longer than changes.streamHeartbeatSeconds (15), and than a large upload takes to be synced to disk.
    .first_byte_timeout = 300s;
    .between_bytes_timeout = 300s;
}

sub vcl_recv {
    # Replace forwarding headers that the client sent: photod believes them. The client's address is that of the PROXY
    # protocol, if it is used.
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
    # Answers to credentials are for one caller.
    if (req.http.Authorization || req.http.Cookie ~ "(^|;\s*)photod-session=") {
        return (pass);
    }
    # Cookies of other programs on the same host don't change a frame.
    unset req.http.Cookie;
    return (hash);
}

sub vcl_pipe {
    # Only one request: another one on this connection would not come through vcl_recv.
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
