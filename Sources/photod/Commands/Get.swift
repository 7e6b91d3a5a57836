import ArgumentParser
import Foundation
import ImageCodec
import LibraryCatalogue
import LibraryFolder
import MediaMetadata
import PhotoModel

#if canImport(Glibc)
  import Glibc
#endif

/// Copies the file of an asset, without its places, as `GET /v1/assets/{localIdentifier}/data` does.
struct Get: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Copy the original of an asset to a file.",
    discussion: """
      Places are removed unless --include-location is given. Safe while a daemon runs. `photod ls` prints the identifiers \
      of assets.
      """)

  @OptionGroup var common: CommonOptions

  @Argument(help: "The localIdentifier of the asset.")
  var asset: String

  @Option(
    name: .shortAndLong, help: "The file to write; - for standard output. An existing file is replaced atomically.")
  var output: String

  @Flag(help: "Keep the places in the file.")
  var includeLocation = false

  private static let pieceBytes: Int64 = 1 << 20

  func run() async throws {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    let found: Asset?
    do {
      found = try Catalogue(reading: dataFolder).asset(LocalIdentifier(asset), for: .local)
    } catch let error as AssetSourceError {
      throw CommandFailure(description: "\(LibraryError(error, dataFolder: dataFolder))")
    }
    guard let found else { throw CommandFailure(description: "there is no asset \(asset)") }
    do {
      let folder = try LibraryFolder(path: settings.libraryPath())
      let source = try OriginalStore(folder: folder).open(found.original)
      let overlay = includeLocation ? ByteOverlay() : try LocationRemoval.overlay(of: source)
      try write { try Self.copy(source, overlay, to: $0) }
    } catch let error as CommandFailure {
      throw error
    } catch let error as LocationRemovalError {
      throw CommandFailure(
        description: "\(found.original.displayPath): \(error); --include-location copies the whole file")
    } catch {
      throw CommandFailure(description: "\(found.original.displayPath): \(error)")
    }
  }

  private static func copy(_ source: any ByteSource, _ overlay: ByteOverlay, to handle: FileHandle) throws {
    var position: Int64 = 0
    while position < source.size {
      let count = min(pieceBytes, source.size - position)
      var bytes = try source.bytes(at: position, count: Int(count))
      guard bytes.count == count, source.isUnchanged else {
        throw CommandFailure(description: "the file changed while it was copied; nothing was written")
      }
      overlay.apply(to: &bytes, at: position)
      try handle.write(contentsOf: bytes)
      position += count
    }
  }

  /// Writes to a file beside the output, and renames it when it is complete.
  private func write(_ body: (FileHandle) throws -> Void) throws {
    if output == "-" { return try body(.standardOutput) }
    let temporary = "\(output).\(ProcessInfo.processInfo.processIdentifier).part"
    let descriptor = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
    guard descriptor >= 0 else {
      throw CommandFailure(description: "\(temporary): \(SystemError(code: errno))")
    }
    do {
      try body(FileHandle(fileDescriptor: descriptor, closeOnDealloc: true))
      guard rename(temporary, output) == 0 else {
        throw CommandFailure(description: "\(output): \(SystemError(code: errno))")
      }
    } catch {
      unlink(temporary)
      throw error
    }
  }
}
