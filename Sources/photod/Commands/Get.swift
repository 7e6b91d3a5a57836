import ArgumentParser
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

  @Argument(help: "The localIdentifier of the asset. Write -- before one that begins with a hyphen.")
  var asset: String

  @Option(
    name: .shortAndLong, help: "The file to write; - for standard output. An incomplete file never has this name.",
    completion: .file())
  var output: String

  @Flag(help: "Replace an existing file, but never one in the library.")
  var replace = false

  @Flag(help: "Keep the places in the file.")
  var includeLocation = false

  private static let pieceBytes: Int64 = 1 << 20

  func run() async throws {
    let settings = try common.settings()
    let dataFolder = try settings.dataFolder()
    let file = output == "-" ? nil : try OutputFile(output, replacing: replace)
    if file != nil { try settings.checkOutput(output) }
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
      if let file {
        try file.write { put in try Self.copy(source, overlay, put) }
      } else {
        try Self.copy(source, overlay) { try OutputFile.write($0, to: STDOUT_FILENO, "standard output") }
      }
    } catch let error as CommandFailure {
      throw error
    } catch let error as LocationRemovalError {
      throw CommandFailure(
        description: "\(found.original.displayPath): \(error); --include-location copies the whole file")
    } catch {
      throw CommandFailure(description: "\(found.original.displayPath): \(error)")
    }
  }

  private static func copy(
    _ source: any ByteSource, _ overlay: ByteOverlay, _ put: ([UInt8]) throws -> Void
  ) throws {
    var position: Int64 = 0
    while position < source.size {
      let count = min(pieceBytes, source.size - position)
      var bytes = try source.bytes(at: position, count: Int(count))
      guard bytes.count == count, source.isUnchanged else {
        throw CommandFailure(description: "the file changed while it was copied; nothing was written")
      }
      overlay.apply(to: &bytes, at: position)
      try put(bytes)
      position += count
    }
  }
}
