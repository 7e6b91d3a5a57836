// Moves files to the trash and back, and staged uploads into the library, for change lists. The process may end after
// any step; `recover` then restores a consistent state.

import LibraryCatalogue
import LibraryFolder
import Logging
import PhotoModel
import Primitives

extension LibraryFiles: FileChangePreparing {
  package func prepare(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> PendingFileChanges {
    if changes.isEmpty { return PendingFileChanges(steps: [], lock: nil) }
    if isReadOnly { throw FileChangeFailure(index: 0, reason: .readOnly) }
    let lock: DataFolderLock
    do throws(LibraryFilesError) {
      lock = try acquireLock()
      // Start-up does this too, but this call may come first.
      try recoverUnfinished()
    } catch {
      throw FileChangeFailure(index: 0, reason: error)
    }
    var steps: [PendingFileChanges.Step] = []
    do throws(FileChangeFailure) {
      // All intents are written in one transaction before the first file moves.
      let plans = try plans(changes, for: principal)
      steps = try writeIntents(changes, plans, for: principal)
      fault(.intended)
      // Deletions first: the other steps may make folders, and while a new folder is not scanned, any missing file may
      // have been renamed into it.
      try moveDeletedFiles(of: steps)
      for (index, step) in steps.enumerated() {
        do throws(LibraryFilesError) {
          if let plan = plans[index] {
            steps[index] = .createFromUpload(try placeUpload(plan, steps, for: principal))
          } else {
            try moveRestoredFiles(of: step)
          }
        } catch {
          throw FileChangeFailure(index: index, reason: error)
        }
      }
    } catch {
      revert(PendingFileChanges(steps: steps, lock: lock), commitFailure: nil)
      throw error
    }
    return PendingFileChanges(steps: steps, lock: lock)
  }

  package func revert(_ changes: PendingFileChanges, commitFailure: AssetSourceError?) {
    defer { changes.end() }
    guard changes.steps.contains(where: { $0.trash != nil || $0.upload != nil }) else { return }
    if commitFailure?.mayBeOfSync == true {
      do throws(LibraryFilesError) {
        try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.discardFailedCommit() }
      } catch {
        // The files and their intents stay. The next recovery moves the files back, unless it finds the change
        // committed.
        logger.error("undoing file changes postponed", metadata: ["error": "\(error)"])
        return
      }
    }
    for step in changes.steps.reversed() {
      do throws(LibraryFilesError) {
        try recoverUpload(of: step)
        guard let id = step.trash else { continue }
        guard let record = try record(id) else { continue }
        try recover(record)
      } catch {
        // The intent remains, so the next start tries again.
        logger.error("undoing a file change failed", metadata: ["error": "\(error)"])
      }
    }
  }

  // MARK: Intents

