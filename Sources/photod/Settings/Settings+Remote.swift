import ObjectStores
import OriginalDownloads

/// `s3.*`
struct S3Settings: Sendable {
  /// Empty: Amazon's endpoint of the region.
  var endpoint = ""
  var region = "us-east-1"
  var usesPathStyle = false
  /// Empty: the environment.
  var credentialsFile = ""
}

/// `remote.*`
struct RemoteSettings: Sendable {
  /// Empty: the host of the library.
  var allowedHosts: [String] = []
  var allowsPrivateAddresses = false
  var limits = RemoteLimits()
  var headBytes: Int64 = 2 << 30
}

extension Settings {
  static let remoteTable: [Setting] = [
    Setting(
      "s3.endpoint", .text(\.s3.endpoint),
      """
      Address of the object store for a library s3://BUCKET/PREFIX, as https://HOST or https://HOST:PORT. Empty: the one \
      of Amazon S3 in s3.region.
      """,
      advice: "Set it for any other store with the API of S3."),
    Setting(
      "s3.region", .text(\.s3.region),
      "Region of the bucket. It is part of the signature of each request.",
      advice: "Set it to the region of the bucket; many other stores accept us-east-1."),
    Setting(
      "s3.pathStyle", .flag(\.s3.usesPathStyle),
      "Address the bucket as https://HOST/BUCKET instead of https://BUCKET.HOST.",
      advice: "Set it to true for stores that have no host name for each bucket."),
    Setting(
      "s3.credentialsFile", .text(\.s3.credentialsFile),
      """
      File with the access key and its secret, in the form of ~/.aws/credentials; the section [default] is used. Only \
      its owner may be able to read it (mode 600). Empty: the variables AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and, for \
      temporary credentials, AWS_SESSION_TOKEN. Credentials are read at start, and appear in no log and no response.
      """,
      advice: "Set it for a service, whose environment other programs may see."),
    Setting(
      "remote.allowedHosts", .list(\.remote.allowedHosts),
      """
      Hosts that photod may send requests to for a remote library, without ports. Empty: the host of the library. \
      photod does not start if the library's host is not in the list. Redirects are never followed.
      """,
      advice: "Set it if the setting library comes from a less trusted source than this one."),
    Setting(
      "remote.allowPrivateAddresses", .flag(\.remote.allowsPrivateAddresses),
      """
      Connect to a remote store whose address is private, link-local or this machine's own. Without this setting, such \
      an address is refused even if a public name resolves to it.
      """,
      advice: "Set it to true for a store in your own network."),
    Setting(
      "remote.connections", .number(\.remote.limits.transfers.connections, 1...1000),
      "Maximum number of connections to the remote store.",
      advice: "Lower it if the store limits them; raise it, together with originals.downloads, for a distant store."),
    Setting(
      "remote.connectSeconds", .number(\.remote.limits.transfers.connectTimeout.wholeSeconds, 1...3600, .seconds),
      "Maximum time until a connection to the remote store is open, including the lookup of its name and TLS.",
      advice: "Raise it for a store behind a slow network."),
    Setting(
      "remote.stallSeconds", .number(\.remote.limits.transfers.stallTimeout.wholeSeconds, 1...3600, .seconds),
      "Maximum time without a byte from the remote store. After that, the request is repeated, or fails.",
      advice: "Raise it for a store that reads from tapes or cold storage."),
    Setting(
      "remote.operationSeconds", .number(\.remote.limits.retries.operationTimeout.wholeSeconds, 1...3600, .seconds),
      "Maximum time for a list, or for the size and date of one object (HEAD), including all repetitions.",
      advice: "Raise it together with remote.stallSeconds."),
    Setting(
      "remote.readSeconds", .number(\.remote.limits.retries.readTimeout.wholeSeconds, 1...86_400, .seconds),
      """
      Maximum time for the download of one original, or the upload of one file to a bucket, including all repetitions.
      """,
      advice: "Raise it for long videos over slow networks."),
    Setting(
      "remote.prefetchConnections", .number(\.caching.windowDownloads, 0...1000),
      """
      Maximum number of originals of a remote library that are downloaded at the same time before they are requested: \
      for caching managers, and after those for keepOriginal. One place of originals.downloads stays free for requests. \
      0: nothing is downloaded in advance.
      """,
      advice: "Raise it for a distant store, or set it to 0 if downloads cost money."),
    Setting(
      "remote.prefetchBytesPerSecond",
      .number(\.originals.windowBytesPerSecond, 0...(1 << 40), .bytesPerSecond),
      """
      Maximum rate of all downloads that no request waits for (remote.prefetchConnections), together. They also pause \
      while a request waits for another original. 0: no limit.
      """,
      advice: "Set it to half of what the network can carry."),
  ]

  static let originalsTable: [Setting] = [
    Setting(
      "originals.diskBytes", .number(\.originals.diskBytes.asInt, (1 << 20)...(1 << 50), .bytes),
      """
      Maximum size of the originals of a remote library that are kept in the data folder, those on their way included. \
      The least recently used ones are evicted first. An original that is larger than this gets 507.
      """,
      advice: "Raise it so that it holds the originals that are used in a week, and at least the longest video."),
    Setting(
      "originals.keptPercent", .number(\.kept.percentOfDisk, 0...95),
      """
      Share of originals.diskBytes, in percent, for originals that clients keep on this machine (keepOriginal). Those of \
      the newest photographs are kept; the rest is treated like all other originals.
      """,
      advice: "Raise it if keepOriginal is used for most of the library; requests for other originals use the rest."),
    Setting(
      "originals.headBytes", .number(\.remote.headBytes.asInt, 0...(1 << 50), .bytes),
      """
      Maximum size of the heads of originals that scans keep in the data folder: about 50 KiB for each picture with an \
      embedded thumbnail, which can then be shown without a download. The least recently used ones are evicted first. \
      0: none.
      """,
      advice: "Raise it to 50 KiB for each picture of the library."),
    Setting(
      "originals.downloads", .number(\.originals.downloads, 1...1000),
      "Maximum number of originals that are downloaded at the same time.",
      advice: "Raise it, together with remote.connections, if one download does not fill the network."),
    Setting(
      "originals.waiting", .number(\.originals.waiting, 1...100_000),
      "Maximum number of originals that wait for their download to begin; one more gets 503 with Retry-After.",
      advice: "Raise it if many clients open different originals at the same time."),
  ]
}
