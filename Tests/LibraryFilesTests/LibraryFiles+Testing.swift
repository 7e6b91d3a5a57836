import Foundation
import GRDB
import ImageCodec
import LibraryFixtures
import Logging
import PhotoModel
import Testing

@testable import LibraryCatalogue
@testable import LibraryFiles

#if canImport(Glibc)
  import Glibc
#endif

extension TemporaryLibrary {
  func files(
    _ catalogue: Catalogue, timeZone: String = "UTC", _ change: (inout LibraryFiles.Options) -> Void = { _ in }
  ) throws -> LibraryFiles {
    var options = LibraryFiles.Options()
    change(&options)
    return try LibraryFiles(
      catalogue: catalogue, directory: root, timeZone: timeZone, limits: CodecLimits(), options: options,
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Every file below the root, including hidden ones.
  var allFiles: Set<String> { allFiles(in: root) }

  /// The same below another folder, because an enumerator stays on one file system.
  func allFiles(in root: String) -> Set<String> {
    var names: Set<String> = []
    let walk = FileManager.default.enumerator(atPath: root)
    while let name = walk?.nextObject() as? String {
      var isFolder: ObjCBool = false
      // Without following links: a link counts as a file.
      if FileManager.default.fileExists(atPath: root + "/" + name, isDirectory: &isFolder), isFolder.boolValue {
        continue
      }
      names.insert(name)
    }
    return names
  }
}

extension LibraryFiles {
  /// Performs file changes as a change list does.
  @discardableResult
  func perform(_ changes: [FileChange], for principal: Principal = .local) throws -> [LocalIdentifier] {
    let prepared = try prepare(changes, for: principal)
    defer { prepared.end() }
    var identifiers: [LocalIdentifier] = []
    try catalogue.change { db, token in
      var writer = try AssetWriter(db, token: token)
      for index in changes.indices { identifiers.append(try prepared.commit(index, &writer).identifier) }
      try writer.finish()
    }
    return identifiers
  }
}
