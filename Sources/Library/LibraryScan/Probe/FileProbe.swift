// Opens and probes files of the library folder.

import Dispatch
import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import Synchronization

/// Probes files of the library. A scan, an upload and a change list read a file in the same way, so each finds the same
/// asset.
package struct FileProbe: Sendable {
  let root: LibraryFolder
  private let media: MediaProbe

  /// - Parameter timeZone: the zone of dates without an offset.
  package init(root: LibraryFolder, limits: CodecLimits, timeZone: TimeZone) {
    self.root = root
    media = MediaProbe(limits: limits, timeZone: timeZone)
  }

  /// See ``MediaProbe/version``.
  var version: String { media.version }

  /// Probes one file per core at a time; the results are in the order of `paths`.
  func probe(all paths: [[UInt8]]) -> [ProbedFile] {
    let results = Mutex<[ProbedFile?]>(Array(repeating: nil, count: paths.count))
    DispatchQueue.concurrentPerform(iterations: paths.count) { i in
      let result = probe(paths[i])
      results.withLock { $0[i] = result }
    }
    return results.withLock { $0.compactMap(\.self) }
  }

  /// Opens and probes one file. A defect of the file becomes its finding. So does an I/O error, but under an identity
  /// that makes the next scan try again.
  ///
  /// - Parameter path: below the root.
  package func probe(_ path: [UInt8]) -> ProbedFile {
    do {
      let opened = try root.open(path)
      // The identity of the opened file, which may have replaced the one that the walk saw.
      let identity = opened.identity
      guard opened.isRegularFile else {
        return ProbedFile(path: path, identity: identity, finding: .unreadable("not a regular file"))
      }
      do throws(CodecError) {
        var file = ProbedFile(path: path, identity: identity, finding: .media(try media(of: opened, at: path)))
        file.changeTimeNanoseconds = opened.changeTimeNanoseconds
        return file
      } catch {
        let isRetryable = if case .readFailed = error { true } else { error == .outOfMemory }
        var file = ProbedFile(
          path: path, identity: isRetryable ? .unknown : identity, finding: .unreadable(error.description))
        if !isRetryable {
          file.sidecarEdit = SidecarEdit.read(opened, at: path)
          file.changeTimeNanoseconds = opened.changeTimeNanoseconds
        }
        return file
      }
    } catch {
      return ProbedFile(path: path, identity: .unknown, finding: .unreadable("\(error)"))
    }
  }

  /// The metadata of an open file.
  ///
  /// - Parameter path: its name distinguishes screenshots from photographs.
  package func media(of file: LibraryFile, at path: [UInt8]) throws(CodecError) -> ProbedMedia {
    try media.media(of: file, file.identity, at: path)
  }
}
