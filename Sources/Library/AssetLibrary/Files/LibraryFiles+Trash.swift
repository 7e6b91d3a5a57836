// Moves files to the trash and back, and purges them. The process may end after any step; `recover` then restores a
// consistent state.

import Foundation
import GRDB
import LibraryFolder
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// Writes the intents of changes and moves their files. Blocks on the disk and on other callers that move files; must
  /// not be called within a transaction.
  ///
  /// - Parameter principal: assets that it may not see do not exist.
  package func prepare(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> PreparedFileChanges {
    if changes.isEmpty { return PreparedFileChanges(steps: [], lock: nil) }
    if isReadOnly { throw FileChangeFailure(index: 0, reason: .readOnly) }
    let lock: LibraryFilesLock
    do throws(LibraryFilesError) {
      lock = try acquireLock()
      // Start-up does this too, but this call may come first.
      try recoverPending()
    } catch {
      throw FileChangeFailure(index: 0, reason: error)
    }
    var steps: [PreparedFileChanges.Step] = []
    do throws(FileChangeFailure) {
      // All intents are written in one transaction before the first file moves.
      steps = try writeIntents(changes, for: principal)
      fault(.intended)
      for (index, step) in steps.enumerated() {
        do throws(LibraryFilesError) {
          try moveFiles(of: step)
        } catch {
          throw FileChangeFailure(index: index, reason: error)
        }
      }
    } catch {
      revert(PreparedFileChanges(steps: steps, lock: lock))
      throw error
    }
    return PreparedFileChanges(steps: steps, lock: lock)
  }

  /// Moves the files of prepared but uncommitted changes back.
  package func revert(_ changes: PreparedFileChanges) {
    defer { changes.end() }
    for step in changes.steps.reversed() {
      guard let id = step.trash else { continue }
      do throws(LibraryFilesError) {
        guard let record = try read({ try TrashRecord.find(id, $0) }) else { continue }
        try recover(record)
      } catch {
        // The intent remains, so the next start tries again.
        logger.error("moving files back failed", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Completes or reverts the changes that a previous process left unfinished. Call at start, before the first scan.
  /// Afterwards the files match the catalogue.
  package func recover() throws(LibraryFilesError) {
    removeAbandonedUploads()
    guard try read({ try !TrashRecord.pending($0).isEmpty }) else { return }
    if isReadOnly { throw .readOnly }
    let lock = try acquireLock()
    defer { withExtendedLifetime(lock) {} }
    try recoverPending()
  }

  /// Call with the lock held: then no running process owns a remaining intent.
  private func recoverPending() throws(LibraryFilesError) {
    for record in try read({ try TrashRecord.pending($0) }) {
      logger.notice(
        "recovering unfinished file change",
        metadata: [
          "asset": "\(record.identifier)", "state": "\(record.state.rawValue)",
        ])
      try recover(record)
    }
  }

  /// Deletes assets permanently that were in the trash for longer than `trashDays`.
  ///
  /// - Returns: the number of purged assets.
  @discardableResult
  package func purge(
    now: Timestamp = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), stop: StopFlag = StopFlag()
  ) throws(LibraryFilesError) -> Int {
    let limit = now.milliseconds - Int64(options.trashDays) * 86_400_000
    var count = 0
    while !stop.isRaised {
      if isReadOnly { return count }
      let lock = try acquireLock()
      defer { withExtendedLifetime(lock) {} }
      // In small batches, because other callers wait for the lock.
      let records = try read { try TrashRecord.deleted(before: limit, limit: 16, $0) }
      if records.isEmpty { break }
      try write { db in for record in records { try record.setState(.purging, db) } }
      for record in records {
        fault(.purging)
        try purge(record)
      }
      count += records.count
    }
    if count > 0 { logger.info("trash purged", metadata: ["assets": "\(count)"]) }
    return count
  }

  // MARK: Steps

  /// Checks every change, and writes the intents of those that move files.
  private func writeIntents(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> [PreparedFileChanges.Step] {
    var steps: [PreparedFileChanges.Step] = []
    var intents: [(inout Int64, Database) throws -> Void] = []
    for (index, change) in changes.enumerated() {
      do throws(LibraryFilesError) {
        switch change {
        case .create(let path): steps.append(.create(try file(at: path)))
        case .delete(let identifier):
          intents.append(try deletionIntent(identifier, for: principal))
          steps.append(.delete(trash: 0))
        case .restore(let identifier):
          intents.append(try restorationIntent(identifier, for: principal))
          steps.append(.restore(trash: 0))
        }
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
    var index = 0
    do throws(LibraryFilesError) {
      try write { db in
        var next = 0
        for place in steps.indices where steps[place].trash != nil {
          index = place
          var id: Int64 = 0
          try intents[next](&id, db)
          next += 1
          if case .delete = steps[place] {
            steps[place] = .delete(trash: id)
          } else {
            steps[place] = .restore(trash: id)
          }
        }
      }
    } catch {
      throw FileChangeFailure(index: index, reason: error)
    }
    return steps
  }

  private func deletionIntent(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(LibraryFilesError) -> (inout Int64, Database) throws -> Void {
    let isVisible: Bool
    do throws(AssetSourceError) {
      isVisible = try catalogue.asset(identifier, for: principal) != nil
    } catch {
      throw .catalogue(error)
    }
    guard isVisible else { throw .noSuchAsset(identifier) }
    let rows = try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT file.id, file.path FROM file JOIN asset ON asset.id = file.asset WHERE localIdentifier = ?
          ORDER BY isPrimary DESC, role, file.id
          """, arguments: [identifier.rawValue]
      ).map { (id: $0[0] as Int64, path: try TrashRecord.bytes($0, at: 1)) }
    }
    // A path that begins with NUL is a placeholder: the real path is unknown.
    let files = rows.filter { $0.path.first != 0 }
    let places: [TrashFolder.StoredFile]
    do throws(SystemError) {
      places = try trash.places(for: files.map(\.path), in: Array(Base64URL.randomIdentifier().utf8))
    } catch {
      throw LibraryFilesError(error, at: files.first?.path ?? [])
    }
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    return { id, db in
      let asset = try Int64.fetchOne(
        db, sql: "SELECT id FROM asset WHERE localIdentifier = ?", arguments: [identifier.rawValue])
      guard let asset, try TrashRecord.find(identifier, db) == nil else {
        throw LibraryFilesError.noSuchAsset(identifier)
      }
      id = try TrashRecord.insert(identifier, asset: asset, files: files.map(\.id), places: places, now: now, db)
    }
  }

  private func restorationIntent(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(LibraryFilesError) -> (inout Int64, Database) throws -> Void {
    let found = try read(for: principal) { db, part -> TrashRecord? in
      guard let record = try TrashRecord.find(identifier, db), record.state == .trashed else { return nil }
      return try record.isVisible(in: part, db) ? record : nil
    }
    guard let record = found else { throw .notInTrash(identifier) }
    guard let first = record.places.first, first.number == 0 else { throw .noSuchFile([]) }
    var places: [TrashFolder.StoredFile] = []
    for place in record.places {
      guard exists(place.trashPath) else {
        if place.number == 0 { throw .noSuchFile(place.trashPath) }
        continue
      }
      var place = place
      place.path = try availablePath(like: place.path)
      places.append(place)
    }
    return { [places] id, db in
      id = record.id
      try record.setState(.restoring, db)
      for place in record.places {
        if let place = places.first(where: { $0.number == place.number }) {
          try record.updatePaths(place, db)
        } else {
          try record.delete(place, db)
        }
      }
    }
  }

  /// Probes a file in the library that becomes an asset.
  private func file(at path: [UInt8]) throws(LibraryFilesError) -> ProbedFile {
    // Scans skip hidden folders, and would remove the asset as missing.
    let isHidden = LibraryPath.folder(of: path).split(separator: UInt8(ascii: "/")).contains {
      $0.first == UInt8(ascii: ".")
    }
    guard !isHidden, exists(path) else { throw .noSuchFile(path) }
    let file = probe.probe(WalkedFile(path: path, identity: .unknown, changed: 0))
    if case .unreadable(let reason) = file.finding { throw .notMedia(reason) }
    return file
  }

  private func moveFiles(of step: PreparedFileChanges.Step) throws(LibraryFilesError) {
    guard let id = step.trash, let record = try read({ try TrashRecord.find(id, $0) }) else { return }
    for place in record.places {
      switch step {
      case .delete:
        // A file that is already gone counts as deleted.
        if try !move(place.path, to: place.trashPath) { try write { try record.delete(place, $0) } }
      case .restore:
        if try !move(place.trashPath, to: place.path) { throw .noSuchFile(place.trashPath) }
      case .create: break
      }
      fault(.moved)
    }
    // A list that fails makes the folder again.
    if case .restore = step { for place in record.places { trash.removeFolder(of: place.trashPath) } }
  }

  /// Ends an uncommitted intent, whichever of its files were moved.
  private func recover(_ record: TrashRecord) throws(LibraryFilesError) {
    switch record.state {
    case .deleting: try revertDeletion(record)
    case .restoring:
      for place in record.places where !exists(place.trashPath) {
        _ = try move(place.path, to: place.trashPath)
      }
      try write { try record.setState(.trashed, $0) }
    case .purging: try purge(record)
    case .trashed: return
    }
    fault(.recovered)
  }

  /// If a deletion was not committed, moves the files of the asset back.
  private func revertDeletion(_ record: TrashRecord) throws(LibraryFilesError) {
    var newPaths: [(old: [UInt8], new: [UInt8])] = []
    for place in record.places where exists(place.trashPath) {
      // Another file may have taken the path meanwhile.
      let path = try availablePath(like: place.path)
      if path != place.path {
        newPaths.append((place.path, path))
        var place = place
        place.path = path
        try write { try record.updatePaths(place, $0) }
      }
      _ = try move(place.trashPath, to: path)
    }
    do throws(AssetSourceError) {
      try catalogue.change { db, token in
        var writer = try AssetWriter(db, token: token)
        let asset = try Int64.fetchOne(
          db, sql: "SELECT id FROM asset WHERE localIdentifier = ?", arguments: [record.identifier.rawValue])
        if let asset {
          for (old, new) in newPaths {
            let row = try Int64.fetchOne(
              db, sql: "SELECT id FROM file WHERE path = ? AND asset = ?", arguments: [Data(old), asset])
            if let row { try writer.move(row: row, to: new) }
          }
          try record.delete(db)
        } else {
          // A scan has removed the asset because its files were missing.
          guard let record = try TrashRecord.find(record.id, db) else { return }
          if record.places.first?.number == 0 { _ = try record.restore(&writer) } else { try record.delete(db) }
        }
        try writer.finish()
      }
    } catch {
      throw .catalogue(error)
    }
    for place in record.places { trash.removeFolder(of: place.trashPath) }
  }

  private func purge(_ record: TrashRecord) throws(LibraryFilesError) {
    for place in record.places {
      do throws(SystemError) {
        try trash.remove(place.trashPath)
      } catch {
        throw LibraryFilesError(error, at: place.trashPath)
      }
      fault(.removed)
    }
    try write { try record.delete($0) }
    fault(.purged)
  }

  // MARK: Helpers

  var trash: TrashFolder { TrashFolder(root: root) }

  func acquireLock() throws(LibraryFilesError) -> LibraryFilesLock {
    do throws(SystemError) {
      return try LibraryFilesLock(dataFolder: catalogue.dataFolder)
    } catch {
      throw LibraryFilesError(error)
    }
  }

  /// Returns false if there is no file to move.
  private func move(_ from: [UInt8], to: [UInt8]) throws(LibraryFilesError) -> Bool {
    do throws(SystemError) {
      return try trash.move(from, to: to)
    } catch {
      throw LibraryFilesError(error, at: from)
    }
  }

  /// Whether this path exists, even as a broken link.
  func exists(_ path: [UInt8]) -> Bool {
    (try? root.open(LibraryPath.folder(of: path), isFolder: true).entry(LibraryPath.name(of: path))) != nil
  }

  /// This path, or a free name next to it. If it is taken before it is used, that use fails.
  func availablePath(like path: [UInt8]) throws(LibraryFilesError) -> [UInt8] {
    let folder = LibraryPath.folder(of: path)
    for attempt in 1...Self.maximumNameAttempts {
      let candidate = LibraryPath.join(folder, LibraryPath.alternative(attempt, to: LibraryPath.name(of: path)))
      if !exists(candidate) { return candidate }
    }
    throw .failed(path: path, SystemError(code: EEXIST))
  }

  /// Number of alternative names that are tried.
  static let maximumNameAttempts = 10_000

  func read<Value>(_ body: (Database) throws -> Value) throws(LibraryFilesError) -> Value {
    do throws(AssetSourceError) {
      return try catalogue.read(body)
    } catch {
      throw .catalogue(error)
    }
  }

  private func read<Value>(
    for principal: Principal, _ body: (Database, LibraryPart) throws -> Value
  ) throws(LibraryFilesError) -> Value {
    do throws(AssetSourceError) {
      return try catalogue.read(for: principal, body)
    } catch {
      throw .catalogue(error)
    }
  }

  /// A transaction that creates no change token.
  private func write(_ body: (Database) throws -> Void) throws(LibraryFilesError) {
    do {
      try catalogue.pool.write(body)
    } catch let error as LibraryFilesError {
      throw error
    } catch {
      throw .catalogue(Catalogue.translated(error))
    }
  }
}

extension PreparedFileChanges.Step {
  /// The row of the intent, if there is one.
  var trash: Int64? {
    switch self {
    case .delete(let trash), .restore(let trash): trash
    case .create: nil
    }
  }
}

extension LibraryFilesError {
  /// Maps the error of a system call to the error for the caller.
  init(_ error: SystemError, at path: [UInt8] = []) {
    switch error.code {
    case ENOSPC, EDQUOT: self = .insufficientStorage
    case EROFS: self = .readOnly
    default: self = .failed(path: path, error)
    }
  }
}
