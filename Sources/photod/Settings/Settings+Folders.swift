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
    return String(cString: resolved)
  }

  /// The data folder. If the settings name it, the library does not have to exist.
  func dataFolder() throws -> String {
    guard data.isEmpty else { return data }
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
