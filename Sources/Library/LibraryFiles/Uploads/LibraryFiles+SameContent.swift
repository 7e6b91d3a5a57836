// Finds assets by content: an upload of a file that the library has adds no asset, and an import leaves out what is in
// the trash or was purged from it.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// An asset that the principal may see, or has made, and that has a file with the same bytes. For a principal without
  /// the read scope the catalogue is not searched, so the response time does not reveal whether the content exists.
  ///
  /// - Parameter partner: the asset that the file is known to belong to. RAW files and videos of other pictures do not
  ///   count: this asset gets a copy of its own.
  func asset(
    like file: LibraryFile, _ media: ProbedMedia, for principal: Principal, asPartOf partner: LocalIdentifier? = nil
  ) throws(LibraryFilesError) -> Asset? {
    try earlierUploadAndPath(like: file, media, for: principal, asPartOf: partner)?.upload.asset
  }

  /// The asset of ``asset(like:_:for:asPartOf:)``, and the path of its file with these bytes.
  package func assetAndPath(
    like file: LibraryFile, _ media: ProbedMedia, for principal: Principal, asPartOf partner: LocalIdentifier? = nil
  ) throws(LibraryFilesError) -> (asset: Asset, path: [UInt8])? {
    let found = try earlierUploadAndPath(like: file, media, for: principal, asPartOf: partner)
    guard let (upload, path) = found else { return nil }
    return (upload.asset, path)
  }

  /// The result of an upload of a file whose content an asset has: one of ``asset(like:_:for:asPartOf:)``.
  func earlierUpload(
    like file: LibraryFile, _ media: ProbedMedia, for principal: Principal
  ) throws(LibraryFilesError) -> UploadedAsset? {
    try earlierUploadAndPath(like: file, media, for: principal, asPartOf: nil)?.upload
  }

  private func earlierUploadAndPath(
    like file: LibraryFile, _ media: ProbedMedia, for principal: Principal, asPartOf partner: LocalIdentifier?
  ) throws(LibraryFilesError) -> (upload: UploadedAsset, path: [UInt8])? {
    guard principal.may(.read), let fingerprint = media.fingerprint else { return nil }
    var candidates = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.files(with: fingerprint, size: file.size)
    }
    if let partner {
      let own = candidates.filter { $0.identifier == partner }
      candidates = own + candidates.filter { $0.identifier != partner }
    }
    for candidate in candidates {
      guard let upload = try earlierUpload(candidate.identifier, for: principal) else { continue }
      let isCompanion = upload.asset.original.path != candidate.path
      if let partner, candidate.identifier != partner, isCompanion { continue }
      // The fingerprint covers both ends of a file; this compares all bytes.
      if try hasSameBytes(file, at: candidate.path) { return (upload, candidate.path) }
    }
    return nil
  }

  private func earlierUpload(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(LibraryFilesError) -> UploadedAsset? {
    func asset(for viewer: Principal) throws(LibraryFilesError) -> Asset? {
      try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.asset(identifier, for: viewer) }
    }
    if let seen = try asset(for: principal) { return UploadedAsset(asset: seen, isNew: false) }
    // A limited caller does not see what it has made, and repeats an upload whose response it did not get.
    guard isUpload(identifier, of: principal) else { return nil }
    let own = try asset(for: principal.seeingEverything)
    return own.map { UploadedAsset(asset: $0, isNew: true, isRepeated: true) }
  }

  /// Whether the trash has a file with the same bytes.
  package func isInTrash(
    _ file: LibraryFile, _ media: ProbedMedia, _ contents: TrashContents
  ) throws(LibraryFilesError) -> Bool {
    guard let fingerprint = media.fingerprint else { return false }
    let paths = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.trashPaths(of: fingerprint, in: contents)
    }
    for path in paths {
      if try hasSameBytes(file, at: path) { return true }
    }
    return false
  }

  /// Whether a file with the same content was purged, and none has come into the library and left it since.
  package func wasPurged(_ file: LibraryFile, _ media: ProbedMedia) throws(LibraryFilesError) -> Bool {
    guard let fingerprint = media.fingerprint else { return false }
    let digests = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.purgedContents(with: fingerprint)
    }
    // Few files are read a second time. One that can't be read is reported when it is copied.
    guard !digests.isEmpty, let digest = try? ContentDigest(of: file) else { return false }
    return digests.contains(digest)
  }

  func hasSameBytes(_ file: LibraryFile, at path: [UInt8]) throws(LibraryFilesError) -> Bool {
    if let bucket {
      guard let found = try bucket.head(path), found.identity.size == file.size else { return false }
      return try object(file).hasBytes(of: found)
    }
    guard let other = try? root.open(path), other.isRegularFile else { return false }
    return Self.hasSameBytes(file, other)
  }

  static func hasSameBytes(_ one: LibraryFile, _ other: LibraryFile) -> Bool {
    guard one.size == other.size else { return false }
    let size = 1 << 20
    var (a, b) = ([UInt8](repeating: 0, count: size), [UInt8](repeating: 0, count: size))
    var offset: Int64 = 0
    while offset < one.size {
      guard let first = fill(&a, one, offset), let second = fill(&b, other, offset), first == second, first > 0,
        memcmp(a, b, first) == 0
      else { return false }
      offset += Int64(first)
    }
    return true
  }

  /// Reads until the buffer is full or the file ends; `nil` on a read error.
  private static func fill(_ buffer: inout [UInt8], _ file: LibraryFile, _ offset: Int64) -> Int? {
    var count = 0
    while count < buffer.count {
      let read = try? buffer.withUnsafeMutableBytes {
        try file.read(into: UnsafeMutableRawBufferPointer(rebasing: $0[count...]), at: offset + Int64(count))
      }
      switch read {
      case .bytes(let more): count += more
      case .end: return count
      default: return nil
      }
    }
    return count
  }
}
