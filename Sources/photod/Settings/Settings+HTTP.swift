import HTTPServer

/// `http.*`
struct HTTPSettings: Sendable {
  var server = ServerLimits()
  /// 0: one for each core.
  var eventLoops = 0
  var maximumRanges = 16
}

extension Settings {
  static let httpTable: [Setting] = [
    Setting(
      "http.eventLoops", .number(\.http.eventLoops, 0...256),
      """
      Event loops (threads) that serve connections. 0: one for each core that the process may use. More than 128 count \
      as 128.
      """,
      advice: "Lower it to leave CPU to other services."),
    Setting(
      "http.connections", .number(\.http.server.connections, 1...1_000_000),
      """
      Maximum number of open connections in total. At the limit, photod accepts no connection until another closes. Four \
      connections are counted as five file descriptors, and photod needs some hundred more: if the limit of open files \
      (LimitNOFILE of the systemd unit) is lower, it allows fewer connections, and says so in the log.
      """,
      advice: "Raise it, together with LimitNOFILE, for more clients."),
    Setting(
      "http.connectionsPerAddress", .number(\.http.server.connectionsPerAddress, 1...1_000_000),
      """
      Maximum number of open connections of one IPv4 address or one IPv6 /64 network; one more is closed at once. \
      Trusted proxies have no limit.
      """,
      advice: "Lower it on the public Internet; raise it if many clients share one address."),
    Setting(
      "http.requestsPerConnection", .number(\.http.server.requestsPerConnection, 1...(1 << 40)),
      "Maximum number of requests on one connection before it is closed.",
      advice: "Lower it if a load balancer should distribute long-lived connections again."),
    Setting(
      "http.requestLineBytes", .number(\.http.server.parser.requestLineBytes, 64...(1 << 20), .bytes),
      "Maximum length of the request line; a longer one gets 414.",
      advice: "Raise it if clients send long predicates in the URL."),
    Setting(
      "http.headerBytes", .number(\.http.server.parser.headerBytes, 256...(1 << 20), .bytes),
      "Maximum size of the request line and all header fields together; more get 431.",
      advice: "Raise it if a proxy adds large fields, such as long cookies."),
    Setting(
      "http.headerFields", .number(\.http.server.parser.headerFields, 4...10_000),
      "Maximum number of header fields; more get 431.",
      advice: "Raise it if a proxy adds many fields."),
    Setting(
      "http.bodyBytes", .number(\.http.server.parser.bodyBytes, 0...(1 << 32), .bytes),
      "Maximum size of a request body; a larger one gets 413. Uploads have their own limit, upload.fileBytes.",
      advice: "Raise it if clients send larger change lists or image batches."),
    Setting(
      "http.requestBufferBytes", .number(\.http.server.requestBufferBytes, (256 << 10)...(1 << 40), .bytes),
      """
      Memory for the requests of all connections together: bodies (their full length as soon as it is announced) and \
      heads of more than 2 KB. A request that does not fit gets 503 with Retry-After. The minimum depends on other \
      settings, because the longest request must fit: 256 KiB + 2 * (http.requestLineBytes + http.headerBytes) + \
      http.bodyBytes, or instead of that http.bodyWindowBytes if it is larger. With their defaults it is 1360 KiB.
      """,
      advice: "Raise it if many clients send large change lists or upload at the same time.",
      validate: { settings in
        // The buffer must hold at least one request, including the spare capacity of its arrays.
        let limits = settings.http.server
        let headBytes = 2 * (limits.parser.requestLineBytes + limits.parser.headerBytes)
        let requestBytes = max(limits.parser.bodyBytes, limits.bodyWindowBytes) + headBytes + (256 << 10)
        try Settings.check(limits.requestBufferBytes, in: requestBytes...(1 << 40), "http.requestBufferBytes")
      }),
    Setting(
      // The buffer must hold a page of a thousand assets, with room to spare.
      "http.responseBufferBytes", .number(\.http.server.responseBufferBytes, (4 << 20)...(1 << 40), .bytes),
      """
      Memory for responses that clients have not read yet, over all connections: all of a JSON body of more than 2 KB, \
      16 KiB of a large original (up to 384 KiB where places are removed from it), and 384 KiB of an archive. \
      Originals and archives leave a quarter of it to JSON. Frames are not counted. A response that does not fit is \
      replaced by 503 with Retry-After.
      """,
      advice: """
        Raise it if photod_http_response_buffer_bytes stays near three quarters of this limit, or with \
        archives.concurrent: 32 slow archives use three quarters of the default.
        """),
    Setting(
      "http.headerTimeoutSeconds", .number(\.http.server.headerTimeout.wholeSeconds, 1...86_400, .seconds),
      "Longest time from the first to the last byte of a request head; then 408.",
      advice: "Lower it on the public Internet to close slow attackers earlier."),
    Setting(
      "http.bodyTimeoutSeconds", .number(\.http.server.bodyTimeout.wholeSeconds, 1...86_400, .seconds),
      """
      Longest time from the end of the head to the end of the body; then 408. For uploads: longest time without a new \
      byte.
      """,
      advice: "Raise it for clients on very slow networks."),
    Setting(
      "http.minimumBodyBytesPerSecond",
      .number(\.http.server.minimumBodyBytesPerSecond, 0...(1 << 40), .bytesPerSecond),
      """
      Average rate that an upload must reach after http.bodyTimeoutSeconds; a slower one gets 408. 0: no minimum.
      """,
      advice: "Lower it for clients on very slow networks."),
    Setting(
      "http.bodyWindowBytes", .number(\.http.server.bodyWindowBytes, 65_536...(1 << 30), .bytes),
      """
      Memory for the part of an upload that is not yet on disk. When it is full, photod stops reading until the disk \
      catches up. It counts towards http.requestBufferBytes, with another 64 KiB for each upload.
      """,
      advice: "Raise it if uploads are slow although network and disk are fast."),
    Setting(
      "http.keepAliveTimeoutSeconds", .number(\.http.server.keepAliveTimeout.wholeSeconds, 1...86_400, .seconds),
      "Longest idle time between two requests of a connection; then it is closed.",
      advice: "Keep it longer than the idle timeout of a proxy's connection pool."),
    Setting(
      "http.sendTimeoutSeconds", .number(\.http.server.sendTimeout.wholeSeconds, 1...86_400, .seconds),
      "Longest time in which a client takes no byte of a waiting response; then the connection closes.",
      advice: "Raise it for clients on networks with long interruptions."),
    Setting(
      "http.minimumSendBytesPerSecond",
      .number(\.http.server.minimumSendBytesPerSecond, 0...(1 << 40), .bytesPerSecond),
      """
      Average rate at which a slow client must read after http.sendTimeoutSeconds; a slower one is disconnected. 0: no \
      minimum.
      """,
      advice: "Lower it for clients on very slow networks."),
    Setting(
      "http.outputQueueBytes", .number(\.http.server.outputQueueBytes, 0...(1 << 40), .bytes),
      """
      Maximum number of unsent bytes of a streamed response that may wait when its next part is written. With more, \
      the connection closes.
      """,
      advice: "Raise it if clients that request many large frames in one batch are disconnected."),
    Setting(
      "http.lingeringSeconds", .number(\.http.server.lingeringTime.wholeSeconds, 0...86_400, .seconds),
      """
      Time that a refused client may continue to send after the error response, so that it can read the response.
      """,
      advice: "Raise it if clients report a reset connection instead of the error response."),
    Setting(
      "http.maximumRanges", .number(\.http.maximumRanges, 0...1000),
      "Maximum number of byte ranges in one request; a request with more gets the whole frame (200).",
      advice: "Set it to 0 to ignore Range."),
    Setting(
      "http.accessLogBufferBytes", .number(\.http.server.accessLogBufferBytes, 65_536...(1 << 40), .bytes),
      "Memory for access log lines that are not written yet. Further lines are dropped and counted.",
      advice: "Raise it if the log reports dropped lines."),
    Setting(
      "http.backlog", .number(\.http.server.backlog.asInt, 1...65_535),
      """
      Connections that the kernel queues before photod accepts them (listen backlog). The sysctl net.core.somaxconn is \
      an upper limit.
      """,
      advice: "Raise it if many clients connect at the same moment and some are refused."),
  ]
}
