// Deleting and restoring, as far as files are concerned. Each step can be the last one that this process makes: what it
// leaves is put right by `recover`.

import Foundation
import GRDB
import LibraryFolder
import Logging
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension LibraryFiles {
  /// Writes the intents of changes and moves their files. Blocks for as long as the disk takes, and for as long as others
  /// move files; not within a transaction.
  ///
  /// - Parameter principal: what it may not see is not there.
  package func prepare(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> PreparedFileChanges {
    if changes.isEmpty { return PreparedFileChanges(steps: [], turn: nil) }
    if isReadOnly { throw FileChangeFailure(index: 0, reason: .readOnly) }
    let turn: FilesTurn
    do throws(LibraryFilesError) {
      turn = try takeTurn()
      // A start does that too, but this list may be quicker.
      try putRightWhatIsUnderWay()
    } catch {
      throw FileChangeFailure(index: 0, reason: error)
    }
    var steps: [PreparedFileChanges.Step] = []
    do throws(FileChangeFailure) {
      // All intents before the first file moves, in one transaction.
      steps = try intend(changes, for: principal)
      fault(.intended)
      for (index, step) in steps.enumerated() {
        do throws(LibraryFilesError) {
          try moveFiles(of: step)
        } catch {
          throw FileChangeFailure(index: index, reason: error)
        }
      }
    } catch {
      revert(PreparedFileChanges(steps: steps, turn: turn))
      throw error
    }
    return PreparedFileChanges(steps: steps, turn: turn)
  }

  /// Moves the files of changes that were prepared, and not committed, to where they were.
  package func revert(_ changes: PreparedFileChanges) {
    defer { changes.end() }
    for step in changes.steps.reversed() {
      guard let id = step.trash else { continue }
      do throws(LibraryFilesError) {
        guard let record = try read({ try TrashRecord.find(id, $0) }) else { continue }
        try putRight(record)
      } catch {
        // The intent is still there: the next start tries again.
        logger.error("files could not be moved back", metadata: ["error": "\(error)"])
      }
    }
  }

  /// Ends what a process before this one left half way: to be called at start, before the first scan. Files are where the
  /// catalogue says then.
  package func recover() throws(LibraryFilesError) {
    removeLeftOvers()
    guard try read({ try !TrashRecord.underWay($0).isEmpty }) else { return }
    if isReadOnly { throw .readOnly }
    let turn = try takeTurn()
    defer { withExtendedLifetime(turn) {} }
    try putRightWhatIsUnderWay()
  }

  /// With the turn: an intent that is found is nobody's.
  private func putRightWhatIsUnderWay() throws(LibraryFilesError) {
    for record in try read({ try TrashRecord.underWay($0) }) {
      logger.notice(
        "a change of files was left half way",
        metadata: [
          "asset": "\(record.identifier)", "state": "\(record.state.rawValue)",
        ])
      try putRight(record)
    }
  }

  /// Removes for good what has been in the trash for longer than it is kept.
  ///
  /// - Returns: how many assets went.
  @discardableResult
  package func purge(
    now: Timestamp = Timestamp(milliseconds: Int64(Date().timeIntervalSince1970 * 1000)), stop: StopFlag = StopFlag()
  ) throws(LibraryFilesError) -> Int {
    let limit = now.milliseconds - Int64(options.trashDays) * 86_400_000
    var count = 0
    while !stop.isRaised {
      if isReadOnly { return count }
      let turn = try takeTurn()
      defer { withExtendedLifetime(turn) {} }
      // A few at a time, so that nobody waits long for his turn.
      let records = try read { try TrashRecord.deleted(before: limit, limit: 16, $0) }
      if records.isEmpty { break }
      try write { db in for record in records { try record.become(.purging, db) } }
      for record in records {
        fault(.purging)
        try purge(record)
      }
      count += records.count
    }
    if count > 0 { logger.info("purged the trash", metadata: ["assets": "\(count)"]) }
    return count
  }

  // MARK: Steps

  /// Checks every change, and writes the intents of those that move files.
  private func intend(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> [PreparedFileChanges.Step] {
    var steps: [PreparedFileChanges.Step] = []
    var intents: [(inout Int64, Database) throws -> Void] = []
    for (index, change) in changes.enumerated() {
      do throws(LibraryFilesError) {
        switch change {
        case .create(let path): steps.append(.create(try file(at: path)))
        case .delete(let identifier):
          intents.append(try intentToDelete(identifier, for: principal))
          steps.append(.delete(trash: 0))
        case .restore(let identifier):
          intents.append(try intentToRestore(identifier, for: principal))
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

  private func intentToDelete(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(LibraryFilesError) -> (inout Int64, Database) throws -> Void {
    let isThere: Bool
    do throws(AssetSourceError) {
      isThere = try catalogue.asset(identifier, for: principal) != nil
    } catch {
      throw .catalogue(error)
    }
    guard isThere else { throw .noSuchAsset(identifier) }
    let rows = try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT file.id, file.path FROM file JOIN asset ON asset.id = file.asset WHERE localIdentifier = ?
          ORDER BY isPrimary DESC, role, file.id
          """, arguments: [identifier.rawValue]
      ).map { (id: $0[0] as Int64, path: try TrashRecord.bytes($0, at: 1)) }
    }
    // One whose path begins with NUL is somewhere, and nobody knows where.
    let files = rows.filter { $0.path.first != 0 }
    let places: [TrashFolder.Place]
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

  private func intentToRestore(
    _ identifier: LocalIdentifier, for principal: Principal
  ) throws(LibraryFilesError) -> (inout Int64, Database) throws -> Void {
    let found = try read(for: principal) { db, part -> TrashRecord? in
      guard let record = try TrashRecord.find(identifier, db), record.state == .trashed else { return nil }
      return try record.isSeen(in: part, db) ? record : nil
    }
    guard let record = found else { throw .notInTrash(identifier) }
    guard let first = record.places.first, first.number == 0 else { throw .noSuchFile([]) }
    var places: [TrashFolder.Place] = []
    for place in record.places {
      guard isThere(place.trashPath) else {
        if place.number == 0 { throw .noSuchFile(place.trashPath) }
        continue
      }
      var place = place
      place.path = try freePath(like: place.path)
      places.append(place)
    }
    return { [places] id, db in
      id = record.id
      try record.become(.restoring, db)
      for place in record.places {
        if let place = places.first(where: { $0.number == place.number }) {
          try record.note(place, db)
        } else {
          try record.forget(place, db)
        }
      }
    }
  }

  /// A file of the library that is to be an asset.
  private func file(at path: [UInt8]) throws(LibraryFilesError) -> ProbedFile {
    // Scans do not look into hidden folders, and what they do not meet they take for gone.
    let isHidden = FilePath.folder(of: path).split(separator: UInt8(ascii: "/")).contains {
      $0.first == UInt8(ascii: ".")
    }
    guard !isHidden, isThere(path) else { throw .noSuchFile(path) }
    let file = probe.probe(WalkedFile(path: path, identity: .unknown, changed: 0))
    if case .unreadable(let reason) = file.finding { throw .notMedia(reason) }
    return file
  }

  private func moveFiles(of step: PreparedFileChanges.Step) throws(LibraryFilesError) {
    guard let id = step.trash, let record = try read({ try TrashRecord.find(id, $0) }) else { return }
    for place in record.places {
      switch step {
      case .delete:
        // What is gone already is deleted.
        if try !move(place.path, to: place.trashPath) { try write { try record.forget(place, $0) } }
      case .restore:
        if try !move(place.trashPath, to: place.path) { throw .noSuchFile(place.trashPath) }
      case .create: break
      }
      fault(.moved)
    }
    // A list that fails makes it again.
    if case .restore = step { for place in record.places { trash.removeFolder(of: place.trashPath) } }
  }

  /// Ends an intent that was not committed, whichever of its files were moved.
  private func putRight(_ record: TrashRecord) throws(LibraryFilesError) {
    switch record.state {
    case .deleting: try undelete(record)
    case .restoring:
      for place in record.places where !isThere(place.trashPath) {
        _ = try move(place.path, to: place.trashPath)
      }
      try write { try record.become(.trashed, $0) }
    case .purging: try purge(record)
    case .trashed: return
    }
    fault(.putRight)
  }

  /// The files of an asset that was not deleted after all go back.
  private func undelete(_ record: TrashRecord) throws(LibraryFilesError) {
    var newPaths: [(old: [UInt8], new: [UInt8])] = []
    for place in record.places where isThere(place.trashPath) {
      // Somebody may have put another file there meanwhile.
      let path = try freePath(like: place.path)
      if path != place.path {
        newPaths.append((place.path, path))
        var place = place
        place.path = path
        try write { try record.note(place, $0) }
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
          try record.forget(db)
        } else {
          // A scan that did not find the files has taken it for gone.
          guard let record = try TrashRecord.find(record.id, db) else { return }
          if record.places.first?.number == 0 { _ = try record.putBack(&writer) } else { try record.forget(db) }
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
    try write { try record.forget($0) }
    fault(.purged)
  }

  // MARK: Small things

  var trash: TrashFolder { TrashFolder(root: root) }

  func takeTurn() throws(LibraryFilesError) -> FilesTurn {
    do throws(SystemError) {
      return try FilesTurn(dataFolder: catalogue.dataFolder)
    } catch {
      throw LibraryFilesError(error)
    }
  }

  /// False: there is nothing to move.
  private func move(_ from: [UInt8], to: [UInt8]) throws(LibraryFilesError) -> Bool {
    do throws(SystemError) {
      return try trash.move(from, to: to)
    } catch {
      throw LibraryFilesError(error, at: from)
    }
  }

  /// Whether something has this name, be it a link that leads nowhere.
  func isThere(_ path: [UInt8]) -> Bool {
    (try? root.open(FilePath.folder(of: path), isFolder: true).entry(FilePath.name(of: path))) != nil
  }

  /// This path, or one beside it whose name is free. It may be taken by the time that it is used; then that fails.
  func freePath(like path: [UInt8]) throws(LibraryFilesError) -> [UInt8] {
    let folder = FilePath.folder(of: path)
    for attempt in 1...Self.mostAlternatives {
      let candidate = FilePath.join(folder, FilePath.alternative(attempt, to: FilePath.name(of: path)))
      if !isThere(candidate) { return candidate }
    }
    throw .failed(path: path, SystemError(code: EEXIST))
  }

  /// Names that are tried beside one that is taken.
  static let mostAlternatives = 10_000

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

  /// A transaction that is no change of the library.
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
  /// The row of its intent, where it has one.
  var trash: Int64? {
    switch self {
    case .delete(let trash), .restore(let trash): trash
    case .create: nil
    }
  }
}

extension LibraryFilesError {
  /// What a system call's failure means for whoever asked.
  init(_ error: SystemError, at path: [UInt8] = []) {
    switch error.code {
    case ENOSPC, EDQUOT: self = .insufficientStorage
    case EROFS: self = .readOnly
    default: self = .failed(path: path, error)
    }
  }
}
