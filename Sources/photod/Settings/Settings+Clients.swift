import AccessControl
import ImageService
import LibraryCatalogue
import PhotoAPI

/// `fetch.*` and `fetchResults.*`
struct FetchSettings: Sendable {
  var deadline = Duration.milliseconds(2000)
  var results = FetchResultStore.Limits()
}

/// `changes.*` and `history.*`
struct ChangeSettings: Sendable {
  var lists = ChangeLimits()
  var queueLength = 256
  var streams = ChangeStreams.Limits()
  var history = HistoryLimits()
}

extension Settings {
  static let accessTable: [Setting] = [
    Setting(
      "access.sessions", .number(\.access.sessions, 0...1_000_000),
      """
      Maximum number of browser sessions (POST /v1/session) at a time; one more is refused (429). One token has at \
      most 16; the least recently used one ends when it opens another.
      """,
      advice: "Raise it if more browsers than this are signed in."),
    Setting(
      "access.sessionLeaseSeconds", .number(\.access.sessionLeaseSeconds.asInt, 60...31_536_000, .seconds),
      """
      Time that an unused browser session stays signed in. A session also ends with its token and when the daemon \
      stops.
      """,
      advice: "Lower it if people sign in on shared computers."),
    Setting(
      "access.signedURLLifetimeSeconds", .number(\.access.signedURLSeconds.asInt, 1...315_360_000, .seconds),
      "Longest lifetime of a signed URL (POST /v1/signedURLs, photod token sign).",
      advice: "Lower it to limit how long a leaked URL works; raise it for links in printed or archived pages."),
  ]

  static let fetchTable: [Setting] = [
    Setting(
      "fetch.deadlineMilliseconds", .number(\.fetch.deadline.wholeMilliseconds, 1...3_600_000, .milliseconds),
      "Longest time of one fetch of assets; then it gets 503. Only fetches that no index serves come near it.",
      advice: "Raise it for very large libraries with complex predicates."),
    Setting(
      "fetchResults.handles", .number(\.fetch.results.handles, 0...1_000_000),
      """
      Maximum number of fetch results (POST /v1/fetchResults) at a time, over all clients, and separately of transient \
      collections (POST /v1/transientCollections); one more gets 429.
      """,
      advice: "Raise it if many clients keep lists open at the same time."),
    Setting(
      "fetchResults.handlesPerCaller", .number(\.fetch.results.handlesPerCaller, 0...1_000_000),
      "Maximum number of fetch results of one caller, and separately of its transient collections; one more gets 429.",
      advice: "Raise it if many browsers share a token; callers with tokens of their own then can't rely on a share."),
    Setting(
      "fetchResults.memoryBytes", .number(\.fetch.results.bytes, 0...(1 << 40), .bytes),
      """
      Memory for all fetch results and transient collections together, in addition to memoryBudgetBytes. An asset \
      takes 10 bytes in a fetch result and 4 in a transient collection, a collection 192 and 96. One caller gets at \
      most a half. A new one that does not fit gets 429.
      """,
      advice: "Raise it if many clients keep lists of a large library."),
    Setting(
      "fetchResults.leaseSeconds", .number(\.fetch.results.lease.wholeSeconds, 1...86_400, .seconds),
      "Time that an unused fetch result or transient collection is kept.",
      advice: "Raise it if clients pause for longer between two requests for the same list."),
  ]

  static let cachingTable: [Setting] = [
    Setting(
      "caching.managers", .number(\.caching.managers, 0...100_000),
      """
      Maximum number of caching managers at a time, including the default manager of each caller; one more gets 429.
      """,
      advice: "Raise it if more clients than this scroll at the same time."),
    Setting(
      "caching.managersPerCaller", .number(\.caching.managersPerCaller, 0...100_000),
      """
      Maximum number of caching managers of one caller. The default managers of named clients count; the caller's own \
      default manager does not. A further one gets 429.
      """,
      advice: "Raise it if many browsers or apps share one token."),
    Setting(
      "caching.assetsPerManager", .number(\.caching.assets, 1...100_000),
      """
      Maximum number of frames that one caching manager prepares and keeps at a time. Further frames are left out, and \
      the response says how many.
      """,
      advice: "Raise it if responses report frames that were left out."),
    Setting(
      "caching.totalAssets", .number(\.caching.totalAssets, 1...10_000_000),
      """
      Maximum number of frames that all caching managers together prepare and keep at a time. A sole caller may use all \
      of it; while several callers use it, each can grow only to half. Each frame takes about 1 KB in addition to its \
      pinned bytes.
      """,
      advice: "Raise it together with caching.managers or caching.assetsPerManager."),
    Setting(
      "caching.leaseSeconds", .number(\.caching.lease.wholeSeconds, 1...86_400, .seconds),
      """
      Time that an unused caching manager keeps its frames. A client can choose another lease, of at most \
      caching.maximumLeaseSeconds.
      """,
      advice: "Lower it if managers that clients forgot to delete fill cache.pinnedBytes."),
    Setting(
      "caching.maximumLeaseSeconds", .number(\.caching.maximumLease.wholeSeconds, 1...86_400, .seconds),
      "Maximum lease that a client can choose for a caching manager. It also limits caching.leaseSeconds.",
      advice: "Lower it if clients choose longer leases than cache.pinnedBytes has room for."),
  ]

