import HTTPServer
import ImageCodec

extension PhotoAPI {
  /// The settings of the API.
  package struct Options: Sendable {
    /// Peers that are reverse proxies: their forwarding headers are trusted.
    var proxies: PeerSet
    /// Maximum number of byte ranges in one request. A request with more ranges gets the whole representation.
    var maximumRanges: Int
    /// Let shared caches store images that are visible without a credential.
    var allowsPublicCaching: Bool
    /// The setting `allowAnonymous`: until the first token is created, pages of every origin may read public resources
    /// (``AccessPolicy/allowsAllOrigins(_:)``).
    var allowsAnonymous: Bool
    /// Hide the names of people from callers without the scope `people`.
    var namesNeedScope: Bool
    /// The name of the library's time zone.
    var timeZone: String
    /// Limits for reading image files, here for reading metadata.
    var codec: CodecLimits
    /// Maximum duration of one fetch.
    var fetchDeadline: Duration
    /// Limits for uploads.
    var uploads: UploadLimits
    /// The presets of image requests.
    var presets: ImagePresets
    /// Limits for archives.
    var archives: ArchiveLimits

    package init(
      proxies: PeerSet, maximumRanges: Int, allowsPublicCaching: Bool, allowsAnonymous: Bool = false,
      namesNeedScope: Bool = false, timeZone: String = "UTC",
      codec: CodecLimits,
      fetchDeadline: Duration,
      uploads: UploadLimits = UploadLimits(), presets: ImagePresets = ImagePresets(),
      archives: ArchiveLimits = ArchiveLimits()
    ) {
      self.proxies = proxies
      self.maximumRanges = maximumRanges
      self.allowsPublicCaching = allowsPublicCaching
      self.allowsAnonymous = allowsAnonymous
      self.namesNeedScope = namesNeedScope
      self.timeZone = timeZone
      self.codec = codec
      self.fetchDeadline = fetchDeadline
      self.uploads = uploads
      self.presets = presets
      self.archives = archives
    }
  }
}