  /// Checks the staged uploads among the changes.
  ///
  /// - Returns: their plans, by the index of the change.
  private func plans(
    _ changes: [FileChange], for principal: Principal
  ) throws(FileChangeFailure) -> [Int: StagedPlan] {
    var plans: [Int: StagedPlan] = [:]
    for (index, change) in changes.enumerated() {
      guard case .createFromUpload(let identifier, let asset, let needsOwnStem, let day) = change else { continue }
      do throws(LibraryFilesError) {
        plans[index] = try plan(
          identifier, beside: asset, needsOwnStem: needsOwnStem, on: day, after: plans, for: principal)
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
    return plans
  }

  /// Checks every change, and writes the intents of those that move files.
  private func writeIntents(
    _ changes: [FileChange], _ plans: [Int: StagedPlan], for principal: Principal
  ) throws(FileChangeFailure) -> [PendingFileChanges.Step] {
    var steps: [PendingFileChanges.Step] = []
    var intents: [(index: Int, intent: TrashIntent)] = []
    var taken = Set(plans.values.compactMap(\.destination.path))
    var deleted: Set<LocalIdentifier> = []
    let restored = Set(
      changes.compactMap { change -> LocalIdentifier? in
        guard case .restore(let identifier) = change else { return nil }
        return identifier
      })
    for (index, change) in changes.enumerated() {
      do throws(LibraryFilesError) {
        // An intent gets its row when it is written.
        switch change {
        case .create(let path):
          let file = try file(at: path)
          steps.append(.create(file, former: try formerFile(of: file)))
        case .delete(let identifier):
          let intent = try deletionIntent(identifier, besides: deleted, restored: restored, for: principal)
          intents.append((index, intent))
          deleted.insert(identifier)
          steps.append(.delete(trash: 0))
        case .restore(let identifier):
          intents.append((index, try restorationIntent(identifier, except: &taken, for: principal)))
          steps.append(.restore(trash: 0))
        case .createFromUpload:
          guard let upload = plans[index]?.upload else { preconditionFailure("every staged upload has a plan") }
          // The content is filled in when the file has moved.
          let content = StagedUploadChange.Content.existing(LocalIdentifier(""))
          steps.append(.createFromUpload(StagedUploadChange(upload: upload, content: content, principal: principal)))
        }
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
    let rows: [Int64]
    do throws(FileChangeFailure) {
      let placements = plans.values.compactMap { plan in
        plan.destination.path.map {
          (plan.upload, StagedUpload.Placement(path: $0, inode: plan.file.identity.inode))
        }
      }
      rows = try catalogue.write(intents.map(\.intent), placing: placements)
    } catch {
      throw FileChangeFailure(index: intents.isEmpty ? 0 : intents[error.index].index, reason: error.reason)
    }
    for ((index, intent), row) in zip(intents, rows) {
      switch intent {
      case .delete: steps[index] = .delete(trash: row)
      case .restore: steps[index] = .restore(trash: row)
      }
    }
    return steps
  }

  /// - Parameters:
  ///   - deleted: the assets that earlier entries of the list delete.
  ///   - restored: the assets that entries of the list restore.
  private func deletionIntent(
    _ identifier: LocalIdentifier, besides deleted: Set<LocalIdentifier>, restored: Set<LocalIdentifier>,
    for principal: Principal
  ) throws(LibraryFilesError) -> TrashIntent {
    let asset = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.asset(identifier, for: principal)
    }
    guard asset != nil else { throw .noSuchAsset(identifier) }
    let files = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.files(of: identifier) }
    for file in files {
      try checkDisk(of: file.path)
      try checkOwnership(of: file.path)
    }
    let sidecars = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.ownSidecars(of: identifier, besides: deleted, restored: restored)
    }
    let folder = Array(Base64URL.randomIdentifier().utf8)
    let trashed: [TrashRecord.File]
    do throws(SystemError) {
      trashed = try TrashFolder.files(at: files.map(\.path), sidecars: sidecars.map(\.path), in: folder) {
        path throws(SystemError) in
        if let bucket { return bucket.trashFolder }
        return try trash.path(for: path)
      }
    } catch {
      throw LibraryFilesError(error, at: files.first?.path ?? [])
    }
    let now = Timestamp.now.milliseconds
    return .delete(identifier, rows: (files + sidecars).map(\.row), files: trashed, now: now)
  }

  /// Throws if the path leads through a link to a folder with the original of another asset, which moving would take
  /// away. A link to the file itself is moved without its target.
  private func checkOwnership(of path: [UInt8]) throws(LibraryFilesError) {
    if bucket != nil { return }
    guard let folder = linkTarget(ofFolder: LibraryPath.folder(of: path)) else { return }
    let name = LibraryPath.name(of: path)
    guard let identity = try? folder.entry(name).identity else { return }
    let others = try inCatalogue { catalogue throws(AssetSourceError) in try catalogue.knownFiles(like: identity) }
    for other in others where other.path != path && LibraryPath.name(of: other.path) == name {
      let place = LibraryPath.folder(of: other.path)
      guard linkTarget(ofFolder: place) == nil, let found = try? root.open(place, isFolder: true) else { continue }
      if found.identity.inode == folder.identity.inode && found.device == folder.device { throw .linkedFile(path) }
    }
  }

  /// The folder at a path, if the path leads through a link.
  private func linkTarget(ofFolder path: [UInt8]) -> LibraryFile? {
    var parent: [UInt8] = []
    for component in path.split(separator: UInt8(ascii: "/")) {
      let entry = try? root.open(parent, isFolder: true).entry(Array(component))
      if entry?.kind == .link { return try? root.open(path, isFolder: true) }
      parent = LibraryPath.join(parent, Array(component))
    }
    return nil
  }

  /// - Parameter taken: the paths, in the library and in the trash, that uploads and earlier restorations of the list
  ///   use. This restoration adds its own.
  private func restorationIntent(
    _ identifier: LocalIdentifier, except taken: inout Set<[UInt8]>, for principal: Principal
  ) throws(LibraryFilesError) -> TrashIntent {
    let found = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.trashRecord(of: identifier, for: principal)
    }
    guard let record = found else { throw .notInTrash(identifier) }
    guard record.isRestorable else { throw .noSuchFile([]) }
    var files: [TrashRecord.File] = []
    // An earlier restoration of the list may take a sidecar of this record.
    for file in record.files where !taken.contains(file.trashPath) {
      guard try exists(file.trashPath) else {
        // The record of a file is dropped only if the file does not exist.
        guard try isMounted(file.trashPath) else { throw .diskMissing(file.path) }
        if file.number == 0 { throw .noSuchFile(file.trashPath) }
        continue
      }
      files.append(file)
    }
    let sidecars = try sharedSidecars(of: record, except: taken)
    files += sidecars.map(\.file)
    taken.formUnion(files.map(\.trashPath))
    return .restore(record, files: try returning(files, except: &taken), sidecars: sidecars)
  }

