import Foundation
import ObjectStores

/// Where a library is.
enum LibraryLocation: Sendable {
  /// A folder of this machine, with symbolic links resolved.
  case folder(String)
  case remote(RemoteLocation)

  /// The folder or the address, for messages.
  var name: String {
    switch self {
    case .folder(let path): path
    case .remote(let location): location.name
    }
  }
}

/// A remote store that a setting names: its address is valid, and its host is allowed. No request was sent to it yet.
struct RemoteLocation: Sendable {
  private enum Kind: Sendable {
    case bucket(S3Bucket)
    case origin(String)
  }

  /// The address without slashes at its end. For messages, and for the name of the data folder.
  let name: String
  /// The part of the daemon that uses the store, for messages.
  private let user: String
  private let kind: Kind
  private let rules: TransferRules
  var limits: RemoteLimits
  private let credentialsFile: String

  var isBucket: Bool { if case .bucket = kind { true } else { false } }

  static func isRemote(_ library: String) -> Bool {
    ["s3://", "https://", "http://"].contains { library.hasPrefix($0) }
  }

  /// - Parameters:
  ///   - address: `s3://BUCKET/PREFIX` or `https://HOST/PREFIX`.
  ///   - user: "the library", for messages.
  init(_ address: String, of user: String, _ settings: Settings) throws {
    var name = address
    while name.hasSuffix("/"), !name.hasSuffix("//") { name.removeLast() }
    self.name = name
    self.user = user
    let host: String
    if name.hasPrefix("s3://") {
      let (s3, path) = (settings.s3, name.dropFirst(5))
      let bucketName = String(path.prefix { $0 != "/" })
      guard
        let bucket = S3Bucket(
          name: bucketName, prefix: String(path.dropFirst(bucketName.count)), region: s3.region,
          endpoint: s3.endpoint.isEmpty ? nil : s3.endpoint, usesPathStyle: s3.usesPathStyle)
      else {
        throw CommandFailure(
          description: "\(user) \(name) is not a bucket: use s3://BUCKET/PREFIX, with s3.endpoint as "
            + "https://HOST:PORT; an endpoint that is an IP address needs s3.pathStyle")
      }
      (kind, host) = (.bucket(bucket), bucket.host)
    } else {
      guard let address = HTTPObjectStore.host(of: name) else {
        throw CommandFailure(
          description: "\(user) \(Self.withoutCredentials(name)) is not an address: use https://HOST/PREFIX, "
            + "without user, password, query and fragment")
      }
      (kind, host) = (.origin(name), address)
    }
    let allowed = settings.remote.allowedHosts.map { $0.lowercased() }
    guard allowed.isEmpty || allowed.contains(host) else {
      throw CommandFailure(description: "the host \(host) of \(user) is not in remote.allowedHosts")
    }
    rules = TransferRules(allowedHosts: [host], allowsPrivateAddresses: settings.remote.allowsPrivateAddresses)
    limits = settings.remote.limits
    credentialsFile = settings.s3.credentialsFile
  }

  /// The address as it may be shown: someone may have put a password into it.
  private static func withoutCredentials(_ address: String) -> String {
    guard let at = address.lastIndex(of: "@"), let start = address.range(of: "://") else { return address }
    return address[..<start.upperBound] + "…" + address[at...]
  }

  /// The store. Reads the credentials of a bucket.
  func store() throws -> any ObjectStore {
    switch kind {
    case .origin(let address):
      guard let store = HTTPObjectStore(address: address, rules: rules, limits: limits) else {
        preconditionFailure("the address was valid before")
      }
      return store
    case .bucket(let bucket):
      let credentials: S3Credentials
      do throws(S3Credentials.Problem) {
        credentials =
          try credentialsFile.isEmpty
          ? S3Credentials(environment: ProcessInfo.processInfo.environment) : S3Credentials(file: credentialsFile)
      } catch {
        let place = credentialsFile.isEmpty ? "the environment" : "s3.credentialsFile \(credentialsFile)"
        throw CommandFailure(description: "credentials of \(user) \(name), from \(place): \(error)")
      }
      return S3ObjectStore(bucket: bucket, credentials: credentials, rules: rules, limits: limits)
    }
  }
}
