import Foundation
import HTTPServer
import LibraryCatalogue
import Logging
import PhotoAPI
import Telemetry

#if canImport(Glibc)
  import Glibc
#endif

/// The values of the setting `logFormat`.
enum LogFormatSetting: String, Sendable, CaseIterable {
  /// By where the log goes.
  case automatic
  case logfmt, json

  /// The form of this process's log.
  var format: LogFormat {
    switch self {
    case .automatic: isatty(STDERR_FILENO) == 1 ? .logfmt : .json
    case .logfmt: .logfmt
    case .json: .json
    }
  }

  /// The name, for the settings table, which checks names before it sets them.
  fileprivate var word: String {
    get { rawValue }
    set { self = Self(rawValue: newValue) ?? self }
  }
}

extension Settings {
  /// The settings without a group.
  static let generalTable: [Setting] = [
    Setting(
      "listen", .list(\.listen),
      """
      Addresses to listen on, any number of them: ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH. Port 0 lets the system \
      choose a free port. An address that other machines can reach requires a token (photod token create) or \
      allowAnonymous.
      """,
      advice: "Set it to 0.0.0.0:8080 to serve other machines, or to a socket file behind a proxy on this machine.",
      validate: Settings.checkListen),
    Setting(
      "library", .text(\.library),
      """
      The folder with the photographs. photod writes into it only when files are uploaded, imported, deleted or \
      restored; readOnly forbids that. photod export-metadata writes into it if it is the given folder. Or a remote \
      library: s3://BUCKET/PREFIX, a bucket of Amazon S3 or of another store with its API (s3.*), for which the same \
      holds; or https://HOST/PREFIX, a web server that lists the files in PREFIX/manifest.json, which photod only \
      reads. Originals of a remote library are downloaded when they are needed (originals.*).
      """,
      advice: "Required: set it here, with PHOTOD_LIBRARY or with --library."),
    Setting(
      "data", .text(\.data),
      """
      The folder for the catalogue and the caches. It must not be inside the library, except in a hidden folder, and \
      the library must not be inside of it. Empty: a separate folder for each library in $XDG_DATA_HOME/photod or \
      ~/.local/share/photod. A scan can rebuild the list of files, but not identifiers, favourites and albums: back \
      them up with `photod backup`, which works while the daemon runs.
      """,
      advice: "Set it for a service, which has no home folder, or to use a faster disk."),
    Setting(
      "allowAnonymous", .flag(\.allowAnonymous),
      """
      Serve requests without credentials on every address in listen. It has an effect only until the first token is \
      created (photod token create); from then on each request needs credentials. Without tokens and without this \
      setting, photod listens only on loopback addresses and socket files. Anonymous callers on other machines can \
      read everything except places, and change nothing.
      """,
      advice: "Set it only on a network where everyone may see all photographs."),
    Setting(
      "namesNeedScope", .flag(\.namesNeedScope),
      """
      Hide the names of people from callers without the scope people: in assets, regions, searches and metadata, and in \
      the XMP of originals, whose places are removed too. Titles, captions and keywords stay.
      """,
      advice: "Set it if albums are shared with callers who must not learn who is in the photographs."),
    Setting(
      "allowedHosts", .list(\.allowedHosts),
      """
      Host names under which browsers may reach the daemon, in addition to localhost and IP addresses, for example \
      photos.example. Requests with any other name in Host are refused (421), which prevents DNS rebinding.
      """,
      advice: "Add the public name when a proxy forwards it.", isReloadable: true,
      validate: Settings.checkAllowedHosts),
    Setting(
      "trustedProxies", .list(\.trustedProxies),
      """
      Proxies whose forwarding headers (Forwarded, X-Forwarded-Host) photod trusts: addresses, networks such as \
      10.0.0.0/8, or unix for all socket files. Connections of these peers are not limited per address. As soon as any \
      proxy is listed, no caller gets the rights of a local administrator. Each proxy must delete or replace the \
      fields Forwarded, X-Forwarded-Host and X-Forwarded-Proto that clients send; many proxies pass Forwarded on.
      """,
      advice: """
        If a proxy runs on this machine, list it (127.0.0.1 and ::1): otherwise, a request that it forwards without \
        forwarding headers gets these rights as long as there are no tokens.
        """,
      validate: Settings.checkTrustedProxies),
    Setting(
      "corsOrigins", .list(\.corsOrigins),
      """
      Origins whose pages may read, written as browsers send them: https://photos.example, with the port if it is not \
      the scheme's default. Reading means GET, HEAD and the requests that change nothing in the library: fetch \
      results, image batches, archives, previews of adjustments, transient collections and caching managers. Pages \
      load pictures with fetch, or with an img element that has the attribute crossorigin.
      """,
      advice: "Add the origin of each other site whose pages show photographs.", isReloadable: true,
      validate: Settings.checkCORSOrigins),
    Setting(
      "corsWriteOrigins", .list(\.corsWriteOrigins),
      """
      Origins whose pages may read, upload, change the library, sign URLs and sign in, within the scopes of the token \
      that they send. As long as there are no tokens, a page of such an origin has all rights of the local \
      administrator. Same format as corsOrigins.
      """,
      advice: "Add the origin of a web application that manages the library, and of no other page.", isReloadable: true,
      validate: Settings.checkCORSWriteOrigins),
    Setting(
      "readOnly", .flag(\.files.isReadOnly),
      """
      Never write into the library: uploads, deletions and restorations are refused (409) for every caller. A library \
      on a read-only mount or on a web server is read-only without this setting.
      """,
      advice: "Set it to true if another program manages the folder or the bucket."),
    Setting(
      "timeZone", .text(\.timeZone),
      """
      Time zone of dates without an offset, and of the days of pictures whose file gives no offset, as a tz \
      database name such as Europe/Vienna. Assets whose date depends on it have \
      creationDateSource=metadataInLibraryZone. After a change, the next scan reads every file again.
      """,
      advice: "Set it to the zone where most of the photographs were taken.",
      validate: Settings.checkTimeZone),
    Setting(
      "logLevel", .choice(\.logLevel.word, Logger.Level.allCases.map(\.rawValue)),
      "Lowest level that is logged. The log goes to standard error. The access log does not depend on it.",
      advice: "Set it to debug to investigate a problem.", isReloadable: true),
    Setting(
      "logFormat", .choice(\.logFormat.word, LogFormatSetting.allCases.map(\.rawValue)),
      """
      Form of the lines of the log and of the access log. logfmt: key=value pairs. json: one JSON object a line. \
      automatic: logfmt if standard error is a terminal, otherwise json.
      """,
      advice: "Set it to logfmt if people read the log of a service without a program that formats JSON."),
    Setting(
      "accessLog", .flag(\.accessLog),
      """
      Log one line for each request to standard error: method, path without the query, status, bytes, milliseconds, \
      render stages, request identifier and the identifiers of the caller's trace.
      """,
      advice: "Set it to false if a proxy keeps the access log."),
    Setting(
      "memoryBudgetBytes", .number(\.memoryBudgetBytes, 0...(1 << 50), .bytes),
      """
      Memory that all running renders together may hold. The memory of a render is estimated before it starts; it \
      waits until the budget has room. A render that could never fit is refused (422). 0: 512 MiB or a quarter of the \
      machine's memory, whichever is smaller.
      """,
      advice: "Raise it if very large originals are refused."),
    Setting(
      "drainTimeoutSeconds", .number(\.drainTimeout.wholeSeconds, 0...86_400, .seconds),
      "Time for responses in progress to finish after SIGTERM; connections that are still open then are closed.",
      advice: "Keep it below TimeoutStopSec of the systemd unit.", isReloadable: true),
    Setting(
      "presets", .table(\.presets),
      """
      Presets of image requests in addition to the built-in ones (thumbnail, aspectRatioThumbnail, fullScreenImage, \
      fullResolutionImage): a member for each name with parameters as in a query, such as \
      {\"card\": \"targetSize=400x300&contentMode=aspectFill\"}. On the command line and in the environment, write \
      card?targetSize=400x300&contentMode=aspectFill; write a comma inside of a value as %2C. At most 64.
      """,
      advice: "Add one for each size that your pages use, so that a size changes in one place.",
      validate: { settings in
        do throws(ImagePresets.Failure) {
          _ = try ImagePresets(settings.presets)
        } catch {
          throw SettingsError(description: "presets: \(error)")
        }
      }),
  ]
}

