import Cryptography
import Foundation
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

extension Settings {
  /// Where the library is. Throws ``CommandFailure`` if it is not set, not there, or not allowed.
  func libraryLocation() throws -> LibraryLocation {
    if RemoteLocation.isRemote(library) { return .remote(try RemoteLocation(library, of: "the library", self)) }
    return .folder(try libraryPath())
  }

  /// The folder of the library, with symbolic links resolved, so that one library has one path. Throws
  /// ``CommandFailure`` if none is set or it does not exist.
  func libraryPath() throws -> String {
    guard !library.isEmpty else {
      throw CommandFailure(
        description: "no library given; set --library, PHOTOD_LIBRARY, or library in the settings file, to a folder, "
          + "s3://BUCKET/PREFIX or https://HOST/PREFIX")
    }
    guard !RemoteLocation.isRemote(library) else {
      throw CommandFailure(description: "this command needs a library in a folder; \(library) is a remote one")
    }
    guard let resolved = realpath(library, nil) else {
      throw CommandFailure(description: "the library \(library): \(SystemError(code: errno))")
    }
    defer { free(resolved) }
    guard let path = String(validatingCString: resolved) else {
      throw CommandFailure(description: "the library \(library): its path \(String(cString: resolved)) is not UTF-8")
    }
    return path
  }

  /// The data folder. If the settings name it, the library does not have to exist. Throws ``CommandFailure`` if one of
  /// the two is inside the other.
  func dataFolder() throws -> String {
    let folder = try data.isEmpty ? standardDataFolder() : data
    if !library.isEmpty, !RemoteLocation.isRemote(library) { try Self.checkSeparate(folder, library) }
    return folder
  }

  /// Throws if one of the folders is inside the other: the daemon would index its own files, or keep them among
  /// photographs that it must not touch.
  private static func checkSeparate(_ data: String, _ library: String) throws {
    let (dataNames, libraryNames) = (canonicalNames(of: data.utf8), canonicalNames(of: library.utf8))
    // Scans skip hidden folders. The standard data folder is in one, for a library that is a whole home folder.
    let inner = names(of: dataNames, below: libraryNames)
    if let inner, !inner.contains(where: { $0.first == UInt8(ascii: ".") }) {
      throw CommandFailure(
        description: "the data folder \(data) is inside the library \(library): choose another one with --data or "
          + "PHOTOD_DATA")
    }
    if names(of: libraryNames, below: dataNames) != nil {
      throw CommandFailure(
        description: "the library \(library) is inside the data folder \(data): choose another data folder with --data "
          + "or PHOTOD_DATA")
    }
  }

  /// The names that lead from a folder to a path; empty if both are the same, `nil` if the path is not below it. Both
  /// are lists of ``canonicalNames(of:)``.
  static func names(of path: [[UInt8]], below folder: [[UInt8]]) -> ArraySlice<[UInt8]>? {
    path.starts(with: folder) ? path.dropFirst(folder.count) : nil
  }

  /// The names of an absolute path without symbolic links, also of a folder that does not exist yet. They are bytes,
  /// as in the file system: a link may lead through a folder whose name is not UTF-8, and two names that are equal as
  /// Unicode text are two folders.
  ///
  /// - Parameter path: a relative one begins in the current folder.
  static func canonicalNames(of path: some Collection<UInt8>) -> [[UInt8]] {
    let slash = UInt8(ascii: "/")
    var names: [[UInt8]] = path.first == slash ? [] : resolvedNames(of: [UInt8(ascii: ".")]) ?? []
    for part in path.split(separator: slash) {
      let name = Array(part)
      if name == Array(".".utf8) { continue }
      // The names so far have no symbolic links, so this is the folder that contains the last one, also of a folder
      // that does not exist yet.
      if name == Array("..".utf8) {
        _ = names.popLast()
        continue
      }
      names.append(name)
      if let resolved = resolvedNames(of: names.flatMap { [slash] + $0 }) { names = resolved }
    }
    return names
  }

  /// The names of an existing path, with symbolic links resolved.
  private static func resolvedNames(of path: [UInt8]) -> [[UInt8]]? {
    let resolved = (path + [0]).withUnsafeBytes { realpath($0.assumingMemoryBound(to: CChar.self).baseAddress!, nil) }
    guard let resolved else { return nil }
    defer { free(resolved) }
    return UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)).split(separator: UInt8(ascii: "/"))
      .map { Array($0) }
  }

  private func standardDataFolder() throws -> String {
    switch try libraryLocation() {
    case .folder(let path): return try Self.standardDataFolder(for: path)
    case .remote(let location): return try Self.standardDataFolder(for: location.name)
    }
  }

  /// The default data folder, one per library: two libraries must never share a catalogue by accident.
  private static func standardDataFolder(for library: String) throws -> String {
    let environment = ProcessInfo.processInfo.environment
    let base: String
    if let data = environment["XDG_DATA_HOME"], data.hasPrefix("/") {
      base = data
    } else if let home = environment["HOME"], home.hasPrefix("/") {
      base = home + "/.local/share"
    } else {
      throw CommandFailure(description: "no data folder: set --data or PHOTOD_DATA")
    }
    let digest = Digest.sha256(library.utf8).prefix(4).hexadecimal
    let name = library.split(separator: "/").last.map(String.init) ?? "root"
    return "\(base)/photod/\(name)-\(digest)"
  }
}
