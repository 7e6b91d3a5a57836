import HTTPServer
import ImageCodec

extension PhotoAPI {
  /// The settings of the API.
  package struct Options: Sendable {
    /// Host names of the daemon that are accepted in addition to loopback names and IP addresses.
    package var allowedHosts: [String]
    /// Peers that are reverse proxies: their forwarding headers are trusted.
    package var proxies: PeerSet
    /// Origins whose pages may send read requests.
    package var corsOrigins: [String]
    /// Origins whose pages may send all requests, including writes.
    package var corsWriteOrigins: [String]
    /// Maximum number of byte ranges in one request. A request with more ranges gets the whole representation.
    package var maximumRanges: Int
    /// Let shared caches store images that are visible without a credential.
    package var allowsPublicCaching: Bool
    /// Limits for reading image files, here for reading metadata.
    package var codec: CodecLimits
    /// Maximum duration of one fetch.
    package var fetchDeadline: Duration
    /// Limits for uploads.
    package var uploads: UploadLimits

    package init(
      allowedHosts: [String], proxies: PeerSet, corsOrigins: [String], corsWriteOrigins: [String], maximumRanges: Int,
      allowsPublicCaching: Bool, codec: CodecLimits, fetchDeadline: Duration,
      uploads: UploadLimits = UploadLimits()
    ) {
      self.allowedHosts = allowedHosts
      self.proxies = proxies
      self.corsOrigins = corsOrigins
      self.corsWriteOrigins = corsWriteOrigins
      self.maximumRanges = maximumRanges
      self.allowsPublicCaching = allowsPublicCaching
      self.codec = codec
      self.fetchDeadline = fetchDeadline
      self.uploads = uploads
    }
  }
}