extension Settings {
  func listenAddresses() throws(SettingsError) -> [ListenAddress] {
    var addresses: [ListenAddress] = []
    for text in listen {
      guard let address = ListenAddress(text) else {
        throw SettingsError(
          description: "listen: \(text) is not a listen address; use ADDRESS:PORT, [ADDRESS]:PORT or unix:PATH")
      }
      addresses.append(address)
    }
    return addresses
  }

  func proxies() throws(SettingsError) -> PeerSet {
    do throws(MalformedPeer) {
      return try PeerSet(trustedProxies)
    } catch {
      throw SettingsError(description: "trustedProxies: \(error)")
    }
  }

  @Sendable private static func checkListen(_ settings: inout Settings) throws {
    _ = try settings.listenAddresses()
  }

  @Sendable private static func checkTrustedProxies(_ settings: inout Settings) throws {
    _ = try settings.proxies()
  }

  @Sendable private static func checkAllowedHosts(_ settings: inout Settings) throws {
    for host in settings.allowedHosts {
      do throws(UnmatchableNameError) {
        try OriginRules.check(host: host)
      } catch {
        throw SettingsError(description: "allowedHosts: \(error)")
      }
    }
  }

  @Sendable private static func checkCORSOrigins(_ settings: inout Settings) throws {
    try checkOrigins(settings.corsOrigins, "corsOrigins")
  }

  @Sendable private static func checkCORSWriteOrigins(_ settings: inout Settings) throws {
    try checkOrigins(settings.corsWriteOrigins, "corsWriteOrigins")
  }

  private static func checkOrigins(_ origins: [String], _ key: String) throws(SettingsError) {
    for origin in origins {
      do throws(UnmatchableNameError) {
        try OriginRules.check(origin: origin)
      } catch {
        throw SettingsError(description: "\(key): \(error)")
      }
    }
  }

  @Sendable private static func checkTimeZone(_ settings: inout Settings) throws {
    guard TimeZoneName.isKnown(settings.timeZone) else {
      throw SettingsError(description: "timeZone: \(LibraryError.unknownTimeZone(settings.timeZone))")
    }
  }
}

extension Logger.Level {
  /// The name of the level, for the settings table, which checks names before it sets them.
  fileprivate var word: String {
    get { rawValue }
    set { self = Self(rawValue: newValue) ?? self }
  }
}
