// Carries out POST /v1/changes (performChanges) on the library.
//
//     read: check the named objects and revisions       most errors are found here
//     move files (FileChangePreparing)                  if the list deletes, restores or creates assets
//     one transaction: every entry, in order            all of it, or nothing
//     move files back                                   if the transaction failed

import GRDB
import PhotoModel

package struct ChangeListExecutor: Sendable {
  let catalogue: Catalogue
  let files: any FileChangePreparing
  package let limits: ChangeLimits

  package init(catalogue: Catalogue, files: any FileChangePreparing, limits: ChangeLimits) {
    self.catalogue = catalogue
    self.files = files
    self.limits = limits
  }

  /// Carries out a change list atomically. Blocks until the change is durable on disk.
  ///
  /// - Parameter principal: the caller, which must have the scope `write`. Objects that it can't see count as missing.
  package func perform(
    _ requests: [ChangeRequest], for principal: Principal
  ) throws(ChangeListError) -> ChangeOutcome {
    try validate(requests, principal)
    let prepared = try prepare(requests, principal)
    // Releases `files.lock`, so that other requests can move files again.
    defer { prepared.end() }
    fault(.filesMoved)
    var performed: Result<ChangeOutcome, ChangeListError>?
    do throws(AssetSourceError) {
      // One statement deletes an album with all of its members.
      let isLarge = requests.contains { if case .deleteCollection = $0.action { true } else { false } }
      try catalogue.change(isLarge: isLarge) { db, token in
        do throws(ChangeListError) {
          performed = .success(try write(requests, prepared, principal, db, token))
        } catch {
          performed = .failure(error)
          throw error
        }
        fault(.written)
      }
    } catch {
      // An entry that failed has rolled the transaction back.
      let isRolledBack = if case .failure? = performed { true } else { false }
      if prepared.steps.count > 0 { files.revert(prepared, commitFailure: isRolledBack ? nil : error) }
      if case .failure(let failure) = performed { throw failure }
      throw ChangeListError(.source(error))
    }
    fault(.committed)
    files.committed(prepared)
    guard var outcome = try performed?.get() else {
      throw ChangeListError(.source(.catalogueFailed("the change list was not executed")))
    }
    for (index, request) in requests.enumerated() {
      guard case .createAssetFromStagedUpload = request.action else { continue }
      let made = request.placeholder.flatMap { outcome.created[$0] } ?? outcome.createdByIndex[index]
      if let made { files.noteUpload(made, by: principal) }
    }
    do throws(AssetSourceError) {
      outcome.changeToken = try catalogue.changeToken(for: principal)
    } catch {
      throw ChangeListError(.source(error))
    }
    return outcome
  }

  /// Checks that need no writes: names, visibility and revisions.
  private func validate(_ requests: [ChangeRequest], _ principal: Principal) throws(ChangeListError) {
    var failure: ChangeListError?
    do throws(AssetSourceError) {
      failure = try catalogue.read(for: principal) { db, library in
        let targets = ChangeTargetResolver(db: db, library: library, principal: principal, files: files)
        for (index, request) in requests.enumerated() {
          do {
            try targets.validate(request)
          } catch var error as ChangeListError {
            error.index = index
            return error
          }
        }
        return nil
      }
    } catch {
      throw ChangeListError(.source(error))
    }
    if let failure { throw failure }
  }

  /// Moves the files that the list affects.
  private func prepare(
    _ requests: [ChangeRequest], _ principal: Principal
  ) throws(ChangeListError) -> PendingFileChanges {
    let changes = requests.enumerated().compactMap { index, request in
      request.action.fileChange.map { (index: index, change: $0) }
    }
    if changes.isEmpty { return PendingFileChanges(steps: [], lock: nil) }
    do throws(FileChangeFailure) {
      return try files.prepare(changes.map(\.change), for: principal)
    } catch {
      throw ChangeListError(.files(error.reason), index: changes[error.index].index)
    }
  }

  private func write(
    _ requests: [ChangeRequest], _ prepared: PendingFileChanges, _ principal: Principal, _ db: Database,
    _ token: Int64
  ) throws(ChangeListError) -> ChangeOutcome {
    do {
      guard let library = try LibraryID(of: principal, db) else {
        throw ChangeListError(.source(.catalogueFailed("the limited library was deleted")))
      }
      var writer = ChangeListWriter(
        targets: ChangeTargetResolver(db: db, library: library, principal: principal, files: files), limits: limits,
        prepared: prepared, assets: try AssetWriter(db, token: token), token: token)
      // `ifMatch` refers to the revisions before the list, so check all of them before the first entry changes any.
      for (index, request) in requests.enumerated() {
        do { try writer.targets.checkRevision(request) } catch var error as ChangeListError {
          error.index = index
          throw error
        }
      }
      for (index, request) in requests.enumerated() {
        do { try writer.perform(request, at: index) } catch var error as ChangeListError {
          error.index = error.index ?? index
          throw error
        }
        fault(.entryWritten)
      }
      try writer.assets.finish()
      return ChangeOutcome(
        changeToken: ChangeToken(token), created: try writer.created(), createdByIndex: try writer.createdByIndex())
    } catch let error as ChangeListError {
      throw error
    } catch {
      // Here, because `Catalogue.change` sees only the translated error.
      let cause = catalogue.file.checked(error, of: db, isWrite: true)
      throw ChangeListError(.source(Catalogue.translated(cause)))
    }
  }
}

extension ChangeRequest.Action {
  /// The file operation of the action, if any.
  var fileChange: FileChange? {
    switch self {
    case .deleteAsset(.existing(let identifier)): .delete(identifier)
    case .restoreAsset(let identifier): .restore(identifier)
    case .createAsset(let path): .create(path: path)
    case .createAssetFromStagedUpload(let identifier, let asset, let needsOwnStem, let day):
      .createFromUpload(identifier, beside: asset, needsOwnStem: needsOwnStem, day: day)
    default: nil
    }
  }
}