  /// Probes a file in the library that becomes an asset.
  private func file(at path: [UInt8]) throws(LibraryFilesError) -> ProbedFile {
    guard FileChange.isCanonical(path) else { throw .noSuchFile(path) }
    // Scans skip hidden folders, and would remove the asset as missing.
    let isHidden = LibraryPath.folder(of: path).split(separator: UInt8(ascii: "/")).contains {
      $0.first == UInt8(ascii: ".")
    }
    if isHidden { throw .noSuchFile(path) }
    guard try exists(path) else { throw .noSuchFile(path) }
    try checkDisk(of: path)
    let file = if let bucket { try probe(path, in: bucket) } else { probe.probe(path) }
    if case .unreadable(let reason) = file.finding { throw .notMedia(reason) }
    return file
  }

  /// The known file that was renamed to this one since the last scan. In a bucket nothing is renamed.
  private func formerFile(of file: ProbedFile) throws(LibraryFilesError) -> KnownFile? {
    if bucket != nil { return nil }
    return try inCatalogue { catalogue throws(AssetSourceError) in
      try probe.formerFile(of: file, in: catalogue, logger: logger)
    }
  }

  // MARK: Moving

  /// Moves the file of a staged upload into the library if its content is new.
  ///
  /// - Parameter steps: those of earlier entries have run.
  private func placeUpload(
    _ plan: StagedPlan, _ steps: [PendingFileChanges.Step], for principal: Principal
  ) throws(LibraryFilesError) -> StagedUploadChange {
    let content: StagedUploadChange.Content
    switch plan.destination {
    case .path: content = .placed(try place(plan, for: principal))
    case .existing(let identifier): content = .existing(identifier)
    case .likeEntry(let index):
      guard case .createFromUpload(let earlier) = steps[index] else {
        preconditionFailure("the earlier entry is a staged upload")
      }
      content = earlier.content
    }
    return StagedUploadChange(upload: plan.upload, content: content, principal: principal, partner: plan.partner)
  }

  /// Moves the files of all deletions to the trash.
  private func moveDeletedFiles(of steps: [PendingFileChanges.Step]) throws(FileChangeFailure) {
    var gone: [(index: Int, files: GoneFiles)] = []
    for (index, step) in steps.enumerated() {
      guard case .delete(let id) = step else { continue }
      do throws(LibraryFilesError) {
        guard let record = try record(id), let files = try moveToTrash(record) else { continue }
        gone.append((index, files))
      } catch {
        throw FileChangeFailure(index: index, reason: error)
      }
    }
    try settle(gone)
  }

  /// Moves the files of a restoration back from the trash. The other steps move none here.
  private func moveRestoredFiles(of step: PendingFileChanges.Step) throws(LibraryFilesError) {
    guard case .restore(let id) = step, let record = try record(id) else { return }
    for file in record.files {
      if try !move(file.trashPath, to: file.path) { throw .noSuchFile(file.trashPath) }
      try recordCopy(file, of: record)
      fault(.moved)
    }
    // If the list fails, reverting it creates the folder again.
    for file in record.files { removeTrashFolder(of: file.trashPath) }
  }

  /// Records the identity of a restored file if it is a copy of the deleted one, because the library was copied with
  /// its trash. The next scan finds any other file.
  func recordCopy(_ file: TrashRecord.File, of record: TrashRecord) throws(LibraryFilesError) {
    if bucket != nil { return try recordMove(of: file, in: record) }
    let original = try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.original(of: file, in: record)
    }
    guard let original, let found = try? root.open(file.path), found.isRegularFile,
      (try? found.isCopy(of: original)) == true
    else { return }
    try inCatalogue { catalogue throws(AssetSourceError) in
      try catalogue.updateIdentity(of: file, in: record, to: found.identity)
    }
  }
}
