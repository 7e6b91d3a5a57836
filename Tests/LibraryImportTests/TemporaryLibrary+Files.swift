import Foundation
import ImageCodec
import LibraryFixtures
import LibraryScan
import Logging

@testable import LibraryCatalogue
@testable import LibraryFiles

extension TemporaryLibrary {
  func files(_ catalogue: Catalogue) throws -> LibraryFiles {
    try LibraryFiles(
      catalogue: catalogue, directory: root, timeZone: "UTC", limits: CodecLimits(), options: LibraryFiles.Options(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  func scanner(_ catalogue: Catalogue) throws -> LibraryScanner {
    try LibraryScanner(
      catalogue: catalogue, directory: root, timeZone: "UTC", maximumRemovalPercent: 50, limits: CodecLimits(),
      logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
  }

  /// Every file below the root, including hidden ones.
  var allFiles: Set<String> {
    var names: Set<String> = []
    let walk = FileManager.default.enumerator(atPath: root)
    while let name = walk?.nextObject() as? String {
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: root + "/" + name, isDirectory: &isFolder), !isFolder.boolValue {
        names.insert(name)
      }
    }
    return names
  }
}
