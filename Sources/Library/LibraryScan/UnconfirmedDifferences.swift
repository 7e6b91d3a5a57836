// Differences between files and rows that a check has met. It reads files and rows at different moments, and a daemon
// may change both in between. So each difference is looked up again before it is reported, a bounded number at a time.

import LibraryCatalogue
import LibraryFolder
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

struct UnconfirmedDifferences {
  enum Subject {
    /// The number of a row whose file was not found.
    case row(Int64)
    /// The path of a file that is unknown, or that differs from its row.
    case path([UInt8])
  }

  /// Whether a path has a file, and which one.
  private enum Presence {
    case absent
    /// `nil`: it can't be examined.
    case present(FileIdentity?)
  }

  private static let limit = 1000
  /// How often one check waits for changes that are under way.
  private static let waitLimit = 5
  private static let waitNanoseconds: Int64 = 200_000_000

  let catalogue: Catalogue
  let root: LibraryFolder
  let environment: LibraryEnvironment
  /// The token of the catalogue when the check began.
  let token: Int64
  private var subjects: [Subject] = []
  private var waits = 0

  init(catalogue: Catalogue, root: LibraryFolder, environment: LibraryEnvironment, token: Int64) {
    self.catalogue = catalogue
    self.root = root
    self.environment = environment
    self.token = token
  }

  mutating func add(_ subject: Subject, _ report: (CheckDifference) -> Void) throws(AssetSourceError) {
    subjects.append(subject)
    if subjects.count == Self.limit { try confirm(report) }
  }

  /// Reports the differences that are still there.
  mutating func confirm(_ report: (CheckDifference) -> Void) throws(AssetSourceError) {
    var differences = try remaining()
    // In a library that changes, a change may be between the move of a file and the commit of its row.
    while !differences.isEmpty && waits < Self.waitLimit {
      guard try catalogue.changeToken() != token else { break }
      environment.wait(Self.waitNanoseconds, StopFlag())
      waits += 1
      differences = try remaining()
    }
    for difference in differences { report(difference) }
    subjects = []
  }

  /// Looks up all subjects again, and forgets those without a difference.
  private mutating func remaining() throws(AssetSourceError) -> [CheckDifference] {
    var (kept, differences): ([Subject], [CheckDifference]) = ([], [])
    for subject in subjects {
      guard let difference = try difference(of: subject) else { continue }
      kept.append(subject)
      differences.append(difference)
    }
    subjects = kept
    return differences
  }

  private func difference(of subject: Subject) throws(AssetSourceError) -> CheckDifference? {
    switch subject {
    case .row(let id):
      guard let row = try catalogue.knownFiles([id]).first else { return nil }
      guard row.hasPath else { return .rowWithoutPath(row: id) }
      let found = difference(of: row, at: row.path)
      if found == .onlyInCatalogue(path: row.path) || LibraryWalk.reaches(row.path, in: root) { return found }
      return .onlyInCatalogue(path: row.path)
    case .path(let path): return difference(of: try catalogue.knownFile(at: path), at: path)
    }
  }

  private func difference(of row: KnownFile?, at path: [UInt8]) -> CheckDifference? {
    guard case .present(let identity) = presence(at: path) else {
      return row == nil ? nil : .onlyInCatalogue(path: path)
    }
    guard let row else { return .onlyOnDisk(path: path) }
    // Unreadable files have no identity; every scan checks them again.
    return row.identity == .unknown || row.identity == identity ? nil : .changed(path: path)
  }

  /// What a walk would find at a path.
  private func presence(at path: [UInt8]) -> Presence {
    do throws(SystemError) {
      let folder = try root.open(LibraryPath.folder(of: path), isFolder: true)
      let entry = try folder.entry(LibraryPath.name(of: path))
      switch entry.kind {
      case .file: return .present(entry.identity)
      case .link: return presence(ofLinkAt: path)
      case .other: return .absent
      }
    } catch {
      return error.code == ENOENT || error.code == ENOTDIR ? .absent : .present(nil)
    }
  }

  private func presence(ofLinkAt path: [UInt8]) -> Presence {
    do throws(SystemError) {
      let target = try root.open(path)
      return target.isRegularFile ? .present(target.identity) : .absent
    } catch {
      return error.code == ENOENT || error.code == ENOTDIR ? .absent : .present(nil)
    }
  }
}
