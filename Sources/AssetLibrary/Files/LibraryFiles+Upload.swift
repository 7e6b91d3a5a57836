// What is uploaded. In this order, so that whatever ends this process, there is a whole photograph or none:
//
//     written and checked, without a name      nothing is left of it
//     made sure of, named, the name made sure of      the next scan finds it, if nothing after this happens
//     recorded in the catalogue, answered

import Foundation
import GRDB
import ImageCodec
import LibraryFolder
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// What became of an upload.
package struct Upload: Sendable {
  package let asset: Asset
  /// It is new; else the same content was there already.
  package let isNew: Bool
}

extension LibraryFiles {
  /// Begins to receive a file.
  ///
  /// - Parameter length: how long it will be, where that is known.
  package func receive(length: Int64?) throws(LibraryFilesError) -> IncomingFile {
    if isReadOnly { throw .readOnly }
    let file = try calling { () throws(SystemError) in
      try IncomingFile(in: root.open([], isFolder: true), root: root, reserveBytes: options.reserveBytes)
    }
    try file.checkSpace(for: length ?? 0)
    return file
  }

  /// Makes an asset of a file that was received whole, durably, unless the principal may see one of the same content.
  ///
  /// - Parameter name: what the sender calls it.
  package func add(
    _ file: IncomingFile, named name: String?, for principal: Principal
  ) throws(LibraryFilesError) -> Upload {
    let opened = try calling { () throws(SystemError) in try file.file() }
    let media: ProbedMedia
    let ending: String
    do throws(CodecError) {
      media = try probe.media(of: opened, at: UploadName.file(name, ending: ""))
      ending = MediaFormat(uniformTypeIdentifier: media.uniformTypeIdentifier)?.fileEnding ?? "bin"
    } catch {
      throw LibraryFilesError(error)
    }
    if let asset = try asset(like: opened, media, for: principal) { return Upload(asset: asset, isNew: false) }
    // Before anybody waits for us.
    try calling { () throws(SystemError) in try file.sync() }
    fault(.synced)
    let turn = try takeTurn()
    defer { turn.end() }
    // Another upload of the same may have been quicker.
    if let asset = try asset(like: opened, media, for: principal) { return Upload(asset: asset, isNew: false) }
    let name = UploadName.file(name, ending: ending)
    let wanted = options.template.path(
      for: name, date: media.date.moment, camera: media.cameraModel, zone: timeZone)
    let (path, isOurs) = try place(file, opened, at: wanted)
    do throws(LibraryFilesError) {
      let asset = try record(media, at: path, for: principal)
      fault(.recorded)
      return Upload(asset: asset, isNew: true)
    } catch {
      guard isOurs else { throw error }
      // Nobody knows of it: it goes again, or the sender who tries once more has it twice.
      do throws(SystemError) {
        try root.open(FilePath.folder(of: path), isFolder: true).remove(FilePath.name(of: path))
      } catch {
        logger.error("a file without an asset could not be removed", metadata: ["path": "\(display(path))"])
      }
      throw error
    }
  }

  /// Gives it this path, or one beside it. Returns which, and whether the file there is this one: it may be one of the same
  /// content that nobody knows of, as a process leaves that ends before it tells the catalogue.
  private func place(
    _ file: IncomingFile, _ opened: LibraryFile, at wanted: [UInt8]
  ) throws(LibraryFilesError) -> (path: [UInt8], isOurs: Bool) {
    let folderPath = FilePath.folder(of: wanted)
    let folder = try calling { () throws(SystemError) in try root.madeFolder(folderPath) }
    var file = file
    for attempt in 1...Self.mostAlternatives {
      let name = FilePath.alternative(attempt, to: FilePath.name(of: wanted))
      let path = FilePath.join(folderPath, name)
      do throws(SystemError) {
        do throws(SystemError) {
          try file.place(in: folder, as: name)
        } catch {
          guard error.code == EXDEV else { throw error }
          // Another disk is mounted there.
          file = try file.copy(to: folder, at: folderPath)
          try file.place(in: folder, as: name)
        }
        fault(.named)
        try folder.sync()
        fault(.placed)
        return (path, true)
      } catch {
        if error.code != EEXIST { throw LibraryFilesError(error, at: wanted) }
        if try isStray(path, like: opened) { return (path, false) }
      }
    }
    throw .failed(path: wanted, SystemError(code: EEXIST))
  }