  static let changesTable: [Setting] = [
    Setting(
      "changes.entriesPerList", .number(\.changes.lists.entries, 1...1_000_000),
      "Maximum number of entries in one change list (POST /v1/changes).",
      advice: "Raise it if a client makes larger changes that must not be split."),
    Setting(
      "changes.assetsPerEntry", .number(\.changes.lists.assetsPerEntry, 1...10_000_000),
      "Maximum number of assets or collections that one entry of a change list may name.",
      advice: "Raise it, together with http.bodyBytes, if clients add more assets than this to an album at once."),
    Setting(
      "changes.titleBytes", .number(\.changes.lists.titleBytes, 1...ChangeLimits.maximumTextBytes, .bytes),
      "Maximum length of the title of an album, a folder or an asset, in UTF-8.",
      advice: "Raise it if real titles are refused."),
    Setting(
      "changes.captionBytes", .number(\.changes.lists.captionBytes, 1...ChangeLimits.maximumTextBytes, .bytes),
      "Maximum length of an asset's caption that a change list sets, in UTF-8.",
      advice: "Raise it if real captions are refused; every list of assets contains them."),
    Setting(
      "changes.keywordsPerAsset", .number(\.changes.lists.keywords, 1...10_000),
      "Maximum number of keywords that a change list gives to an asset.",
      advice: "Raise it if a keyword program assigns more."),
    Setting(
      "changes.keywordBytes", .number(\.changes.lists.keywordBytes, 1...4096, .bytes),
      "Maximum length of a keyword that a change list sets, in UTF-8.",
      advice: "Raise it for keywords that are whole hierarchies."),
    Setting(
      "changes.folderDepth", .number(\.changes.lists.folderDepth, 1...1000),
      "Maximum depth of nested folders.",
      advice: "Raise it if users nest folders more deeply."),
    Setting(
      "changes.membersPerCollection", .number(\.changes.lists.members, 1...100_000_000),
      "Maximum number of members of an album, and of collections in a folder.",
      advice: "Raise it for albums of more than a million photographs."),
    Setting(
      "changes.queueLength", .number(\.changes.queueLength, 1...1_000_000),
      "Maximum number of change lists that may wait; they are executed one after the other. One more gets 503.",
      advice: "Raise it if many clients write at the same time and get 503."),
    Setting(
      "changes.streams", .number(\.changes.streams.streams, 0...1_000_000),
      "Maximum number of change streams (GET /v1/changes/stream) at a time; one more gets 429.",
      advice: "Raise it if more clients than this stay connected."),
    Setting(
      "changes.streamsPerCaller", .number(\.changes.streams.streamsPerCaller, 0...1_000_000),
      "Maximum number of change streams of one caller at a time; one more gets 429.",
      advice: "Raise it if many browsers share a token."),
    Setting(
      "changes.streamHeartbeatSeconds", .number(\.changes.streams.heartbeat.wholeSeconds, 1...3600, .seconds),
      """
      Interval of the comments on an idle change stream. They keep proxies from closing it and detect clients that are \
      gone.
      """,
      advice: "Keep it shorter than the read timeout of the proxy."),
    Setting(
      "changes.streamLagObjects", .number(\.changes.streams.streamLagObjects, 1...1_000_000_000),
      """
      Maximum number of changed objects that the reader of a change stream may lag behind. Beyond this the stream \
      sends a reload event instead, and the client fetches its lists again.
      """,
      advice: "Raise it if clients on slow networks reload often after large changes."),
    Setting(
      "history.retentionDays", .number(\.changes.history.days, 0...36_500, .days),
      "Days of change history to keep. Older change tokens get 410, and the client fetches its lists again.",
      advice: "Raise it if clients are offline for longer."),
    Setting(
      "history.maximumObjects", .number(\.changes.history.objects, 0...1_000_000_000),
      """
      Maximum number of changed objects to keep in the history, about 20 bytes each. The oldest changes are removed \
      first.
      """,
      advice: "Raise it if change tokens get 410 earlier than after history.retentionDays."),
  ]
}
