// The catalogue's reads and writes for uploads. Each method that writes is one transaction.

import Foundation
import GRDB
import LibraryFolder
import PhotoModel

extension Catalogue {
  /// Whether a file beside this path may be another part of the same photograph: see ``AssetPairing``.
  package func hasCounterpart(of media: ProbedMedia, at path: [UInt8]) throws(AssetSourceError) -> Bool {
    try read { try AssetPairing.hasCounterpart(of: media, at: path, $0) }
  }

  /// Whether a file has this path, or this path with another extension. Files of the asset that a new file at the path
  /// would join do not count.
  package func isStemTaken(of path: [UInt8], by media: ProbedMedia) throws(AssetSourceError) -> Bool {
    try read { try AssetPairing.isStemTaken(of: path, by: media, $0) }
  }

  /// Whether other photographs, which a new file at this path can't be a part of, have the same path except for the
  /// extension.
  package func hasStrangers(beside path: [UInt8], of media: ProbedMedia) throws(AssetSourceError) -> Bool {
    try read { try AssetPairing.hasStrangers(beside: path, of: media, $0) }
  }

  /// Whether a file at this path would become a part of an asset that the principal sees, and that has the file's name
  /// except for the extension.
  package func isPartOfPhotograph(
    _ media: ProbedMedia, at path: [UInt8], for principal: Principal
  ) throws(AssetSourceError) -> Bool {
    // A limited library is created by its first read.
    try read(for: principal) { _, _ in }
    return try read { db in
      let joinable = try JoinableAssets(visibleTo: principal, db)
      let found = try AssetPairing.find(for: media, at: path, excluding: nil, among: joinable, known: nil, db)
      guard let found else { return false }
      let other = try Data.fetchOne(
        db.cachedStatement(sql: "SELECT path FROM file WHERE id = ?"), arguments: [found.file])
      return other.map { AssetPairing.isSameStem([UInt8]($0), path) } ?? false
    }
  }

  /// The first number in the range whose alternative name (such as `IMG_1-2.jpg`) no known file has; the upper bound if
  /// all are taken. A name also counts as free if its file has the content of the new file: that file may be missing,
  /// and the new one may bring it back. One statement, which looks up each number in the index of paths.
  ///
  /// - Parameters:
  ///   - numbers: all with the same number of digits, so that the names differ in nothing else.
  ///   - path: the path without a number.
  ///   - fingerprint: the new file's; `nil` if the file can't bring a missing one back.
  package func firstFreeNumber(
    in numbers: ClosedRange<Int>, for path: [UInt8], besides fingerprint: FileFingerprint?
  ) throws(AssetSourceError) -> Int {
    let name = LibraryPath.alternative(numbers.lowerBound, to: LibraryPath.name(of: path))
    let end = LibraryPath.split(LibraryPath.name(of: path)).fileExtension
    let start = LibraryPath.join(
      LibraryPath.folder(of: path), Array(name.dropLast(end.count + "\(numbers.lowerBound)".utf8.count)))
    let number = try read { db in
      try Int.fetchOne(
        db.cachedStatement(
          sql: """
            WITH RECURSIVE candidate (number) AS (
              SELECT ?1
              UNION ALL SELECT number + 1 FROM candidate
                WHERE number < ?2 AND EXISTS (
                  SELECT 1 FROM file
                  WHERE path = CAST(?3 || number || ?4 AS BLOB) AND (?5 IS NULL OR fingerprint IS NOT ?5)))
            SELECT max(number) FROM candidate
            """),
        arguments: [numbers.lowerBound, numbers.upperBound, Data(start), Data(end), fingerprint?.data])
    }
    return number ?? numbers.lowerBound
  }

  /// The longest video that becomes a part of a live photo without a content identifier, in seconds.
  package static var maximumPairedVideoSeconds: Double { AssetPairing.maximumPairedVideoSeconds }

  /// The maximum number of files with one fingerprint that an upload is compared with.
  private static let maximumUploadCandidates = 64

  /// The files that may have the same content as an upload: same fingerprint and size.
  ///
  /// - Parameter size: in bytes.
  package func files(
    with fingerprint: FileFingerprint, size: Int64
  ) throws(AssetSourceError) -> [(identifier: LocalIdentifier, path: [UInt8])] {
    try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT localIdentifier, file.path FROM file JOIN asset ON asset.id = file.asset
            WHERE fingerprint = ? AND size = ? ORDER BY file.id LIMIT \(Self.maximumUploadCandidates)
            """), arguments: [fingerprint.data, size]
      ).map { (identifier: LocalIdentifier($0[0]), path: try $0.bytes(1)) }
    }
  }

  /// Adds a file that a principal has uploaded: as an asset of its own, or as a part of an asset that the principal may
  /// see.
  ///
  /// - Returns: the asset. The sender may see it, even if its visibility excludes it.
  package func addUpload(_ file: ProbedFile, for principal: Principal) throws(AssetSourceError) -> Asset {
    let identifier = try createAsset(for: principal) { db, token in
      var writer = try AssetWriter(db, token: token)
      writer.joinable = try JoinableAssets(visibleTo: principal, db)
      let identifier = try writer.asset(of: file).identifier
      try writer.finish()
      return identifier
    }
    return try createdAsset(identifier, for: principal)
  }

  /// The asset that an upload of this principal has become, or that has its content. The principal may see it, even if
  /// its visibility excludes it. Throws `catalogueFailed` if the asset was deleted since.
  package func createdAsset(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(AssetSourceError) -> Asset {
    guard let asset = try self.asset(identifier, for: principal.seeingEverything) else {
      throw .catalogueFailed("a created asset was not found")
    }
    return asset
  }

  /// Creates the asset of an upload, in a transaction of its own. If this throws, nothing is committed.
  ///
  /// - Parameter write: creates the asset in the transaction, and returns its identifier.
  func createAsset(
    for principal: Principal, _ write: (Database, _ token: Int64) throws -> LocalIdentifier
  ) throws(AssetSourceError) -> LocalIdentifier {
    // A limited library is created by its first read. The change below needs its rows.
    if principal.may(.read), principal.visibility != .everything { try read(for: principal) { _, _ in } }
    var identifier: LocalIdentifier?
    try change { db, token in identifier = try write(db, token) }
    guard let identifier else { preconditionFailure("a committed change has run its body") }
    return identifier
  }
}
