// POST /v1/changes, as far as the library is concerned: performChanges.
//
//     named objects and revisions are looked at, reading        what is wrong is mostly found here
//     files are moved (LibraryFiles.prepare)                    where the list deletes, restores or creates assets
//     one transaction: every entry in its order                 all of it, or nothing
//     files go back                                             where the transaction was not
//     moments follow

import Foundation
import GRDB
import PhotoModel

package struct ChangeLists: Sendable {
  /// Days whose moments are made anew before the answer; of more, behind it.
  private static let mostStaleDays = 64

  let catalogue: Catalogue
  let files: LibraryFiles
  let zone: TimeZone
  package let limits: ChangeLimits

  /// - Parameter timeZone: in whose days moments lie.
  package init(catalogue: Catalogue, files: LibraryFiles, timeZone: String, limits: ChangeLimits) {
    self.catalogue = catalogue
    self.files = files
    self.limits = limits
    zone = TimeZone(identifier: timeZone) ?? .gmt
  }

  /// Carries out a change list: all of it, or nothing. Blocks for as long as the disk takes to make it durable.
  ///
  /// - Parameter principal: who asks; it has the scope `write`. What it may not see is not there.
  package func perform(
    _ requests: [ChangeRequest], for principal: Principal
  ) throws(ChangeListError) -> ChangeOutcome {
    try examine(requests, principal)
    let prepared = try prepare(requests, principal)
    // Behind the commit others may move files again.
    defer { prepared.end() }
    fault(.filesMoved)
    var performed: Result<ChangeOutcome, ChangeListError>?
    do throws(AssetSourceError) {
      try catalogue.change { db, token in
        do throws(ChangeListError) {
          performed = .success(try write(requests, prepared, principal, db, token))
        } catch {
          performed = .failure(error)
          throw error
        }
        fault(.written)
      }
    } catch {
      if prepared.steps.count > 0 { files.revert(prepared) }
      if case .failure(let failure) = performed { throw failure }
      throw ChangeListError(.source(error))
    }
    fault(.committed)
    guard var outcome = try performed?.get() else { throw ChangeListError(.source(.catalogueFailed("nothing done"))) }
    do throws(AssetSourceError) {
      outcome.changeToken = try catalogue.changeToken(for: principal)
    } catch {
      throw ChangeListError(.source(error))
    }
    return outcome
  }

  /// What can be said against a list before anything is done.
  private func examine(_ requests: [ChangeRequest], _ principal: Principal) throws(ChangeListError) {
    var failure: ChangeListError?
    do throws(AssetSourceError) {
      failure = try catalogue.read(for: principal) { db, part in
        let objects = ChangeObjects(db: db, part: part, principal: principal)
        for (index, request) in requests.enumerated() {
          do {
            try objects.examine(request)
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

  /// Moves the files that the list concerns.
  private func prepare(
    _ requests: [ChangeRequest], _ principal: Principal
  ) throws(ChangeListError) -> PreparedFileChanges {
    let changes = requests.enumerated().compactMap { index, request in
      request.action.fileChange.map { (index: index, change: $0) }
    }
    if changes.isEmpty { return PreparedFileChanges(steps: [], turn: nil) }
    do throws(FileChangeFailure) {
      return try files.prepare(changes.map(\.change), for: principal)
    } catch {
      throw ChangeListError(.files(error.reason), index: changes[error.index].index)
    }
  }

  private func write(
    _ requests: [ChangeRequest], _ prepared: PreparedFileChanges, _ principal: Principal, _ db: Database,
    _ token: Int64
  ) throws(ChangeListError) -> ChangeOutcome {
    do {
      let isStaleBefore =
        try Int.fetchOne(db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM staleDay)")) == 1
      guard let part = try LibraryPart(of: principal, db) else {
        throw ChangeListError(.source(.catalogueFailed("a limited library is gone")))
      }
      var writer = ChangeListWriter(
        objects: ChangeObjects(db: db, part: part, principal: principal), limits: limits, prepared: prepared,
        assets: try AssetWriter(db, token: token), token: token)
      // What the entries say the revisions must be, they are before the first of them.
      for (index, request) in requests.enumerated() {
        do { try writer.objects.check(request) } catch var error as ChangeListError {
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
      // A scan under way makes its own, and these with them.
      if !isStaleBefore {
        var left = Self.mostStaleDays / MomentWriter.daysAtOnce
        while left > 0, try MomentWriter.refresh(db, zone: zone) { left -= 1 }
      }
      return ChangeOutcome(changeToken: "", created: writer.created, unnamed: writer.unnamed)
    } catch let error as ChangeListError {
      throw error
    } catch {
      throw ChangeListError(.source(Catalogue.translated(error)))
    }
  }
}

extension ChangeRequest.Action {
  /// What it does to files, if anything.
  var fileChange: FileChange? {
    switch self {
    case .deleteAsset(.existing(let identifier)): .delete(identifier)
    case .restoreAsset(let identifier): .restore(identifier)
    case .createAsset(let path): .create(path: path)
    default: nil
    }
  }
}