  private func isStray(_ path: [UInt8], like file: LibraryFile) throws(LibraryFilesError) -> Bool {
    let isKnown = try read { db in
      try Int.fetchOne(db, sql: "SELECT 1 FROM file WHERE path = ?", arguments: [Data(path)]) != nil
    }
    guard !isKnown, let other = try? root.open(path), other.isRegularFile, Self.isSame(file, other) else {
      return false
    }
    try calling { () throws(SystemError) in try other.sync() }
    return true
  }

  private func record(
    _ media: ProbedMedia, at path: [UInt8], for principal: Principal
  ) throws(LibraryFilesError) -> Asset {
    // What it is in its place: a scan compares with that.
    let identity = try calling { () throws(SystemError) in try root.open(path).identity }
    var identifier: LocalIdentifier?
    do throws(AssetSourceError) {
      try catalogue.change { db, token in
        var writer = try AssetWriter(db, token: token)
        identifier = try writer.asset(of: ProbedFile(path: path, identity: identity, finding: .media(media))).identifier
        try writer.finish()
      }
      // Whoever sent it may be told of it, whatever else of the library there is for him.
      let sender = Principal(name: principal.name, scopes: principal.scopes)
      guard let identifier, let asset = try catalogue.asset(identifier, for: sender) else {
        throw .catalogueFailed("an asset that was made is not there")
      }
      do throws(AssetSourceError) {
        try catalogue.refreshMoments(zone: timeZone)
      } catch {
        // The next scan does it.
        logger.warning("moments could not be made anew", metadata: ["error": "\(error)"])
      }
      return asset
    } catch {
      throw .catalogue(error)
    }
  }

  // MARK: The same content

  /// An asset that the principal may see, one of whose files holds the same bytes.
  private func asset(
    like file: LibraryFile, _ media: ProbedMedia, for principal: Principal
  ) throws(LibraryFilesError) -> Asset? {
    guard let fingerprint = media.fingerprint else { return nil }
    let candidates = try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT localIdentifier, file.path FROM file JOIN asset ON asset.id = file.asset
            WHERE fingerprint = ? AND size = ? ORDER BY file.id LIMIT 64
            """), arguments: [fingerprint.data, file.size]
      ).map { (identifier: LocalIdentifier($0[0]), path: try TrashRecord.bytes($0, at: 1)) }
    }
    for candidate in candidates {
      let asset: Asset?
      do throws(AssetSourceError) {
        asset = try catalogue.asset(candidate.identifier, for: principal)
      } catch {
        throw .catalogue(error)
      }
      // The fingerprint is of both ends; what lies between is looked at here.
      guard let asset, let other = try? root.open(candidate.path), other.isRegularFile else { continue }
      if Self.isSame(file, other) { return asset }
    }
    return nil
  }

  private static func isSame(_ one: LibraryFile, _ other: LibraryFile) -> Bool {
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

  /// As many bytes as the buffer takes, or as there are; `nil` where they can't be read.
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

  /// Removes what uploads of a process before this one left.
  func removeLeftOvers() {
    guard !isReadOnly else { return }
    do throws(SystemError) {
      try IncomingFile.removeLeftOvers(of: root)
    } catch {
      logger.warning("left-overs of uploads could not be removed", metadata: ["error": "\(error)"])
    }
  }

  private func calling<Value>(_ body: () throws(SystemError) -> Value) throws(LibraryFilesError) -> Value {
    do throws(SystemError) { return try body() } catch { throw LibraryFilesError(error) }
  }
}

extension LibraryFilesError {
  /// Why a file that was received is no picture or video.
  fileprivate init(_ error: CodecError) {
    switch error {
    case .unsupported(let what): self = .notMedia(what)
    case .readFailed(let code): self = .failed(path: [], SystemError(code: code))
    case .outOfMemory: self = .failed(path: [], SystemError(code: ENOMEM))
    case .malformed, .truncated, .limitExceeded, .encodingFailed, .stopped: self = .damagedMedia(error.description)
    }
  }
}
